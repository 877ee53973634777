"""The weekly consolidation (S4): merges duplicates, promotes recurring facts and archives faded events.

Current states are never archived, only events and entries that have ended or were superseded. Nothing is deleted, and
one undo reverts everything.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from config.texts import N_, _, ngettext, shorten_to_line, strip_full_stop
from memory.clock import Clock
from memory.consolidation.page_view import PageView
from memory.ledger.change import Change
from memory.ledger.ledger import Ledger
from memory.search.activation import BASELINE_KINDS, BASELINE_PRIORITIES
from memory.store.database import Database
from memory.store.decay import MAX_REINFORCEMENTS, Decay
from memory.store.entry import (
    MAX_RECORDED_RUNS,
    PRIORITY_RANK,
    TYPED_KINDS,
    Author,
    Entry,
    Kind,
    Nature,
    Operation,
    Priority,
)
from memory.store.entry_rows import CURRENT, LIVE, find_owner_id, read_entries, sql_list
from memory.store.erasure import IS_KEPT
from memory.text.wording import make_name_key

PROMOTION_COUNTS = ((10, Priority.HIGH), (3, Priority.MEDIUM))
"""Minimum number of reinforcements for each minimum priority of a fact."""
MAX_REPORTED = 3
"""Maximum number of memories that the report quotes for each kind of change."""
MAX_REPORTED_CHARS = 60
"""Maximum number of quoted characters per memory."""

_MERGED = N_("merged as duplicates: {contents}")
_ARCHIVED = N_("archived as faded: {contents}")
_PROMOTED = N_("promoted as recurring: {contents}")
_KINDS = sql_list(TYPED_KINDS)
# Undone changes of the consolidation are not repeated.
_TAKEN_BACK = (
    "SELECT entry_id FROM changes"
    f" WHERE owner_id = ? AND operation = '{Operation.CONSOLIDATE}' AND undone_at IS NOT NULL"
)

_WORD = re.compile(r"[-−]?\d+(?:[.,:]\d+)*|[^\W\d_]+|[+#$€£¥₴₽%°]")
# Ignored words: "The user likes tea" equals "Likes tea".
_FILLERS = frozenset({"a", "an", "the", "user"})


@dataclass(frozen=True, slots=True)
class Merge:
    """Duplicates: the strongest entry, and the others, which give it their names as aliases."""

    kept: Entry  # after the merge: with the counts of all and their highest priority
    others: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    merges: tuple[Merge, ...]
    archived: tuple[Entry, ...]
    promoted: tuple[tuple[Entry, Priority], ...]
    superseded: tuple[Entry, ...] = ()  # archived too, but not reported

    def without(self, changed: Collection[int]) -> Plan:
        """Return the plan without entries that were changed since."""
        return Plan(
            tuple(m for m in self.merges if not any(entry.id in changed for entry in (m.kept, *m.others))),
            tuple(entry for entry in self.archived if entry.id not in changed),
            tuple((entry, priority) for entry, priority in self.promoted if entry.id not in changed),
            tuple(entry for entry in self.superseded if entry.id not in changed),
        )

    @property
    def summary(self) -> str:
        """Return a one-line report in the user's language, or an empty string if nothing was done."""
        parts = [
            _(what, contents=_quote(entries))
            for what, entries in (
                (_MERGED, [merge.kept for merge in self.merges]),
                (_ARCHIVED, self.archived),
                (_PROMOTED, [entry for entry, _priority in self.promoted]),
            )
            if entries
        ]
        if not parts:
            return ""
        return _("Memory tidied; {what}. Nothing was deleted (/undo takes it back).", what="; ".join(parts))


