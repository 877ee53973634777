"""Conversations in LoCoMo's format: parsing, and storing as if they had been held in the chat.

The data is not part of the project, since its licence is non-commercial.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from memory.clock import system_clock
from memory.log.sessions import Address, Session, SessionService
from memory.log.turn_log import FinishedTurn, Outcome, TurnLog
from memory.messages import Message, Provenance, Role
from memory.store.database import Database

CATEGORIES = {1: "several places", 2: "time", 3: "inference", 4: "one place"}
"""LoCoMo's categories of questions with an answer. The fifth category has none."""
_KEY = re.compile(r"D(\d+):(\d+)")


class Form(StrEnum):
    """Form in which two people's messages are stored: as a group, or as a user and an assistant."""

    PERSONAL = "private, I and you"
    """The questions as the first speaker would ask the second one."""
    PRIVATE = "private"
    """The original questions, with the names of both speakers."""
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class SaidMessage:
    """One message. `key` identifies it in the evidence of questions."""

    key: str
    speaker: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the keys of the messages that answer it, and the answer."""

    text: str
    evidence: frozenset[str]
    category: int
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The conversations of two people, with questions."""

    speakers: tuple[str, str]
    sessions: tuple[tuple[SaidMessage, ...], ...]
    questions: tuple[Question, ...]

    @property
    def texts(self) -> dict[str, str]:
        """Return the texts of all messages by key."""
        return {said.key: said.text for session in self.sessions for said in session}

    def read_questions(self, form: Form) -> Iterator[Question]:
        """Yield the questions in their wording for a form."""
        for question in self.questions:
            yield (
                question if form is not Form.PERSONAL else replace(question, text=self._to_first_person(question.text))
            )

    def _to_first_person(self, text: str) -> str:
        for name, possessive, pronoun in zip(self.speakers, ("my", "your"), ("I", "you"), strict=True):
            text = re.sub(rf"\b{re.escape(name)}['’]s\b", possessive, text)
            text = re.sub(rf"\b{re.escape(name)}\b", pronoun, text)
        return text


def read_dialogues(path: Path) -> list[Dialogue]:
    """Parse the dialogues in a file. Questions without existing evidence are left out."""
    return [_parse_dialogue(read) for read in json.loads(path.read_text(encoding="utf-8"))]


async def store_dialogue(database: Database, dialogue: Dialogue, chat: str, form: Form) -> Session:
    """Write a dialogue into the log of a chat, with each session as an ended conversation."""
    sessions, turns = SessionService(database, system_clock), TurnLog(database, system_clock)
    session = await sessions.get_or_create(Address("locomo", chat))
    for conversation in dialogue.sessions:
        for turn in _split_into_turns(conversation, dialogue.speakers, form):
            at = turn[0].created_at
            await turns.commit(FinishedTurn(session.id, Outcome.ANSWERED, turn, at))
        await sessions.clear_messages(session.id)
    return session


def _split_into_turns(
    conversation: Iterable[SaidMessage], speakers: tuple[str, str], form: Form
) -> list[list[Message]]:
    """Return the messages of each turn. In a private chat a turn ends before the user's next message."""
    turns: list[list[Message]] = []
    for said in conversation:
        if form is Form.GROUP:
            turns.append([Message(Role.USER, said.text, said.at, speaker=said.speaker, provenance=Provenance.TYPED)])
            continue
        is_user = said.speaker == speakers[0]
        message = Message(Role.USER if is_user else Role.ASSISTANT, said.text, said.at)
        message = replace(message, provenance=Provenance.TYPED) if is_user else message
        follows = turns and (not is_user or turns[-1][-1].role is Role.USER)
        if follows:
            turns[-1].append(message)
        else:
            turns.append([message])
    return turns


def _parse_dialogue(read: dict[str, Any]) -> Dialogue:
    held = read["conversation"]
    numbers = sorted(int(found[1]) for name in held if (found := re.fullmatch(r"session_(\d+)", name)))
    sessions = tuple(
        tuple(
            _parse_message(turn, _parse_moment(held[f"session_{number}_date_time"]))
            for turn in held[f"session_{number}"]
        )
        for number in numbers
    )
    known = {said.key for session in sessions for said in session}
    questions = (
        Question(
            asked["question"],
            _parse_keys(asked.get("evidence", ())) & known,
            asked["category"],
            str(asked.get("answer", "")),
        )
        for asked in read["qa"]
        if asked["category"] in CATEGORIES
    )
    speakers = (held["speaker_a"], held["speaker_b"])
    return Dialogue(speakers, sessions, tuple(question for question in questions if question.evidence))


def _parse_message(turn: dict[str, Any], at: datetime) -> SaidMessage:
    caption = f" [{turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return SaidMessage(turn["dia_id"], turn["speaker"], turn["text"] + caption, at)


def _parse_keys(evidence: Iterable[str]) -> frozenset[str]:
    """Return the keys in texts such as `D8:6; D9:17` and `D30:05`."""
    return frozenset(f"D{int(found[1])}:{int(found[2])}" for text in evidence for found in _KEY.finditer(text))


def _parse_moment(text: str) -> datetime:
    """Parse LoCoMo's dates, such as `1:56 pm on 8 May, 2023`."""
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
