"""Writes chats in REALTALK's format as one file in LoCoMo's, so that `python -m benchmarks.locomo` runs on them.

Give the folder of REALTALK's `Chat_*.json` and the file to write. The data is not part of the project: it has no
licence.
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
_LONGEST_RANGE = 100


def converted(chat: dict[str, Any]) -> dict[str, Any]:
    """A chat in LoCoMo's form: speakers, sessions with their moments, questions with their evidence."""
    conversation = {"speaker_a": chat["name"]["speaker_1"], "speaker_b": chat["name"]["speaker_2"]}
    for name, said in chat.items():
        if _SESSION.fullmatch(name) and said:
            conversation[f"{name}_date_time"] = _moment(said[0]["date_time"])
            conversation[name] = [_message(message) for message in said]
    questions = [asked | {"evidence": [_each(one) for one in asked["evidence"]]} for asked in chat["qa"]]
    return {"conversation": conversation, "qa": questions}


def _message(message: dict[str, Any]) -> dict[str, str]:
    caption = {"blip_caption": message["blip_caption"]} if message.get("blip_caption") else {}
    return {"speaker": message["speaker"], "dia_id": message["dia_id"], "text": message["clean_text"], **caption}


def _moment(text: str) -> str:
    """`29.12.2023, 22:42:04` as `10:42 pm on 29 December, 2023`."""
    at = datetime.strptime(text, "%d.%m.%Y, %H:%M:%S")  # noqa: DTZ007  # neither format has a zone
    return f"{at:%I:%M %p on {at.day} %B, %Y}".replace("AM", "am").replace("PM", "pm")


def _each(evidence: str) -> str:
    """Evidence with its ranges spelt out: `D1:3-D1:5` as `D1:3; D1:4; D1:5`."""

    def spelt(found: re.Match[str]) -> str:
        first, last = int(found[2]), min(int(found[3]), int(found[2]) + _LONGEST_RANGE)
        return "; ".join(f"D{found[1]}:{number}" for number in range(first, last + 1))

    return _RANGE.sub(spelt, evidence)


def main() -> None:
    """Read the chats of a folder, write one file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of REALTALK's Chat_*.json")
    parser.add_argument("path", type=Path, help="file to write")
    arguments = parser.parse_args()
    chats = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(arguments.folder.glob("Chat_*.json"))]
    if not chats:
        parser.error(f"there is no Chat_*.json in {arguments.folder}")
    written = [converted(chat) for chat in chats]
    arguments.path.write_text(json.dumps(written, ensure_ascii=False), encoding="utf-8")
    questions = sum(len(chat["qa"]) for chat in written)
    print(f"{len(written)} chats with {questions} questions are in {arguments.path}.")


if __name__ == "__main__":
    main()
