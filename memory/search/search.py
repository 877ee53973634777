"""Search: queries the FTS5 index for entries and messages, and returns hits sorted by BM25 (S1, S4).

This is the lowest layer: it doesn't rerank (ranking.py), select or format (recall.py).
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import replace

from memory.clock import from_text, to_text
from memory.messages import Provenance
from memory.search.types import MESSAGE_KIND, PASSAGE_KINDS, Filter, Hit, MessageHits
from memory.store.database import Database, Row
from memory.store.entry import TYPED_KINDS, Kind
from memory.store.entry_rows import CURRENT, LIVE, parse_kind
from memory.store.index import IN_FAMILY_PART, IN_PART, ROW, get_part_parameters, split_row
from memory.text.wording import make_name_key
from memory.text.words import build_match_expression

Limits = Sequence[tuple[Collection[str] | None, int | None]]
"""Pairs of kinds and the maximum number of hits. None means all kinds, or no limit."""

WEIGHTS = {
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
"""Weights of the index columns. Measured on LoCoMo: neighbours as weighted columns add 14 points of R@10."""

MEMORIES = 32
"""Maximum number of typed memories per message."""
WORKFLOWS = 8
"""Maximum number of workflows per message, in addition to MEMORIES."""
PASSAGES = 80
"""Maximum number of passages per message, not counting the visible conversation. On LoCoMo 100 find a third of a point
more and take a millisecond more."""

_BM25 = f"bm25(search, {', '.join(str(weight) for weight in WEIGHTS.values())})"
SCORE = f"-{_BM25}"
"""SQL expression for the score of a matching row. Greater is better."""
_SAMPLE = 16
# Number of sampled entries that an owner must have to count as the owner of most entries.
_MIN_OWNED_SAMPLES = 12
_OWNER = f"""
SELECT o.id, EXISTS (SELECT 1 FROM family f WHERE f.owner = o.name),
    (SELECT count(*) FROM entries e WHERE +e.owner_id = o.id AND e.id IN
    (SELECT value * (SELECT max(id) FROM entries) / {_SAMPLE} FROM json_each('{[*range(1, _SAMPLE + 1)]}')))
FROM owners o WHERE o.name = ?
"""
# The first query fetches this many times the wanted rows. If filters leave too few, a second query fetches all.
_FIRST_FETCH_FACTOR = 10
# The inner queries read only the columns for filters and order, since many rows match and few are wanted.
# MATERIALIZED avoids computing each score twice. A + keeps SQLite from using an owner's index instead.
_FOUND = f"""
SELECT {ROW} AS row, {SCORE} AS score FROM search WHERE search MATCH :match AND {IN_PART}
"""
_BEST_FOUND = f"{_FOUND} ORDER BY 2 DESC, 1 DESC LIMIT :first"
# Adds what the family shares. UNION removes the owner's own rows from it.
_WITH_SHARED = (
    f"SELECT * FROM ({{found}}) UNION SELECT {ROW}, {SCORE} FROM search WHERE search MATCH :match AND {IN_FAMILY_PART}"
)
_ENTRIES = f"""
SELECT f.row, f.score, e.kind, e.created_at, e.owner_id, e.scope, e.tags, e.archived_at IS NOT NULL AS archived,
    {CURRENT} AS current, (SELECT count(*) FROM found) AS looked_at,
    {CURRENT} AND e.archived_at IS NULL AND e.shared_at IS NOT NULL
        AND (SELECT o.name FROM owners o WHERE o.id = e.owner_id) IN (SELECT owner FROM family) AS shared
FROM found f JOIN entries e ON f.row % 2 = 0 AND e.id = f.row / 2
"""
_MESSAGES = f"""
SELECT f.row, f.score, '{MESSAGE_KIND}' AS kind, m.created_at, c.owner_id, NULL AS scope, NULL AS tags,
    0 AS archived, 1 AS current, (SELECT count(*) FROM found) AS looked_at, 0 AS shared
