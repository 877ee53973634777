"""The weekly consolidation (S4): duplicates merged, faded memories archived, facts that recur promoted.

Nothing is deleted, and one undo takes all of it back.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memory.clock import Clock, now_text, to_text
from memory.consolidation.duplicates import duplicates
from memory.learning.procedures import MOST_RECORDED
from memory.retrieval.activation import BASELINE_KINDS, BASELINE_PRIORITIES
from memory.store.changes import Snapshot, snapshot
from memory.store.entry import PRIORITY_RANK, TYPED_KINDS, Author, Entry, Kind, Operation, Priority
from memory.store.entry_rows import ENTRY_ROWS, LIVE, bind_name, entry_of, free_name_for
from memory.store.strength import MOST_REINFORCED

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from zoneinfo import ZoneInfo

    import aiosqlite

    from memory.store.changes import ChangeLog
    from memory.store.database import Database, Row
    from memory.store.strength import Decay

RECURRING = ((10, Priority.HIGH), (3, Priority.MEDIUM))
"""How often a fact must have come up to be of that priority at least."""
NAMES_TOLD = 3
"""Names of each kind of change that the report tells."""

_KINDS = ", ".join(f"'{kind}'" for kind in TYPED_KINDS)
# what somebody has taken back is not done again
_TAKEN_BACK = (
    "SELECT entry_id FROM changes"
    f" WHERE owner_id = ? AND operation = '{Operation.CONSOLIDATE}' AND undone_at IS NOT NULL"
)


@dataclass(frozen=True, slots=True)
class Merge:
    """Memories that say the same: the strongest, and the others, whose names become its aliases.

    kept: as it is going to be, with what all of them were used and the highest of their priorities.
    """

    kept: Entry
    others: tuple[Entry, ...]

    @classmethod
    def of(cls, kept: Entry, others: Sequence[Entry]) -> Merge:
        """The merge of `others` into one."""
        everyone = (kept, *others)
        whole = replace(
            kept,
            priority=min((entry.priority for entry in everyone), key=PRIORITY_RANK.__getitem__),
            subject=next((entry.subject for entry in everyone if entry.subject), None),
            reinforcement_count=min(MOST_REINFORCED, sum(entry.reinforcement_count for entry in everyone)),
            last_reinforced_at=max(entry.last_reinforced_at for entry in everyone),
            success_count=min(MOST_RECORDED, sum(entry.success_count for entry in everyone)),
            failure_count=min(MOST_RECORDED, sum(entry.failure_count for entry in everyone)),
        )
        return cls(whole, tuple(others))


@dataclass(frozen=True, slots=True)
class Plan:
    """What a consolidation is going to do to an owner's memories."""

    merges: tuple[Merge, ...]
    archived: tuple[Entry, ...]
    promoted: tuple[tuple[Entry, Priority], ...]

    def without(self, changed: Collection[int]) -> Plan:
        """The plan without what somebody has changed since it was made."""
        return Plan(
            tuple(m for m in self.merges if not any(entry.id in changed for entry in (m.kept, *m.others))),
            tuple(entry for entry in self.archived if entry.id not in changed),
            tuple((entry, priority) for entry, priority in self.promoted if entry.id not in changed),
        )

    @property
    def told(self) -> str:
        """What was done, in one line; empty for nothing."""
        merged = [other.name for merge in self.merges for other in merge.others]
        parts = [
            f"{what}: {_first_of(names)}"
            for what, names in (
                ("merged as duplicates", merged),
                ("archived as faded", [entry.name for entry in self.archived]),
                ("promoted as recurring", [entry.name for entry, _ in self.promoted]),
            )
            if names
        ]
        return f"Memory tidied; {'; '.join(parts)}. Nothing was deleted (/undo takes it back)." if parts else ""


