"""How much is remembered, by kind (S4)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memory.store.database import Database
    from memory.text.tokens import TokenCounter


@dataclass(frozen=True, slots=True)
class KindStats:
    """The entries of one kind, and the tokens of their contents."""

    kind: str
    entries: int
    tokens: int


class MemoryStats:
    """Counts an owner's entries, and tells whose memory there is."""

    def __init__(self, database: Database, counter: TokenCounter) -> None:
        self._database = database
        self._counter = counter

    async def of(self, owner: str) -> list[KindStats]:
        """The counts of each kind that there is, archived and superseded entries included."""
        rows = await self._database.rows(
            "SELECT e.kind, e.content FROM entries e JOIN owners o ON o.id = e.owner_id"
            " WHERE o.name = ? AND e.deleted_at IS NULL",
            (owner,),
        )
        entries, tokens = Counter[str](), Counter[str]()
        for row in rows:
            entries[row["kind"]] += 1
            tokens[row["kind"]] += self._counter.text(row["content"])
        return [KindStats(kind, entries[kind], tokens[kind]) for kind in sorted(entries)]

    async def sole_owner(self) -> str | None:
        """Whose memory all of it is; None where it is several people's, or nobody's yet."""
        names = await self._database.rows("SELECT name FROM owners LIMIT 2")
        return str(names[0][0]) if len(names) == 1 else None
