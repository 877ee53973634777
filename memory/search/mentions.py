"""Everything that speaks of a subject, or was said in a span of time: counted, in groups, and none left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memory.clock import from_text, to_text
from memory.search.search import SCORE, conditions, sources
from memory.store.index import IN_PART, ROW, part_of
from memory.text.words import mention_expressions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date, datetime
    from zoneinfo import ZoneInfo

    from memory.search.search import Filter
    from memory.store.database import Database, Row

_MENTIONED = f"""
whole AS (SELECT {ROW} AS row FROM search WHERE search MATCH :whole AND {IN_PART}),
found AS MATERIALIZED (SELECT {ROW} AS row, {SCORE} AS score FROM search WHERE search MATCH :some AND {IN_PART})
"""
_SAID = """
found AS MATERIALIZED (
    SELECT 2 * e.id AS row, 0.0 AS score FROM entries e
        JOIN names n ON n.entry_id = e.id AND NOT n.is_alias WHERE (:owner_id IS NULL OR e.owner_id = :owner_id)
    UNION ALL SELECT 2 * m.id + 1, 0.0 FROM conversations c JOIN spoken m ON m.conversation_id = c.id
        WHERE (:owner_id IS NULL OR c.owner_id = :owner_id) AND m.created_at >= :from AND m.created_at < :to),
whole AS (SELECT row FROM found)
"""
_ALWAYS = ("0001", "9999")


@dataclass(frozen=True, slots=True)
class Mention:
    """An exchange or an entry that speaks of a subject. row: of the index, of an exchange that of the first message.

    whole: it holds all telling words of a subject. conversation None: an entry. day: on the chat's clock.
    """

    row: int
    whole: bool
    score: float
    at: datetime
    day: date
    conversation: int | None
    turn: int | None


async def mentions(
    database: Database, owner: str | None, subjects: Sequence[str], only: Filter, zone: ZoneInfo
) -> list[Mention]:
    """What speaks of one of the subjects, of one owner or of all; without subjects all there is.

    First what holds all words of a subject. Then group by group, each a conversation on a day, the one with the best
    hit first, or without subjects the oldest; inside a group in the order of time.
    """
    owner_id = None
    if owner is not None:
        owner_id = await database.value("SELECT id FROM owners WHERE name = ?", (owner,))
        if owner_id is None:
            return []
    where, parameters = conditions(only, owner_id)
    if subjects:
        expressions = mention_expressions(subjects)
        if expressions is None:
            return []
        found = _MENTIONED
        parameters |= part_of(owner_id) | dict(zip(("whole", "some"), expressions, strict=True))
    else:
        found = _SAID
        bounds = (to_text(end) if end else never for end, never in zip((only.since, only.until), _ALWAYS, strict=True))
        parameters |= dict(zip(("from", "to"), bounds, strict=True)) | {"owner_id": owner_id}
    rows = await database.rows(
        f"WITH {found}, hits AS ({sources([(only.kinds, None)])})"
        " SELECT b.row, b.score, b.created_at, b.row IN (SELECT row FROM whole) AS whole, m.conversation_id, m.turn_id"
        f" FROM hits b LEFT JOIN messages m ON b.row % 2 = 1 AND m.id = b.row / 2 {where} ORDER BY b.row",
        parameters,
    )
    return _in_groups(_exchanges(rows, zone))


def _exchanges(rows: Sequence[Row], zone: ZoneInfo) -> list[Mention]:
    """Each entry, and each exchange once: as its first message that holds all words, or the first of all."""
    found: dict[tuple[bool, int], Mention] = {}
    for row in rows:
        at = from_text(row["created_at"])
        one = Mention(
            row["row"],
            bool(row["whole"]),
            row["score"],
            at,
            at.astimezone(zone).date(),
            row["conversation_id"],
            row["turn_id"],
        )
        key = (one.turn is None, one.row if one.turn is None else one.turn)
        known = found.get(key)
        if known is None:
            found[key] = one
        else:
            kept = one if one.whole and not known.whole else known
            found[key] = replace(kept, score=max(one.score, known.score))
    return list(found.values())


def _in_groups(found: Sequence[Mention]) -> list[Mention]:
    groups: dict[tuple[object, ...], list[Mention]] = {}
    for one in found:
        # the entries are one group, whenever they were made
        day = one.day if one.conversation is not None else None
        groups.setdefault((one.whole, one.conversation, day), []).append(one)
    for group in groups.values():
        group.sort(key=lambda one: (one.at, one.row))
    ordered = sorted(
        groups.values(),
        key=lambda group: (not group[0].whole, -max(one.score for one in group), group[0].at, group[0].row),
    )
    return [one for group in ordered for one in group]
