"""Facts: what was learned about a subject. A newer one supersedes the one before, which stays searchable."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, time
from typing import TYPE_CHECKING

import structlog

from memory.errors import MemoryRefused
from memory.store.entry import Author, Entry, NewEntry, Operation
from memory.store.entry_rows import CURRENT, ENTRY_ROWS, entry_of, usable_content, usable_name
from memory.text.forms import in_common, is_light, roots
from memory.text.naming import name_key
from memory.text.overlap import Overlap, negations, numbers, says_whole, value_of, wording
from memory.text.sounds import sounds_in

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date, tzinfo

    from memory.evidence.weighing import Weighed
    from memory.ledger.change import Change
    from memory.ledger.ledger import Ledger
    from memory.store.database import Database

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Learned:
    """What became of something to be learned. superseded: what it took the place of. known: it was there already.

    change: the number by which that can be taken back, where it is a change of its own.
    """

    entry: Entry
    superseded: Entry | None = None
    known: bool = False
    change: int | None = None


class FactStore:
    """The facts among the entries."""

    def __init__(self, database: Database, ledger: Ledger) -> None:
        self._database = database
        self._ledger = ledger

    async def current(self, owner: str, limit: int) -> list[tuple[str, Entry]]:
        """The newest facts that still hold, each with its subject."""
        rows = await self._database.rows(
            f"{ENTRY_ROWS} WHERE e.subject IS NOT NULL AND {CURRENT} AND e.deleted_at IS NULL AND o.name = ?"
            " ORDER BY e.id DESC LIMIT ?",
            (owner, limit),
        )
        return [(entry.subject or "", entry) for entry in map(entry_of, rows)]

    async def learn(self, owner: str, facts: Sequence[Weighed], source_message_id: int) -> list[Learned]:
        """Store facts in one change of their own; see `learn_in`."""
        async with self._ledger.change(owner, Operation.LEARN, Author.CONSOLIDATION) as change:
            return await self.learn_in(change, facts, source_message_id)

    async def learn_in(self, change: Change, facts: Sequence[Weighed], source_message_id: int) -> list[Learned]:
        """Store facts; what is known already is passed over. source_message_id: the first message they may be from.

        A fact about a subject of which something else was known before supersedes that; where that was captured from
        these very messages, it is the same in other words. What is not confirmed, or past, takes nothing's place.
        Facts that may not be stored (secrets) are left out, and the log says so.
        """
        learned: dict[int, Learned] = {}
        for weighed in facts:
            try:
                one = await _Learning(change, weighed, source_message_id, learned).result()
            except MemoryRefused as refusal:
                log.info("fact_refused", reason=refusal.loggable)
                continue
            if one is not None:
                learned[one.entry.id] = one
        return list(learned.values())


class _Learning:
    """One fact on its way into the store. before: what was learned in the same change."""

    def __init__(self, change: Change, weighed: Weighed, first_message: int, before: dict[int, Learned]) -> None:
        fact = weighed.fact
        self._change = change
        self._weighed = weighed
        self._first_message = first_message
        self._before = before
        self._subject = usable_name(f"{fact.person}: {fact.subject}" if fact.person else fact.subject)
        is_named = not fact.person or sounds_in(fact.person, fact.text)
        self._content = usable_content(fact.text if is_named else f"{fact.person}: {fact.text}")
        self._since = _moment(fact.since, time(), change.moment.tzinfo)
        # a day that is named as the end belongs to what ends
        self._until = _moment(fact.until, time.max, change.moment.tzinfo)

    async def result(self) -> Learned | None:
        """What became of it; None where it was known."""
        former = await self._change.current_of(self._subject)
        if self._weighed.doubt is not None or (self._until is not None and self._until <= self._change.moment):
            return await self._beside(former)
        captured = former is not None and _is_captured_since(former, self._first_message)
        if former is not None and captured and says_whole(self._content, value_of(former.content)):
            self._content = former.content  # the model says no less, but not more briefly
        same = former is not None and wording(former.content) == wording(self._content)
        if same and not (captured and self._since) and not (former and self._until != former.valid_until):
            return None
        if former is not None and (captured or same):
            return Learned(
                await self._change.rewrite(
                    former, self._content, valid_from=self._since, valid_until=self._until, quote=self._weighed.quote
                )
            )
        if former is not None and not self._is_another_of(former):
            return Learned(await self._change.supersede(former, self._new()), superseded=former)
        waiting, noted = await self._waiting(), await self._noted()
        entry = await self._change.confirm(waiting) if waiting is not None else await self._added(former)
        if noted is not None:
            entry = await self._change.supersede_by_known(noted, entry)
        return Learned(entry)

    def _is_another_of(self, former: Entry) -> bool:
        """Whether both are of one answer and say different things of one subject, so that both hold."""
        return former.id in self._before and not Overlap([former.content]).covers(self._content)

    async def _beside(self, former: Entry | None) -> Learned | None:
        """What is doubted or past stands beside what holds, unless it says the same."""
        if former is not None and wording(former.content) == wording(self._content):
            return None
        # what was captured says so for sure
        if await self._waiting() is not None or await self._noted() is not None:
            return None
        return Learned(await self._added(former))

    async def _noted(self) -> Entry | None:
        """What was captured from these very messages and is said by the fact: they are one memory, not two."""
        rows = await self._change.read(
            f"{ENTRY_ROWS} WHERE e.owner_id = ? AND e.author = ? AND e.subject IS NULL AND {CURRENT}"
            " AND e.deleted_at IS NULL AND e.source_message_id >= ? ORDER BY e.id DESC",
            (self._change.owner_id, Author.CAPTURE, self._first_message),
        )
        return next((entry for entry in map(entry_of, rows) if _is_said_by(entry.content, self._content)), None)

    async def _waiting(self) -> Entry | None:
        """The unconfirmed memory that says the same."""
        rows = await self._change.read(
            f"{ENTRY_ROWS} WHERE e.owner_id = ? AND e.subject = ? AND e.unconfirmed IS NOT NULL"
            " AND e.deleted_at IS NULL",
            (self._change.owner_id, name_key(self._subject)),
        )
        return next((e for e in map(entry_of, rows) if wording(e.content) == wording(self._content)), None)

    async def _added(self, former: Entry | None) -> Entry:
        name = await self._change.free_name(self._subject)
        # two facts of one answer about one subject are two: the second is a subject of its own
        subject = name if former is not None and self._is_another_of(former) else self._subject
        return await self._change.add(replace(self._new(), name=name, subject=subject))

    def _new(self) -> NewEntry:
        weighed = self._weighed
        return NewEntry(
            self._content,
            kind=weighed.fact.kind,
            source_message_id=(weighed.message.id if weighed.message else None) or self._first_message,
            subject=self._subject,
            valid_from=self._since,
            valid_until=self._until,
            quote=weighed.quote,
            unconfirmed=weighed.doubt,
        )


def _moment(day: date | None, at: time, zone: tzinfo | None) -> datetime | None:
    return datetime.combine(day, at, zone) if day else None


def _is_said_by(captured: str, fact: str) -> bool:
    """Whether a fact says all that was captured: its words in some form, its numbers, as many negations."""
    # "called" and "named" say no more than each other
    own, said = [root for root in roots(captured) if not is_light(root)], roots(fact)
    same = set(numbers(captured)) <= set(numbers(fact)) and negations(captured) == negations(fact)
    return bool(own) and same and in_common(own, said) == len(own)


def _is_captured_since(entry: Entry, message_id: int) -> bool:
    return entry.author == Author.CAPTURE and (entry.source_message_id or 0) >= message_id
