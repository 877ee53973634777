"""Chats of people with an assistant, in three languages, with what is asked about them: how they are written and read.

Each file of tests/sets/recall is one person's chat. A line tells by its beginning what it is:

    == 2025-01-11 09:30     a conversation begins
    U text {key}            the user says it, a minute after what was said before; a key names it for questions
    A text {key}            the assistant says it
    ? kind key key: text    a question whose answer the named messages hold, all of them
    ? never: text           a question about what was never said
    ~ text                  a message about something else
    - text                  small talk

Half of the files is for tuning. The other half, `kept-`, is looked at when something is finished.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.locomo_data import Dialogue, Question, Said

CHATS = Path(__file__).parent.parent / "tests" / "sets" / "recall"
KINDS = ("fact", "update", "date", "assistant", "list", "never")
"""What is asked for: a fact, what holds now of something that changed, a day, what the assistant said, several places,
something that was never said."""
SPEAKERS = ("user", "assistant")
_KEYED = re.compile(r"(?P<text>.*?)(?: \{(?P<key>\w+)\})?")
_ASKED = re.compile(r"(?P<kind>\w+)(?P<keys>(?: \w+)*): (?P<text>.*)")


@dataclass(frozen=True, slots=True)
class Chat:
    """One person's conversations and what is asked, with messages that have nothing to do with them.

    A question's category is the place of its kind in KINDS; those after what was never said have no evidence.
    """

    name: str
    dialogue: Dialogue
    off_topic: tuple[str, ...]
    small_talk: tuple[str, ...]

    @property
    def language(self) -> str:
        """Its code, such as `en`."""
        return self.name.partition("-")[2]


def read_chats(half: str) -> list[Chat]:
    """The chats of a half, `tune` or `kept`."""
    return [read_chat(path) for path in sorted(CHATS.glob(f"{half}-*.txt"))]


def read_chat(path: Path) -> Chat:
    """The chat in a file. Raises ValueError where a line is none of those above."""
    sessions: list[list[Said]] = []
    questions: list[Question] = []
    others: dict[str, list[str]] = {"~": [], "-": []}
    moment = datetime.min.replace(tzinfo=UTC)
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        mark, _, rest = line.partition(" ")
        if mark == "==":
            moment = datetime.fromisoformat(rest).replace(tzinfo=UTC)
            sessions.append([])
        elif mark in ("U", "A") and (said := _KEYED.fullmatch(rest)):
            speaker = SPEAKERS[mark == "A"]
            sessions[-1].append(Said(said["key"] or f"line {number}", speaker, said["text"], moment))
            moment += timedelta(minutes=1)
        elif mark == "?" and (asked := _ASKED.fullmatch(rest)) and asked["kind"] in KINDS:
            questions.append(Question(asked["text"], frozenset(asked["keys"].split()), KINDS.index(asked["kind"])))
        elif mark in others:
            others[mark].append(rest)
        elif mark not in ("#", ""):
            raise ValueError(f"{path.name}, line {number + 1}: {line}")
    dialogue = Dialogue(SPEAKERS, tuple(map(tuple, sessions)), tuple(questions))
    return Chat(path.stem, dialogue, tuple(others["~"]), tuple(others["-"]))