FROM {{found}} f JOIN messages m ON f.row % 2 = 1 AND m.id = f.row / 2 JOIN conversations c ON c.id = m.conversation_id
"""
# Used if no filter applies to messages. Joining thousands of messages takes as long as scoring them.
_BEST_MESSAGES = "(SELECT * FROM found WHERE row % 2 = 1 ORDER BY score DESC, row DESC LIMIT :messages)"
# An entry stores only whether it is trusted, not where it came from.
_DECORATED = """
SELECT b.*, o.name AS owner, n.name,
    coalesce(e.content, m.content) AS content, coalesce(e.author, m.speaker, m.role) AS source,
    coalesce(m.provenance, CASE WHEN NOT e.trusted THEN 'foreign' END, 'typed') AS provenance,
    m.conversation_id, m.turn_id, e.outcome, e.shared_by, e.superseded_by, e.valid_from, e.valid_until, e.unconfirmed,
    (SELECT s.valid_from FROM entries s WHERE s.id = e.superseded_by AND s.id <> e.id) AS superseded_at,
    (SELECT c.title FROM conversations c WHERE c.id = m.conversation_id) AS title,
    (SELECT t.outcome = 'failed' FROM turns t WHERE t.id = m.turn_id) AS of_failed_turn
FROM best b JOIN owners o ON o.id = b.owner_id
LEFT JOIN entries e ON b.row % 2 = 0 AND e.id = b.row / 2
LEFT JOIN names n ON n.entry_id = e.id AND NOT n.is_alias
LEFT JOIN messages m ON b.row % 2 = 1 AND m.id = b.row / 2
"""
_SCORES = "SELECT b.* FROM best b"
_ORDER = "ORDER BY b.score DESC, b.created_at DESC, b.row DESC"


class Search:
    """Finds entries and messages. Any text is a valid query.

    Args:
        family: Whether members see what others share (MEMORY_SCOPE).
    """

    def __init__(self, database: Database, *, family: bool = False) -> None:
        self._database = database
        self._family = family

    async def find(
        self,
        query: str,
        owner: str | None = None,
        *,
        only: Filter | None = None,
        limit: int | None = None,
        shared: bool = False,
    ) -> list[Hit]:
        """Return the hits for `query`, best first and with equal scores newest first.

        Args:
            owner: None searches all owners.
            shared: Include what others have shared with the owner.
        """
        only = only or Filter()
        rows = await self._find_best(query, owner, only, [(only.kinds, limit)], _DECORATED, shared=shared)
        return [_hit_from_row(row, owner) for row in rows]

    async def find_for_message(self, message: str, owner: str, visible: int) -> MessageHits:
        """Return the hits for the prompt of a message, with a single query.

        Args:
            visible: Number of messages in the visible conversation. They usually match best, so as many more are
                fetched.
        """
        limits = [(TYPED_KINDS, MEMORIES), ((Kind.WORKFLOW,), WORKFLOWS), (PASSAGE_KINDS, PASSAGES + visible)]
        groups: list[list[Hit]] = [[], [], []]
        only = Filter(archived=False, current=True)
        for row in await self._find_best(message, owner, only, limits, _DECORATED, shared=True):
            hit = _hit_from_row(row, owner)
            # Memories that others shared are quoted instead of activated.
            groups[row["part"] if hit.shared_by is None else 2].append(hit)
        return MessageHits(groups[0], groups[1], groups[2], message, owner)

    async def find_scores(self, query: str, owner: str, only: Filter, limit: int) -> dict[int, float]:
        """Return ids and scores of the entries that match `query`, best first."""
        rows = await self._find_best(query, owner, only, [(only.kinds, limit)], _SCORES)
        return {split_row(row["row"])[1]: row["score"] for row in rows}

    async def find_named(self, name: str, owner: str | None = None, *, only: Filter | None = None) -> list[Hit]:
        """Return the entries with the name or alias `name`, of one owner or of all, with a score of 0."""
        where, parameters = build_conditions(only or Filter(), None)
        rows = await self._database.rows(
            "WITH found AS (SELECT 2 * k.entry_id AS row, 0.0 AS score FROM names k JOIN owners o ON o.id = k.owner_id"
            " WHERE k.key = :key AND (:owner IS NULL OR o.name = :owner)),"  # Removed entries have no names.
            f" hits AS ({_ENTRIES}), best AS (SELECT * FROM hits b {where}) {_DECORATED} {_ORDER}",
            parameters | {"key": make_name_key(name), "owner": owner},
        )
        return [_hit_from_row(row, owner) for row in rows]

    async def read_hits(self, rows: Sequence[int]) -> list[Hit]:
        """Return the hits for rows of the index, in their order. Deleted rows are skipped."""
        results = await self._database.rows(
            f"WITH found AS (SELECT value AS row, 0.0 AS score FROM json_each(:rows)), hits AS"
            f" ({_ENTRIES} UNION ALL {_MESSAGES.format(found='found')}), best AS (SELECT * FROM hits) {_DECORATED}",
            {"rows": json.dumps([*rows])},
        )
        hits = {
            row["row"]: _hit_from_row(row, None)
            for row in results
            if row["name"] is not None or row["turn_id"] is not None
        }
        return [hits[row] for row in rows if row in hits]

    async def find_in_rows(self, rows: Sequence[int], owner: str, only: Filter) -> list[Hit]:
        """Return the owner's messages and entries in the given rows of the index, with a score of 0."""
        if not rows:
            return []
        where, parameters = build_conditions(only, None)
        results = await self._database.rows(
            "WITH found AS (SELECT value AS row, 0.0 AS score FROM json_each(:rows)),"
            f" hits AS ({_ENTRIES} UNION ALL {_MESSAGES.format(found='found')}), best AS (SELECT * FROM hits b {where})"
            f" SELECT * FROM ({_DECORATED}) WHERE owner = :owner",
            parameters | {"rows": json.dumps([*rows]), "owner": owner},
        )
        return [_hit_from_row(row, owner) for row in results]

    async def find_in_scope(self, owner: str, path: str, kinds: Collection[str], limit: int) -> list[Hit]:
        """Return the live entries with a scope that contains `path`, by priority, then by strength as their score."""
        rows = await self._database.rows(
            "WITH best AS (SELECT 2 * e.id AS row, e.strength AS score, e.kind, e.created_at, e.owner_id, e.scope,"
            " 0 AS archived, CASE e.priority WHEN 'critical' THEN 0 WHEN 'high' THEN 1 WHEN 'medium' THEN 2 ELSE 3 END"
            " AS rank FROM entries e JOIN owners o ON o.id = e.owner_id WHERE o.name = ? AND e.scope IS NOT NULL"
            f" AND {LIVE}"
            " AND e.kind IN (SELECT value FROM json_each(?)) AND scope_matches(e.scope, ?)"
            " ORDER BY rank, score DESC LIMIT ?)"
            f" {_DECORATED} ORDER BY b.rank, b.score DESC",
            (owner, json.dumps([*kinds]), path, limit),
        )
        return [_hit_from_row(row, owner) for row in rows]

    async def _find_best(
        self, query: str, owner: str | None, only: Filter, limits: Limits, columns: str, *, shared: bool = False
    ) -> list[Row]:
        """Return the best rows for each item of `limits`. The column `part` is the item's index."""
        owner_id, of_family, share = None, False, 0
        if owner is not None:
            row = await self._database.row(_OWNER, (owner,))
            if row is None:
                return []
            owner_id, of_family, share = row
            of_family = self._family and shared and of_family
        match = build_match_expression(query)
        if match is None:
            return []
        parts: list[str] = []
        parameters = get_part_parameters(owner_id) | {"match": match}
        for part, (kinds, limit) in enumerate(limits):
            where, values = build_conditions(replace(only, kinds=kinds), owner_id, part, shared=of_family)
            parts.append(f"SELECT * FROM (SELECT b.*, {part} AS part FROM hits b {where} {_ORDER} LIMIT :most{part})")
            parameters |= values | {f"most{part}": -1 if limit is None else limit}
        once = "AS MATERIALIZED" if len(parts) > 1 else "AS"
        most = max(
            (limit for kinds, limit in limits if kinds is None or MESSAGE_KIND in kinds), default=None, key=_get_size
        )
        # The best messages can be taken before filtering only if no filter applies to messages.
        takes_best = (
            share < _MIN_OWNED_SAMPLES and owner_id is not None and most is not None and not _bounds_messages(only)
        )
        parameters |= {"messages": most} if takes_best else {}
        messages = _BEST_MESSAGES if takes_best else "found"
        rest = (
            f"hits {once} ({build_sources(limits, messages)}), best AS ({' UNION ALL '.join(parts)}) {columns} {_ORDER}"
        )
        total = sum(limit for _, limit in limits if limit is not None)
        bounded = all(limit is not None for _, limit in limits)
        rows: list[Row] = []
        if share >= _MIN_OWNED_SAMPLES and bounded:
            first = total * _FIRST_FETCH_FACTOR
            rows = await self._database.rows(
                f"WITH found AS MATERIALIZED ({_add_shared(_BEST_FOUND, of_family)}), {rest}",
                parameters | {"first": first},
            )
            if len(rows) == total or (rows and rows[0]["looked_at"] < first):
                return rows
        return await self._database.rows(
            f"WITH found AS MATERIALIZED ({_add_shared(_FOUND, of_family)}), {rest}", parameters
        )


