"""Detects which memories an answer used, and reinforces them. Being in a request or a search result doesn't count."""

from __future__ import annotations

import json
from collections.abc import Collection

from memory.store.database import Database
from memory.store.entry import Kind
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
