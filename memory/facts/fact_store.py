"""Facts: what was learned about a subject. A newer one supersedes what it replaces, which stays searchable."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime, time
from typing import TYPE_CHECKING

import structlog

from config.texts import _, unstopped
from memory.errors import MemoryRefused
from memory.facts.fact import KnownMemory
from memory.search.search import Filter
from memory.store.entry import TYPED_KINDS, Author, Entry, NewEntry, Proposal
from memory.store.entry_rows import CURRENT, entries_where, usable_content, usable_name
from memory.text.naming import name_key
from memory.text.same_words import same_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date, tzinfo

    from memory.facts.fact import CheckedFact, Fact
    from memory.ledger.change import Change
    from memory.search.search import Search
    from memory.store.database import Database

log = structlog.get_logger(__name__)

ALIKE = 5
"""Memories that share words with a fact and are looked at for what it replaces or repeats."""
MOST_KNOWN = 60


@dataclass(frozen=True, slots=True)
class Learned:
    """What became of something to be learned."""

    entry: Entry
    superseded: Entry | None = None  # what it took the place of
    known: bool = False  # it was there already
    change: int | None = None  # /undo takes it back by this number, where it is a change of its own
    in_file: bool = False  # a line of MEMORY.md that a person wrote says so

    @property
    def wording(self) -> str:
        """What is known by it, as part of a sentence, with what it takes the place of."""
        content = unstopped(self.entry.content)
        if self.superseded is None:
            return content
        return _("{content} (was: {former})", content=content, former=unstopped(self.superseded.content))


class FactStore:
    def __init__(self, database: Database, search: Search) -> None:
        self._database = database
        self._search = search

    async def current(self, owner: str, limit: int) -> list[tuple[str, Entry]]:
        """The newest facts that still hold, each with its subject."""
        where = f"e.subject IS NOT NULL AND {CURRENT} AND o.name = ? ORDER BY e.id DESC LIMIT ?"
        entries = await entries_where(self._database.rows, where, (owner, limit))
        return [(entry.subject or "", entry) for entry in entries]

    async def related(self, owner: str, facts: Sequence[Fact], first_message: int) -> list[KnownMemory]:
        """The memories that `facts` may replace or repeat: by subject, words, or captured since `first_message`."""
        only = Filter(kinds=TYPED_KINDS, current=True)
        alike: list[int] = []
        for fact in facts:
            alike += await self._search.scores(f"{fact.subject} {fact.text}", owner, only, ALIKE)
        subjects = [name_key(fact.subject) for fact in facts]
        entries = await entries_where(
            self._database.rows,
            "(e.id IN (SELECT value FROM json_each(?)) OR e.subject IN (SELECT value FROM json_each(?))"
            f" OR (e.author = ? AND e.source_message_id >= ?)) AND {CURRENT} AND o.name = ? ORDER BY e.id DESC LIMIT ?",
            (json.dumps(alike), json.dumps(subjects), Author.CAPTURE, first_message, owner, MOST_KNOWN),
        )
        return [KnownMemory(entry.content, entry.subject, entry) for entry in entries]

    async def learn_in(self, change: Change, facts: Sequence[CheckedFact], first_message: int) -> list[Learned]:
        """Store facts; what is known already is passed over. first_message: the first one that they may be from.

        A fact supersedes what the second look says that it replaces, and takes the place of what was captured from its
        own messages. What is not confirmed, or past, takes nothing's place. Facts that may not be stored (secrets) are
        left out, and the log says so.
        """
        learned: dict[int, Learned] = {}
        for checked in facts:
            if checked.is_foreign:
                continue
            try:
                outcome = await _Learning(change, checked, first_message).result()
            except MemoryRefused as refusal:
                log.info("fact_refused", reason=refusal.loggable)
                continue
            if outcome is not None:
                in_file = any(memory.entry is None for memory in checked.repeats)
                learned[outcome.entry.id] = replace(outcome, in_file=in_file)
        return list(learned.values())

    async def settle(self, change: Change, entry: Entry, checked: CheckedFact) -> Learned:
        """Apply what a look says to an entry that waited for it."""
        if checked.doubt is not None:
            await change.propose(entry, checked.doubt, _proposal(checked))
            return Learned(await change.find(entry.name))
        if checked.is_past:
            await change.end(entry)
        return await _in_place_of(change, await change.confirm(entry), checked)


class _Learning:
    def __init__(self, change: Change, checked: CheckedFact, first_message: int) -> None:
        fact = checked.fact
        self._change = change
        self._checked = checked
        self._first_message = first_message
        self._subject = usable_name(f"{fact.person}: {fact.subject}" if fact.person else fact.subject)
        is_named = not fact.person or fact.person.casefold() in fact.text.casefold()
        self._content = usable_content(fact.text if is_named else f"{fact.person}: {fact.text}")
        self._since = _moment(fact.since, time(), change.moment.tzinfo)
        # a day that is named as the end belongs to what ends
        self._until = _moment(fact.until, time.max, change.moment.tzinfo)
        if checked.is_past and self._until is None:
            self._until = change.moment

    async def result(self) -> Learned | None:
        """What became of it; None where it was known."""
        repeated = await self._holding(self._checked.repeats)
        # what was captured of the same messages is the same memory, in the words that came first
        of_same = [*repeated, *await self._holding(self._checked.replaces)]
        captured = next((item for item in of_same if self._is_captured_here(item)), None)
        if captured is None and await self._is_known():
            return None
        if self._checked.doubt is not None:
            return Learned(await self._change.add(replace(await self._new(), proposal=_proposal(self._checked))))
        # what is over takes nothing's place
        if self._until is not None and self._until <= self._change.moment:
            return Learned(await self._change.add(await self._new()))
        if captured is not None:
            entry = await self._in_place_of_capture(captured)
        elif repeated:
            return None
        elif (waiting := await self._waiting()) is not None:
            entry = await self._change.confirm(waiting)
        else:
            return await self._added()
        return await _in_place_of(self._change, entry, self._checked)

    async def _in_place_of_capture(self, captured: Entry) -> Entry:
        """What was captured, as the fact has it: the same memory, under its subject."""
        subject = await self._free_subject(but=captured)
        entry = await self._change.rewrite(
            captured,
            self._content,
            valid_from=self._since,
            valid_until=self._until,
            quote=self._checked.quote,
            subject=subject,
        )
        if captured.subject is not None or await self._change.holder(subject) is not None:
            return entry
        return await self._change.rename(entry, subject)

    async def _added(self) -> Learned:
        replaced = await self._holding(self._checked.replaces)
        if not replaced:
            return Learned(await self._change.add(await self._new()))
        # the first that it replaces hands its names on, any other only gives way
        former = replaced[0]
        entry = await self._change.supersede(former, replace(await self._new(), name=None, subject=former.subject))
        return replace(await _in_place_of(self._change, entry, self._checked), superseded=former)

    async def _is_known(self) -> bool:
        """Whether the very same is known, or waits to be confirmed already."""
        key = name_key(self._subject)
        same = await self._same("(e.subject = ? OR e.subject LIKE ?) AND e.superseded_by IS NULL", key, f"{key}-%")
        if self._checked.doubt is not None:
            return bool(same)
        return any(entry.unconfirmed is None and (entry.valid_until == self._until) for entry in same)

    async def _waiting(self) -> Entry | None:
        return next(iter(await self._same("e.unconfirmed IS NOT NULL")), None)

    async def _same(self, where: str, *parameters: object) -> list[Entry]:
        change = self._change
        entries = await entries_where(change.read, f"e.owner_id = ? AND {where}", (change.owner_id, *parameters))
        return [entry for entry in entries if same_words(entry.content, self._content)]

    async def _holding(self, memories: Iterable[KnownMemory]) -> list[Entry]:
        """The entries of what is known that still hold as the change leaves them."""
        return [
            memory.entry
            for memory in memories
            if memory.entry is not None and await self._change.is_current(memory.entry)
        ]

    def _is_captured_here(self, entry: Entry) -> bool:
        return entry.author == Author.CAPTURE and (entry.source_message_id or 0) >= self._first_message

    async def _free_subject(self, but: Entry | None = None) -> str:
        """Two facts about one subject that both hold are two: the second has a subject of its own."""
        other = await self._change.current_of(self._subject, but=but.id if but is not None else None)
        return self._subject if other is None else await self._change.free_name(self._subject)

    async def _new(self) -> NewEntry:
        checked = self._checked
        return NewEntry(
            self._content,
            name=await self._change.free_name(self._subject),
            kind=checked.fact.kind,
            source_message_id=(checked.message.id if checked.message else None) or self._first_message,
            subject=self._subject if checked.doubt is not None else await self._free_subject(),
            valid_from=self._since,
            valid_until=self._until,
            quote=checked.quote,
            unconfirmed=checked.doubt,
        )


async def _in_place_of(change: Change, entry: Entry, checked: CheckedFact) -> Learned:
    superseded = None
    for memory in checked.replaces:
        if memory.entry is not None and memory.entry.id != entry.id and await change.is_current(memory.entry):
            entry = await change.supersede_by_known(memory.entry, entry)
            superseded = superseded or memory.entry
    return Learned(entry, superseded=superseded)


def _proposal(checked: CheckedFact) -> str | None:
    """What a person's confirmation of a doubted fact does besides: what it would have replaced gives way then."""
    replaced = tuple(memory.entry.id for memory in checked.replaces if memory.entry is not None)
    return Proposal(replaces=replaced).to_text() if replaced else None


def _moment(day: date | None, at: time, zone: tzinfo | None) -> datetime | None:
    return datetime.combine(day, at, zone) if day else None