class WeeklyConsolidation:
    """Tidies the typed memories of one owner at a time."""

    def __init__(self, database: Database, changes: ChangeLog, decay: Decay, clock: Clock, zone: ZoneInfo) -> None:
        self._database = database
        self._changes = changes
        self._decay = decay
        self._clock = clock
        self._zone = zone

    async def owners(self) -> list[str]:
        """Everybody who has memories."""
        rows = await self._database.rows(
            f"SELECT name FROM owners o WHERE EXISTS (SELECT 1 FROM entries e WHERE e.owner_id = o.id AND {LIVE})"
            " ORDER BY id"
        )
        return [row["name"] for row in rows]

    async def run(self, owner: str) -> Plan:
        """Tidy an owner's memories; what was done."""
        owner_id = await self._database.value("SELECT id FROM owners WHERE name = ?", (owner,))
        rows = await self._database.rows(
            f"{ENTRY_ROWS} WHERE e.owner_id = ? AND e.kind IN ({_KINDS}) AND {LIVE}"
            f" AND e.id NOT IN ({_TAKEN_BACK}) ORDER BY e.id",
            (owner_id, owner_id),
        )
        # outside of the transaction and in a thread: among very many memories it takes a while, and all others go on
        plan = await asyncio.to_thread(lambda: self._plan([entry_of(row) for row in rows]))
        async with self._database.transaction() as connection:
            plan = plan.without(await _changed_since(connection, rows))
            before = [
                *[one for merge in plan.merges for one in await self._merge(connection, owner_id, merge)],
                *[await self._archive(connection, entry) for entry in plan.archived],
                *[await self._promote(connection, entry, priority) for entry, priority in plan.promoted],
            ]
            if before:
                await self._changes.record(connection, owner_id, Operation.CONSOLIDATE, Author.CONSOLIDATION, before)
        return plan

    def _plan(self, entries: Sequence[Entry]) -> Plan:
        # the strongest first: it is what the others are held against, so that a second run finds nothing more
        ranked = sorted(entries, key=lambda entry: (-self._score(entry), entry.id))
        merges = tuple(Merge.of(group[0], group[1:]) for group in duplicates(ranked))
        gone = {other.id for merge in merges for other in merge.others}
        whole = {merge.kept.id: merge.kept for merge in merges}
        left = [whole.get(entry.id, entry) for entry in entries if entry.id not in gone]
        archived = tuple(e for e in left if not _is_baseline(e) and self._score(e) < self._decay.archive_below)
        faded = {entry.id for entry in archived}
        promoted = tuple(
            (entry, priority)
            for entry in left
            if entry.kind == Kind.FACT and entry.id not in faded
            for priority in [_deserved(entry)]
            if priority is not None
        )
        return Plan(merges, archived, promoted)

    def _score(self, entry: Entry) -> float:
        return self._decay.score(entry.kind, entry.reinforcement_count, entry.last_reinforced_at, self._clock())

    async def _merge(self, connection: aiosqlite.Connection, owner_id: int, merge: Merge) -> list[Snapshot]:
        """The others give their names to the one that is kept. An undo begins at the end of what this returns."""
        kept, day = merge.kept, self._clock().astimezone(self._zone)
        before = [await snapshot(connection, entry.id) for entry in (*merge.others, kept)]
        for other in merge.others:
            await connection.execute(
                "UPDATE names SET entry_id = ?, is_alias = 1 WHERE entry_id = ?", (kept.id, other.id)
            )
            name = await free_name_for(connection, owner_id, f"{other.name} merged {day:%Y-%m-%d}")
            await bind_name(connection, owner_id, other.id, name)
            await connection.execute("UPDATE entries SET superseded_by = ? WHERE id = ?", (kept.id, other.id))
        await connection.execute(
            "UPDATE entries SET priority = ?, subject = ?, reinforcement_count = ?, last_reinforced_at = ?,"
            " success_count = ?, failure_count = ? WHERE id = ?",
            (
                kept.priority,
                kept.subject,
                kept.reinforcement_count,
                to_text(kept.last_reinforced_at),
                kept.success_count,
                kept.failure_count,
                kept.id,
            ),
        )
        return before

    async def _archive(self, connection: aiosqlite.Connection, entry: Entry) -> Snapshot:
        before = await snapshot(connection, entry.id)
        await connection.execute("UPDATE entries SET archived_at = ? WHERE id = ?", (now_text(self._clock), entry.id))
        return before

    async def _promote(self, connection: aiosqlite.Connection, entry: Entry, priority: Priority) -> Snapshot:
        before = await snapshot(connection, entry.id)
        await connection.execute("UPDATE entries SET priority = ? WHERE id = ?", (priority, entry.id))
        return before


async def _changed_since(connection: aiosqlite.Connection, seen: Sequence[Row]) -> set[int]:
    """The ids of the rows that are not as they were seen."""
    ids = ", ".join(str(row["id"]) for row in seen)
    now = {row["id"]: tuple(row) for row in await connection.execute_fetchall(f"{ENTRY_ROWS} WHERE e.id IN ({ids})")}
    return {row["id"] for row in seen if now.get(row["id"]) != tuple(row)}


def _first_of(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES_TOLD:,} more" if len(names) > NAMES_TOLD else ""
    return ", ".join(names[:NAMES_TOLD]) + more


def _is_baseline(entry: Entry) -> bool:
    """Whether an entry is a rule of layer A: rules are always kept."""
    return entry.trusted and entry.kind in BASELINE_KINDS and entry.priority in BASELINE_PRIORITIES


def _deserved(entry: Entry) -> Priority | None:
    """The priority that a fact has earned; None where it has that already, or a higher one."""
    for count, priority in RECURRING:
        if entry.reinforcement_count >= count:
            return priority if PRIORITY_RANK[priority] < PRIORITY_RANK[entry.priority] else None
    return None