def _add_shared(query: str, of_family: bool) -> str:
    return _WITH_SHARED.format(found=query) if of_family else query


def _bounds_messages(only: Filter) -> bool:
    return bool(only.since or only.until or only.path or only.tags or only.archived)


def _get_size(limit: int | None) -> float:
    return math.inf if limit is None else limit


def build_sources(limits: Limits, messages: str = "found") -> str:
    """Return SQL that joins the rows in `found` with entries, messages, or both.

    Args:
        messages: The table expression that messages are taken from.
    """
    kinds = {kind for some, _ in limits for kind in (some if some is not None else (*Kind, MESSAGE_KIND))}
    sources = [_ENTRIES] if kinds - {MESSAGE_KIND} else []
    sources += [_MESSAGES.format(found=messages)] if MESSAGE_KIND in kinds else []
    return " UNION ALL ".join(sources or [_ENTRIES])


def build_conditions(
    only: Filter, owner_id: int | None, part: int = 0, *, shared: bool = False
) -> tuple[str, dict[str, object]]:
    """Return the WHERE clause for rows `b`, and its parameters. `shared` also admits what the family shares."""
    own = "true" if owner_id is None else f"+b.owner_id = {owner_id}"
    clauses = [f"({own} OR b.shared)" if shared else own]
    parameters: dict[str, object] = {}
    if only.kinds is not None:
        names = {f"kind{part}_{number}": str(kind) for number, kind in enumerate(only.kinds)}
        of_kind = f"b.kind IN ({', '.join(f':{name}' for name in names)})"
        # Shared entries of every kind are quoted, so they are returned together with messages.
        quoted = shared and MESSAGE_KIND in only.kinds
        clauses.append(f"({of_kind} OR b.shared AND NOT {own})" if quoted else of_kind)
        parameters |= names
    for name, value, condition in (
        ("path", only.path, "scope_matches(b.scope, :path)"),
        ("tags", json.dumps([*only.tags]) if only.tags else None, "has_tags(b.tags, :tags)"),
        ("since", to_text(only.since) if only.since else None, "b.created_at >= :since"),
        ("until", to_text(only.until) if only.until else None, "b.created_at < :until"),
        ("archived", only.archived, "b.archived = :archived"),
    ):
        if value is not None:
            clauses.append(condition)
            parameters[name] = value
    if only.current:
        clauses.append("b.current")
    return (f"WHERE {' AND '.join(clauses)}" if clauses else ""), parameters


def _hit_from_row(row: Row, asker: str | None) -> Hit:
    return Hit(
        id=split_row(row["row"])[1],
        name=row["name"],
        kind=row["kind"] if row["kind"] == MESSAGE_KIND else parse_kind(row["kind"]),
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
        valid_until=from_text(row["valid_until"]) if row["valid_until"] else None,
        unconfirmed=row["unconfirmed"],
        provenance=Provenance(row["provenance"]),
        outcome=row["outcome"],
        shared_by=row["shared_by"] if asker is not None and row["owner"] != asker else None,
        title=row["title"],
        of_failed_turn=bool(row["of_failed_turn"]),
    )
