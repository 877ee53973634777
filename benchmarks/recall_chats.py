"""Format and parser of chats between people and an assistant in three languages, with questions about them.

Each file in tests/sets/recall is one person's chat. The first characters of a line say what it is:

    == 2025-01-11 09:30     a conversation starts
    U text {key}            the user's message, one minute after the previous one; questions refer to its key
    A text {key}            the assistant's message
    ? kind key key: text    a question; all the named messages together contain the answer
    ? never: text           a question without an answer
    ~ text                  a message about something else
    - text                  small talk

Half of the files is for tuning. The other half, `kept-`, is only used to measure finished work.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.locomo_data import Dialogue, Question, SaidMessage

CHATS = Path(__file__).parent.parent / "tests" / "sets" / "recall"
KINDS = ("fact", "update", "date", "assistant", "list", "never")
"""Kinds of questions: a fact, the present value of something that changed, a date, something the assistant said, a list
of things, and something that was never said."""
SPEAKERS = ("user", "assistant")
_KEYED = re.compile(r"(?P<text>.*?)(?: \{(?P<key>\w+)\})?")
_ASKED = re.compile(r"(?P<kind>\w+)(?P<keys>(?: \w+)*): (?P<text>.*)")


@dataclass(frozen=True, slots=True)
class Chat:
    """One person's conversations with questions, and unrelated messages.

    A question's category is the index of its kind in KINDS. Questions of kind "never" have no evidence.
    """

    name: str
    dialogue: Dialogue
    off_topic: tuple[str, ...]
    small_talk: tuple[str, ...]

    @property
    def language(self) -> str:
        """Return the language code, such as `en`."""
        return self.name.partition("-")[2]


def read_chats(half: str) -> list[Chat]:
    """Load the chats of a half, `tune` or `kept`."""
    return [read_chat(path) for path in sorted(CHATS.glob(f"{half}-*.txt"))]


def read_chat(path: Path) -> Chat:
    """Parse a chat. Raises ValueError for an invalid line."""
    sessions: list[list[SaidMessage]] = []
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
            sessions[-1].append(SaidMessage(said["key"] or f"line {number}", speaker, said["text"], moment))
            moment += timedelta(minutes=1)
        elif mark == "?" and (asked := _ASKED.fullmatch(rest)) and asked["kind"] in KINDS:
            questions.append(Question(asked["text"], frozenset(asked["keys"].split()), KINDS.index(asked["kind"])))
        elif mark in others:
            others[mark].append(rest)
        elif mark not in ("#", ""):
            raise ValueError(f"{path.name}, line {number + 1}: {line}")
    dialogue = Dialogue(SPEAKERS, tuple(map(tuple, sessions)), tuple(questions))
    return Chat(path.stem, dialogue, tuple(others["~"]), tuple(others["-"]))
