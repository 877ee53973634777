"""Counts which memories an answer used. To stand in a request, or to be found by a search, is no use (S4)."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING

from memory.store.entry import Kind
from memory.text.sought import QueryTerms

if TYPE_CHECKING:
    from collections.abc import Collection

    from memory.store.database import Database
    from memory.store.decay import Reinforcement

MIN_COVERAGE = 0.5
"""The share of a memory's telling words that stand in the answer or its question if the answer used it."""
MAX_KNOWN_TERMS = 256

# by their ids, and by the lines of MEMORY.md that were written for them
_SHOWN = f"""
SELECT e.id, e.content FROM entries e WHERE e.deleted_at IS NULL AND e.kind <> '{Kind.ARCHIVE}' AND (
    e.id IN (SELECT value FROM json_each(:ids))
    OR (e.owner_id = (SELECT id FROM owners WHERE name = :owner) AND e.line IS NOT NULL AND e.superseded_by IS NULL
        AND e.line IN (SELECT value FROM json_each(:lines))))
"""


class MemoryUses:
    """Reinforces the memories that answers use."""

    def __init__(self, database: Database, reinforcement: Reinforcement) -> None:
        self._database = database
        self._reinforcement = reinforcement

    async def count(
        self, owner: str, question: str, answer: str, shown: Collection[int], lines: Collection[str]
    ) -> frozenset[int]:
        """Count the uses in an answer once each, and return the ids of the memories.

        Args:
            shown: Ids of the memories that the model was shown for this answer.
            lines: The lines of the request, among them those of MEMORY.md.
        """
        if not answer.strip():
            return frozenset()
        values: dict[str, object] = {"owner": owner, "ids": json.dumps([*shown]), "lines": json.dumps([*lines])}
        rows = await self._database.rows(_SHOWN, values)
        used = frozenset(row["id"] for row in rows if is_used(row["content"], question, answer))
        await self._reinforcement.recalled(used)
        return used


def is_used(memory: str, question: str, answer: str) -> bool:
    """Return True if an answer says something of a memory that its question did not say.

    With the question it has to hold enough of the memory's telling words: one word may be chance.
    """
    sought = _terms_of(memory)
    if not sought.terms:
        return False
    answered, asked = sought.term_counts(answer), sought.term_counts(question)
    return bool(answered.keys() - asked.keys()) and len(answered | asked) / len(sought.terms) >= MIN_COVERAGE


@lru_cache(maxsize=MAX_KNOWN_TERMS)
def _terms_of(memory: str) -> QueryTerms:
    """Return the telling words of a memory. The same ones stand in most requests."""
    return QueryTerms(memory)
