"""Facts: what was learned about a subject. A newer one supersedes the one before, which stays searchable."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import datetime, time
from typing import TYPE_CHECKING

from memory.errors import MemoryRefused
from memory.store.entry import Author, Entry, Kind, NewEntry, Operation
from memory.store.entry_rows import ENTRY_ROWS, entry_of, usable_content, usable_name
from memory.text.naming import name_key, telling_words
from memory.text.said import says_whole, value_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date
    from zoneinfo import ZoneInfo

    from memory.ledger.change import Change
    from memory.ledger.ledger import Ledger
    from memory.store.database import Database

_BEGINNING = 4
_NUMBER = re.compile(r"\d+")
_CURRENT = f"{ENTRY_ROWS} WHERE e.subject IS NOT NULL AND e.superseded_by IS NULL AND e.deleted_at IS NULL"


@dataclass(frozen=True, slots=True)
class Fact:
    """Something learned: what it is about, what is said of it, its kind, and since when."""

    subject: str
    text: str
    kind: Kind
    since: date | None = None


@dataclass(frozen=True, slots=True)
class Learned:
    """A new fact, and what it took the place of. reworded: that was the same, as it was captured in passing."""

    text: str
    superseded: str | None
    reworded: bool = False
    entry: Entry | None = field(default=None, compare=False)


class FactStore:
    """The facts among the entries."""

    def __init__(self, database: Database, ledger: Ledger, zone: ZoneInfo) -> None:
        self._database = database
        self._ledger = ledger
        self._zone = zone

    async def current(self, owner: str, limit: int) -> list[tuple[str, Entry]]:
        """The newest facts that still hold, each with its subject."""
        rows = await self._database.rows(f"{_CURRENT} AND o.name = ? ORDER BY e.id DESC LIMIT ?", (owner, limit))
        return [(entry.subject or "", entry) for entry in map(entry_of, rows)]

    async def learn(self, owner: str, facts: Sequence[Fact], source_message_id: int) -> list[Learned]:
        """Store facts in one change of their own; see `learn_in`."""
        async with self._ledger.change(owner, Operation.LEARN, Author.CONSOLIDATION) as change:
            return await self.learn_in(change, facts, source_message_id)

    async def learn_in(self, change: Change, facts: Sequence[Fact], source_message_id: int) -> list[Learned]:
        """Store facts; what is known already is passed over.

        A fact about a subject of which something else is known supersedes that; where that was captured from these
        very messages, it is the same in other words. Facts that may not be stored (secrets) are left out.
        """
        learned = [await self._learn(change, fact, source_message_id) for fact in facts]
        return [one for one in learned if one is not None]

    async def _learn(self, change: Change, fact: Fact, source_message_id: int) -> Learned | None:
        try:
            subject, content = usable_name(fact.subject), usable_content(fact.text)
        except MemoryRefused:
            return None
        known = await change.read(
            f"{_CURRENT} AND e.owner_id = ? AND e.subject = ?", (change.owner_id, name_key(subject))
        )
        former = entry_of(known[0]) if known else None
        captured = former is not None and _is_captured_since(former, source_message_id)
        if former is not None and captured and says_whole(content, value_of(former.content)):
            content = former.content  # the model says no less, but not more briefly
        if former is not None and name_key(former.content) == name_key(content) and not (captured and fact.since):
            return None
        since = datetime.combine(fact.since, time(), self._zone) if fact.since else None
        if former is not None and captured:
            entry = await change.rewrite(former, content, valid_from=since)
            return Learned(content, former.content, reworded=True, entry=entry)
        new = NewEntry(content, kind=fact.kind, source_message_id=source_message_id, subject=subject, valid_from=since)
        if former is not None:
            return Learned(content, former.content, entry=await change.supersede(former, new))
        same = await _captured_as(change, content, source_message_id)
        entry = await change.add(replace(new, name=await change.free_name(subject)))
        if same is not None:
            await change.supersede_by_known(same, entry)
        return Learned(content, None, entry=entry)


async def _captured_as(change: Change, content: str, message_id: int) -> Entry | None:
    """What was captured from these very messages and is said by a fact: they are one memory, not two."""
    rows = await change.read(
        f"{ENTRY_ROWS} WHERE e.owner_id = ? AND e.author = ? AND e.subject IS NULL AND e.superseded_by IS NULL "
        "AND e.deleted_at IS NULL AND e.source_message_id >= ? ORDER BY e.id DESC",
        (change.owner_id, Author.CAPTURE, message_id),
    )
    said = _beginnings(content)
    return next((entry for entry in map(entry_of, rows) if (own := _beginnings(entry.content)) and own <= said), None)


def _beginnings(text: str) -> set[str]:
    """How the words begin that say what `text` is about: "live" and "lives" alike; and its numbers."""
    return {word[:_BEGINNING] for word in telling_words(text, 100)} | set(_NUMBER.findall(text))


def _is_captured_since(entry: Entry, message_id: int) -> bool:
    return entry.author == Author.CAPTURE and (entry.source_message_id or 0) >= message_id
