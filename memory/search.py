"""Search: one BM25 ranking over entries and the messages of the log (S1, S4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.clock import from_text, to_text
from memory.entry_rows import kind_of
from memory.index import rebuild, source_of
from memory.words import match_expression

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from memory.database import Database, Row
    from memory.entry import Kind

WEIGHTS = {
    "owner": 0.0,
    "body": 1.0,
    "name": 1.0,
    "tags": 1.0,
    "scope": 1.0,
    "speaker": 1.0,
    "date": 1.0,
    "previous": 0.5,
    "next": 0.4,
    "second_previous": 0.3,
    "second_next": 0.2,
}
"""What a word counts by where it stands. Measured on LoCoMo: neighbours as weighted columns add 14 points of R@10."""

MESSAGE_KIND = "message"
"""The kind under which the log's messages are asked for and shown."""

_BM25 = f"bm25(search, {', '.join(str(weight) for weight in WEIGHTS.values())})"
_FOUND = f"""
WITH found AS (SELECT rowid AS row, -{_BM25} AS score FROM search WHERE search MATCH :match),
hits AS (
    SELECT f.row, f.score, n.name, e.kind, e.content, e.created_at, e.owner_id, e.author AS source, e.scope,
        NULL AS conversation_id, NULL AS turn_id, e.archived_at IS NOT NULL AS archived, e.superseded_by,
        e.valid_from, (SELECT s.valid_from FROM entries s WHERE s.id = e.superseded_by) AS superseded_at
    FROM found f JOIN entries e ON f.row % 2 = 0 AND e.id = f.row / 2
    JOIN names n ON n.entry_id = e.id AND NOT n.is_alias
    UNION ALL
    SELECT f.row, f.score, NULL, '{MESSAGE_KIND}', m.content, m.created_at, c.owner_id,
        coalesce(m.speaker, m.role), NULL, m.conversation_id, m.turn_id, 0, NULL, NULL, NULL
    FROM found f JOIN messages m ON f.row % 2 = 1 AND m.id = f.row / 2
    JOIN conversations c ON c.id = m.conversation_id
)
SELECT h.*, o.name AS owner FROM hits h JOIN owners o ON o.id = h.owner_id
"""


@dataclass(frozen=True, slots=True)
class Filter:
    """What may be found. kinds None: all; since and until bound when it was made; archived None: both."""

    kinds: Collection[str] | None = None
    scope: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    archived: bool | None = None
    superseded: bool = True


@dataclass(frozen=True, slots=True)
class Hit:
    """Something found. score: the negated BM25, greater is better. A message has no name."""

    id: int
    name: str | None
    kind: Kind | str
    content: str
    score: float
    created_at: datetime
    owner: str
    source: str
    scope: str | None
    conversation_id: int | None
    turn_id: int | None
    archived: bool
    superseded_by: int | None
    valid_from: datetime | None
    superseded_at: datetime | None


class Search:
    """Finds entries and messages. Any text is a valid query; what to leave out is the caller's choice."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(
        self, query: str, owner: str | None = None, *, only: Filter | None = None, limit: int | None = None
    ) -> list[Hit]:
        """What fits `query`, best first, of one owner or of all; equal scores newest first."""
        only = only or Filter()
        owner_id = None
        if owner is not None:
            owner_id = await self._database.value("SELECT id FROM owners WHERE name = ?", (owner,))
            if owner_id is None:
                return []
        match = match_expression(owner_id, query)
        if match is None:
            return []
        where, parameters = _conditions(only)
        rows = await self._database.rows(
            f"{_FOUND} {where} ORDER BY h.score DESC, h.created_at DESC, h.row DESC LIMIT :limit",
            {"match": match, "limit": -1 if limit is None else limit} | parameters,
        )
        return [_hit(row) for row in rows]

    async def reindex(self) -> None:
        """Make the index anew from the entries and the log."""
        async with self._database.transaction() as connection:
            await rebuild(connection)


def _conditions(only: Filter) -> tuple[str, dict[str, object]]:
    conditions: list[str] = []
    parameters: dict[str, object] = {}
    if only.kinds is not None:
        names = {f"kind{number}": str(kind) for number, kind in enumerate(only.kinds)}
        conditions.append(f"h.kind IN ({', '.join(f':{name}' for name in names)})")
        parameters |= names
    for name, value, condition in (
        ("scope", only.scope, "h.scope = :scope"),
        ("since", to_text(only.since) if only.since else None, "h.created_at >= :since"),
        ("until", to_text(only.until) if only.until else None, "h.created_at < :until"),
        ("archived", only.archived, "h.archived = :archived"),
    ):
        if value is not None:
            conditions.append(condition)
            parameters[name] = value
    if not only.superseded:
        conditions.append("h.superseded_by IS NULL")
    return (f"WHERE {' AND '.join(conditions)}" if conditions else ""), parameters


def _hit(row: Row) -> Hit:
    return Hit(
        id=source_of(row["row"])[1],
        name=row["name"],
        kind=row["kind"] if row["kind"] == MESSAGE_KIND else kind_of(row["kind"]),
        content=row["content"],
        score=row["score"],
        created_at=from_text(row["created_at"]),
        owner=row["owner"],
        source=row["source"],
        scope=row["scope"],
        conversation_id=row["conversation_id"],
        turn_id=row["turn_id"],
        archived=bool(row["archived"]),
        superseded_by=row["superseded_by"],
        valid_from=from_text(row["valid_from"]) if row["valid_from"] else None,
        superseded_at=from_text(row["superseded_at"]) if row["superseded_at"] else None,
    )
