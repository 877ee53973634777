"""Facts: what was learned about a subject. A newer one supersedes the one before, which stays searchable."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time
from typing import TYPE_CHECKING

from memory.clock import Clock, now_text, to_text
from memory.errors import MemoryRefused
from memory.store.changes import ChangeLog, Snapshot, snapshot
from memory.store.entry import Author, Entry, NewEntry, Operation
from memory.store.entry_rows import (
    ENTRY_ROWS,
    entry_of,
    free_name_for,
    insert_entry,
    owner_number,
    usable_content,
    usable_name,
)
from memory.store.superseding import supersede
from memory.text.naming import name_key
from memory.text.said import Said, value_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from zoneinfo import ZoneInfo

    import aiosqlite

    from memory.consolidation.consolidation_answer import Fact
    from memory.store.database import Database

_CURRENT = (
    f"{ENTRY_ROWS} WHERE e.owner_id = ? AND e.subject IS NOT NULL AND e.superseded_by IS NULL AND e.deleted_at IS NULL"
)


@dataclass(frozen=True, slots=True)
class Learned:
    """A new fact, and what it took the place of. reworded: that was the same, as it was captured in passing."""

    text: str
    superseded: str | None
    reworded: bool = False


class FactStore:
    """The facts among the entries."""

    def __init__(self, database: Database, changes: ChangeLog, clock: Clock, zone: ZoneInfo) -> None:
        self._database = database
        self._changes = changes
        self._clock = clock
        self._zone = zone

    async def current(self, owner: str, limit: int) -> list[tuple[str, Entry]]:
        """The newest facts that still hold, each with its subject."""
        async with self._database.transaction() as connection:
            owner_id = await owner_number(connection, owner)
        rows = await self._database.rows(f"{_CURRENT} ORDER BY e.id DESC LIMIT ?", (owner_id, limit))
        return [(entry.subject or "", entry) for entry in map(entry_of, rows)]

    async def learn(self, owner: str, facts: Sequence[Fact], source_message_id: int) -> list[Learned]:
        """Store facts in one transaction that one undo takes back; what is known already is passed over.

        A fact about a subject of which something else is known supersedes that; where that was captured from these
        very messages, it is the same in other words. Facts that may not be stored (secrets) are left out.
        """
        learned: list[Learned] = []
        before: list[Snapshot] = []
        async with self._database.transaction() as connection:
            owner_id = await owner_number(connection, owner)
            for fact in facts:
                one = await self._learn(connection, owner_id, fact, source_message_id, before)
                if one is not None:
                    learned.append(one)
            if before:
                await self._changes.record(connection, owner_id, Operation.LEARN, Author.CONSOLIDATION, before)
        return learned

    async def _learn(
        self,
        connection: aiosqlite.Connection,
        owner_id: int,
        fact: Fact,
        source_message_id: int,
        before: list[Snapshot],
    ) -> Learned | None:
        try:
            subject, content = usable_name(fact.subject), usable_content(fact.text)
        except MemoryRefused:
            return None
        rows = list(await connection.execute_fetchall(f"{_CURRENT} AND e.subject = ?", (owner_id, name_key(subject))))
        former = entry_of(rows[0]) if rows else None
        captured = former is not None and _is_captured_since(former, source_message_id)
        if former is not None and captured and Said([content]).covers(value_of(former.content), share=1):
            content = former.content  # the model says no less, but not more briefly
        is_known = former is not None and name_key(former.content) == name_key(content)
        if is_known and not (captured and fact.since):
            return None
        since = datetime.combine(fact.since, time(), self._zone) if fact.since else None
        new = NewEntry(
            content,
            kind=fact.kind,
            author=Author.CONSOLIDATION,
            source_message_id=source_message_id,
            subject=subject,
            valid_from=since,
        )
        now = now_text(self._clock)
        if former is not None and captured:
            before.append(await _reword(connection, former, new))
            return Learned(content, former.content, reworded=True)
        if former is not None:
            before += await supersede(connection, owner_id, former, new, now, self._zone)
        else:
            name = await free_name_for(connection, owner_id, subject)
            before.append(Snapshot(await insert_entry(connection, owner_id, name, content, new, now), None))
        return Learned(content, former.content if former else None)


def _is_captured_since(entry: Entry, message_id: int) -> bool:
    return entry.author == Author.CAPTURE and (entry.source_message_id or 0) >= message_id


async def _reword(connection: aiosqlite.Connection, entry: Entry, new: NewEntry) -> Snapshot:
    """Say in an entry what `new` says; what it was before."""
    before = await snapshot(connection, entry.id)
    valid_from = to_text(new.valid_from or entry.valid_from)
    await connection.execute(
        "UPDATE entries SET content = ?, author = ?, valid_from = ? WHERE id = ?",
        (new.content, new.author, valid_from, entry.id),
    )
    return before
