"""The memories that earlier prompts contained and why, and which of them the answer used."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory.clock import from_text
from memory.search.activation_candidates import ActivatedMemory, Layer
from memory.store.database import Database
from memory.store.entry import Entry, Kind
from memory.store.entry_rows import ENTRY_ROWS, entry_from_row
from memory.store.reinforcement import Reinforcement
from memory.text.query_terms import get_query_terms

MIN_COVERAGE = 0.5
"""Minimum share of a memory's telling words in the answer and its question for the memory to count as used."""

# Finds entries by id, or by their line in MEMORY.md.
_SHOWN = f"""
SELECT e.id, e.content FROM entries e WHERE e.deleted_at IS NULL AND e.kind <> '{Kind.ARCHIVE}' AND (
    e.id IN (SELECT value FROM json_each(:ids))
    OR (e.owner_id = (SELECT id FROM owners WHERE name = :owner) AND e.line IS NOT NULL AND e.superseded_by IS NULL
        AND e.line IN (SELECT value FROM json_each(:lines))))
"""


class MemoryUses:
    def __init__(self, database: Database, reinforcement: Reinforcement) -> None:
        self._database = database
        self._reinforcement = reinforcement

    async def count(
        self, owner: str, question: str, answer: str, shown: Collection[int], lines: Collection[str]
    ) -> frozenset[int]:
        """Reinforce the memories that the answer used, and return their ids.

        Args:
            shown: Ids of the memories in the request.
            lines: The lines of the request, including those of MEMORY.md.
        """
        if not answer.strip():
            return frozenset()
        values: dict[str, object] = {"owner": owner, "ids": json.dumps([*shown]), "lines": json.dumps([*lines])}
        rows = await self._database.rows(_SHOWN, values)
        used = frozenset(row["id"] for row in rows if is_used(row["content"], question, answer))
        await self._reinforcement.count_recall(used)
        return used


def is_used(memory: str, question: str, answer: str) -> bool:
    """Return True if the answer contains words of the memory that the question doesn't contain.

    Answer and question together must contain MIN_COVERAGE of the telling words, since a single word may be chance.
    """
    sought = get_query_terms(memory)
    if not sought.terms:
        return False
    answered, asked = sought.count_terms(answer), sought.count_terms(question)
    return bool(answered.keys() - asked.keys()) and len(answered | asked) / len(sought.terms) >= MIN_COVERAGE


@dataclass(frozen=True, slots=True)
class ActivationReason:
    """Why a memory was activated, and its cost in tokens. `entry` is None if it was deleted since."""

    entry: Entry | None
    layer: Layer
    score: float
    relevance: float
    tokens: int


def dump_activation(
    activated: Sequence[ActivatedMemory], recalled: Sequence[int] = (), recalled_notes: Sequence[int] = ()
) -> str | None:
    """Return the JSON that a session stores about its last turn, or None if the turn used no memory.

    Args:
        recalled: Ids of the messages that the request quoted.
        recalled_notes: Ids of the entries that the request quoted or that tools found.
    """
    rows = [
        [memory.id, memory.layer, round(memory.score, 3), round(memory.relevance, 3), memory.tokens]
        for memory in activated
    ]
    notes = [entry for entry in recalled_notes if entry not in {memory.id for memory in activated}]
    return json.dumps([rows, [*recalled], notes]) if rows or recalled or notes else None


class ActivationLog:
    """The last turn's activation of each session."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read_last(self, session_id: str) -> list[ActivationReason]:
        """Return the memories that were activated in the session's last turn, in the order of the prompt."""
        rows, _messages, _notes = await self._read_last(session_id)
        entries = await self._read_entries([row[0] for row in rows])
        return [ActivationReason(entries.get(row[0]), Layer(row[1]), row[2], row[3], row[4]) for row in rows]

    async def read_recalled(self, session_id: str) -> list[tuple[datetime, str]]:
        """Return time and text of the messages that the last turn's request quoted, best first."""
        _memories, messages, _notes = await self._read_last(session_id)
        rows = await self._database.rows(
            "SELECT s.* FROM json_each(?) k JOIN spoken s ON s.id = k.value ORDER BY k.key", (json.dumps(messages),)
        )
        return [(from_text(row["created_at"]), row["content"]) for row in rows]

    async def read_recalled_entries(self, session_id: str) -> list[Entry]:
        """Return the entries that the last turn's request quoted or that its tools found, best first."""
        _memories, _messages, notes = await self._read_last(session_id)
        entries = await self._read_entries(notes)
        return [entries[note] for note in notes if note in entries]

    async def _read_entries(self, ids: Sequence[int]) -> dict[int, Entry]:
        listed = ", ".join(str(int(entry_id)) for entry_id in ids)
        rows = await self._database.rows(f"{ENTRY_ROWS} WHERE e.id IN ({listed}) AND e.deleted_at IS NULL")
        return {row["id"]: entry_from_row(row) for row in rows}

    async def _read_last(self, session_id: str) -> tuple[list[list[Any]], list[int], list[int]]:
        database = await self._database.private.get_database(session_id)
        value = await database.value("SELECT activated FROM sessions WHERE id = ?", (session_id,))
        memories, messages, *rest = json.loads(value) if value else ([], [])
        return memories, messages, rest[0] if rest else []
