"""What activated for the last turn of a session, and why: kept with the session, so that it survives a restart."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.search.activation import Layer
from memory.store.entry_rows import ENTRY_ROWS, entry_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.search.activation import Activated
    from memory.store.database import Database
    from memory.store.entry import Entry


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a memory stood in a request, and what it cost there in tokens. entry None: it is gone by now."""

    entry: Entry | None
    layer: Layer
    score: float
    relevance: float
    tokens: int


def recorded(activated: Sequence[Activated]) -> str | None:
    """What a session keeps of its last turn; None for nothing."""
    rows = [[one.id, one.layer, round(one.score, 3), round(one.relevance, 3), one.tokens] for one in activated]
    return json.dumps(rows) if rows else None


class ActivationLog:
    """The last turn's activation of each session."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def last(self, session_id: str) -> list[Reason]:
        """What activated for the last turn of a session, in the order in which it stood there."""
        kept = await self._database.value("SELECT activated FROM sessions WHERE id = ?", (session_id,))
        rows = json.loads(kept) if kept else []
        ids = ", ".join(str(int(row[0])) for row in rows)
        found = await self._database.rows(f"{ENTRY_ROWS} WHERE e.id IN ({ids}) AND e.deleted_at IS NULL")
        entries = {row["id"]: entry_of(row) for row in found}
        return [Reason(entries.get(row[0]), Layer(row[1]), row[2], row[3], row[4]) for row in rows]
