"""Converts chats in REALTALK's format to a file in LoCoMo's, for `python -m benchmarks.locomo`.

The arguments are the folder of REALTALK's `Chat_*.json` and the output file. The data is not part of the project, since
it has no licence.
"""

from __future__ import annotations

import argparse
import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

_SESSION = re.compile(r"session_(\d+)")
_RANGE = re.compile(r"D(\d+):(\d+)\s*-\s*D\1:(\d+)")
_MAX_RANGE = 100


def convert(chat: dict[str, Any]) -> dict[str, Any]:
    """Convert a chat to LoCoMo's format: speakers, sessions with dates, questions with evidence."""
    conversation = {"speaker_a": chat["name"]["speaker_1"], "speaker_b": chat["name"]["speaker_2"]}
    for name, said in chat.items():
        if _SESSION.fullmatch(name) and said:
            conversation[f"{name}_date_time"] = _convert_moment(said[0]["date_time"])
            conversation[name] = [_convert_message(message) for message in said]
    questions = [asked | {"evidence": [_expand_ranges(one) for one in asked["evidence"]]} for asked in chat["qa"]]
    return {"conversation": conversation, "qa": questions}


def _convert_message(message: dict[str, Any]) -> dict[str, str]:
    caption = {"blip_caption": message["blip_caption"]} if message.get("blip_caption") else {}
    return {"speaker": message["speaker"], "dia_id": message["dia_id"], "text": message["clean_text"], **caption}


def _convert_moment(text: str) -> str:
    """Convert `29.12.2023, 22:42:04` to `10:42 pm on 29 December, 2023`."""
    at = datetime.strptime(text, "%d.%m.%Y, %H:%M:%S")  # noqa: DTZ007  # Neither format has a time zone
    return f"{at:%I:%M %p on {at.day} %B, %Y}".replace("AM", "am").replace("PM", "pm")


def _expand_ranges(evidence: str) -> str:
    """Expand ranges in evidence: `D1:3-D1:5` becomes `D1:3; D1:4; D1:5`."""

    def expand(found: re.Match[str]) -> str:
        first, last = int(found[2]), min(int(found[3]), int(found[2]) + _MAX_RANGE)
        return "; ".join(f"D{found[1]}:{number}" for number in range(first, last + 1))

    return _RANGE.sub(expand, evidence)


def main() -> None:
    """Convert the chats of a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of REALTALK's Chat_*.json")
    parser.add_argument("path", type=Path, help="file to write")
    arguments = parser.parse_args()
    chats = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(arguments.folder.glob("Chat_*.json"))]
    if not chats:
        parser.error(f"there is no Chat_*.json in {arguments.folder}")
    written = [convert(chat) for chat in chats]
    arguments.path.write_text(json.dumps(written, ensure_ascii=False), encoding="utf-8")
    questions = sum(len(chat["qa"]) for chat in written)
    print(f"{len(written)} chats with {questions} questions are in {arguments.path}.")


if __name__ == "__main__":
    main()
