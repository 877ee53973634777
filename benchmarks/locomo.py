"""How well the search finds what was said: turn-level retrieval on conversations in LoCoMo's format.

The data is not part of the project (its licence is non-commercial): give the path of a JSON file of
conversations. The query is the question, the documents are the turns, the gold ones are the evidence turns;
categories 1 to 4. No model takes part.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory.clock import system_clock
from memory.log.sessions import Address, SessionService
from memory.log.turn_log import FinishedTurn, Outcome, TurnLog
from memory.messages import Message, Role
from memory.retrieval.search import MESSAGE_KIND, Filter, Search
from memory.store.database import Database

DEPTHS = (5, 10, 20)
CATEGORIES = (1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the keys of the turns that answer it."""

    text: str
    owner: str
    evidence: frozenset[str]


async def main() -> None:
    """Index the conversations with the real store, ask the questions, print recall and mean reciprocal rank."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="JSON file of conversations")
    path = parser.parse_args().path
    conversations = json.loads(path.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        database = await Database.open(Path(folder) / "mneme.db")
        try:
            questions: list[Question] = []
            keys: dict[tuple[str, str], str] = {}
            for number, conversation in enumerate(conversations):
                keys |= await _log(database, f"locomo:{number}", conversation["conversation"])
                questions += _questions(f"locomo:{number}", conversation["qa"])
            print(await _measure(Search(database), questions, keys))
        finally:
            await database.close()


async def _log(database: Database, owner: str, conversation: dict[str, Any]) -> dict[tuple[str, str], str]:
    """Write a conversation into the log, each of its sessions as a conversation; the keys of its texts."""
    channel, chat = owner.split(":")
    sessions, turns = SessionService(database, system_clock), TurnLog(database, system_clock)
    session = await sessions.get_or_create(Address(channel, chat))
    keys: dict[tuple[str, str], str] = {}
    numbers = sorted(int(found[1]) for name in conversation if (found := re.fullmatch(r"session_(\d+)", name)))
    for number in numbers:
        at = _moment(conversation[f"session_{number}_date_time"])
        for turn in conversation[f"session_{number}"]:
            text = turn["text"] + (f" [{turn['blip_caption']}]" if turn.get("blip_caption") else "")
            keys[owner, text] = turn["dia_id"]
            message = Message(Role.USER, text, at, speaker=turn["speaker"])
            await turns.commit(FinishedTurn(session.id, Outcome.ANSWERED, [message], at))
        await sessions.clear_messages(session.id)
    return keys


def _questions(owner: str, asked: list[dict[str, Any]]) -> list[Question]:
    return [
        Question(qa["question"], owner, frozenset(qa["evidence"]))
        for qa in asked
        if qa["category"] in CATEGORIES and qa.get("evidence")
    ]


async def _measure(search: Search, questions: list[Question], keys: dict[tuple[str, str], str]) -> str:
    recall = dict.fromkeys(DEPTHS, 0.0)
    reciprocal = 0.0
    for question in questions:
        only = Filter(kinds=[MESSAGE_KIND])
        hits = await search.find(question.text, question.owner, only=only, limit=max(DEPTHS))
        found = [keys[question.owner, hit.content] for hit in hits]
        for depth in DEPTHS:
            recall[depth] += len(question.evidence & set(found[:depth])) / len(question.evidence)
        ranks = [rank for rank, key in enumerate(found, 1) if key in question.evidence]
        reciprocal += 1 / ranks[0] if ranks else 0
    count = len(questions)
    figures = [f"R@{depth} {100 * recall[depth] / count:.1f}" for depth in DEPTHS]
    return f"{count} questions: {'  '.join(figures)}  MRR {100 * reciprocal / count:.1f}"


def _moment(text: str) -> datetime:
    """LoCoMo's dates: `1:56 pm on 8 May, 2023`."""
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


if __name__ == "__main__":
    asyncio.run(main())