class WeeklyConsolidation:
    def __init__(
        self, database: Database, ledger: Ledger, decay: Decay, clock: Clock, view: PageView | None = None
    ) -> None:
        self._database = database
        self._ledger = ledger
        self._view = view
        self._decay = decay
        self._clock = clock

    async def list_owners(self) -> list[str]:
        rows = await self._database.rows(
            f"SELECT name FROM owners o WHERE EXISTS (SELECT 1 FROM entries e WHERE e.owner_id = o.id AND {LIVE})"
            f" AND {IS_KEPT} ORDER BY id"
        )
        return [row["name"] for row in rows]

    async def run(self, owner: str) -> Plan:
        owner_id = await find_owner_id(self._database.rows, owner)
        # Shared entries don't change.
        unshared = f"e.kind IN ({_KINDS}) AND {LIVE} AND e.shared_at IS NULL"
        where = f"e.owner_id = ? AND {unshared} AND e.id NOT IN ({_TAKEN_BACK}) ORDER BY e.id"
        entries = await read_entries(self._database.rows, where, (owner_id, owner_id))
        # Outside of the transaction and in a thread, since this takes a while for many memories.
        over = await self._find_ended(owner_id)
        plan = await asyncio.to_thread(self._make_plan, entries, over)
        if self._view is None and not (plan.merges or plan.archived or plan.promoted or plan.superseded):
            return plan
        async with self._ledger.change(owner, Operation.CONSOLIDATE, Author.CONSOLIDATION) as change:
            plan = plan.without(await _find_changed(change, (*entries, *over)))
            for merge in plan.merges:
                await change.merge(merge.kept, merge.others)
            gone = (other for merge in plan.merges for other in merge.others if self._is_faded(other))
            for entry in (*plan.archived, *plan.superseded, *gone):
                await change.archive(entry)
            for entry, priority in plan.promoted:
                await change.set_priority(entry, priority)
            if self._view is not None:
                await self._view.choose(change)
        return plan

    async def _find_ended(self, owner_id: int | None) -> list[Entry]:
        """Return the entries that have ended or were superseded and are not archived yet."""
        where = (
            f"e.owner_id = ? AND e.kind IN ({_KINDS}) AND e.unconfirmed IS NULL AND e.archived_at IS NULL"
            f" AND NOT {CURRENT} AND e.shared_at IS NULL AND e.id NOT IN ({_TAKEN_BACK}) ORDER BY e.id"
        )
        return await read_entries(self._database.rows, where, (owner_id, owner_id))

    def _make_plan(self, entries: Sequence[Entry], over: Sequence[Entry] = ()) -> Plan:
        # Strongest first, so that it becomes the entry to keep, also in a second run.
        ranked = sorted(entries, key=lambda entry: (-self._score(entry), entry.id))
        merges = tuple(Merge(_join_duplicates(group), tuple(group[1:])) for group in find_duplicates(ranked))
        gone = {other.id for merge in merges for other in merge.others}
        whole = {merge.kept.id: merge.kept for merge in merges}
        remaining = [whole.get(entry.id, entry) for entry in entries if entry.id not in gone]
        archived = tuple(e for e in remaining if e.nature == Nature.EVENT and not _is_baseline(e) and self._is_faded(e))
        archived += tuple(e for e in over if e.superseded_by is None and self._is_faded(e))
        superseded = tuple(e for e in over if e.superseded_by is not None and self._is_faded(e))
        faded = {entry.id for entry in archived}
        promoted = tuple(
            (entry, priority)
            for entry in remaining
            if entry.kind == Kind.FACT and entry.id not in faded
            for priority in [_choose_priority(entry)]
            if priority is not None
        )
        return Plan(merges, archived, promoted, superseded)

    def _is_faded(self, entry: Entry) -> bool:
        return self._score(entry) < self._decay.archive_below

    def _score(self, entry: Entry) -> float:
        return self._decay.score(entry.kind, entry.reinforcement_count, entry.last_reinforced_at, self._clock())


def find_duplicates(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Return groups of duplicates in the order of the entries. An entry is in at most one group.

    Duplicates have the same kind, scope, trust and words, and don't have different subjects.
    """
    alike: defaultdict[object, list[list[Entry]]] = defaultdict(list)
    for entry in entries:
        # Endings and order matter: "Anna works" and "Anna worked", "Flies to Kyiv from Lviv" and "Flies from Kyiv to
        # Lviv" have different meanings.
        words = tuple(word for word in _WORD.findall(make_name_key(entry.content)) if word not in _FILLERS)
        groups = alike[entry.kind, entry.scope, entry.trusted, words] if words else []
        for group in groups:
            if len({item.subject for item in (*group, entry) if item.subject}) <= 1:
                group.append(entry)
                break
        else:
            groups.append([entry])
    return [group for groups in alike.values() for group in groups if len(group) > 1]


def _join_duplicates(group: Sequence[Entry]) -> Entry:
    """Return the first of several duplicates with the counts, the highest priority and a subject of all."""
    return replace(
        group[0],
        priority=min((entry.priority for entry in group), key=PRIORITY_RANK.__getitem__),
        subject=next((entry.subject for entry in group if entry.subject), None),
        reinforcement_count=min(MAX_REINFORCEMENTS, sum(entry.reinforcement_count for entry in group)),
        last_reinforced_at=max(entry.last_reinforced_at for entry in group),
        success_count=min(MAX_RECORDED_RUNS, sum(entry.success_count for entry in group)),
        failure_count=min(MAX_RECORDED_RUNS, sum(entry.failure_count for entry in group)),
    )


async def _find_changed(change: Change, seen: Sequence[Entry]) -> set[int]:
    now = await read_entries(change.read, f"e.id IN ({', '.join(str(entry.id) for entry in seen)})")
    return {entry.id for entry in {*seen} - {*now}}


def _quote(entries: Sequence[Entry]) -> str:
    """Quote the first entries, shortened, and the number of others."""
    contents = [
        f'"{shorten_to_line(strip_full_stop(entry.content), MAX_REPORTED_CHARS)}"' for entry in entries[:MAX_REPORTED]
    ]
    quoted, more = ", ".join(contents), len(entries) - MAX_REPORTED
    return (
        quoted if more <= 0 else ngettext("{contents} and {n} more", "{contents} and {n} more", more, contents=quoted)
    )


def _is_baseline(entry: Entry) -> bool:
    """Return True if an entry is a rule of layer A, which is never archived."""
    return entry.trusted and entry.kind in BASELINE_KINDS and entry.priority in BASELINE_PRIORITIES


def _choose_priority(entry: Entry) -> Priority | None:
    """Return the priority to which a fact is promoted, or None if it stays."""
    for count, priority in PROMOTION_COUNTS:
        if entry.reinforcement_count >= count:
            return priority if PRIORITY_RANK[priority] < PRIORITY_RANK[entry.priority] else None
    return None
