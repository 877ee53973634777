"""Writes typed memories and workflows (S4): adds new ones, reinforces known ones, supersedes corrected ones.

These come from commands, tools and captures. Facts of a consolidation are written by fact_learner.py.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from config.texts import _
from memory.errors import MemoryRefused
from memory.facts.fact_learner import LearnedMemory
from memory.ledger.change import Change
from memory.ledger.ledger import Ledger
from memory.messages import make_storable
from memory.search.search import Search
from memory.search.types import Filter
from memory.store.database import Database
from memory.store.entry import (
    PRIORITY_RANK,
    TYPED_KINDS,
    Author,
    Details,
    Entry,
    Kind,
    NewEntry,
    Operation,
    Priority,
    get_default_priority,
)
from memory.store.entry_rows import read_entries, validate_content
from memory.store.scope import validate_scope
from memory.text.wording import make_wording_key

MAX_SIMILAR = 10
"""Memories that are compared with the wording of a new one."""
MAX_STEPS = 50
_NUMBERED = re.compile(r"(?:^|\s)\d{1,2}[.)]\s+")
_SEPARATED = re.compile(r"\s*(?:;|\n|→|->)\s*")


class Learning:
    """Learns typed memories, each in one transaction, so that it can be undone as a whole."""

    def __init__(self, database: Database, search: Search, ledger: Ledger) -> None:
        self._database = database
        self._search = search
        self._ledger = ledger

    async def learn(self, owner: str, new: NewEntry, replaces: str | None = None, *others: str) -> LearnedMemory:
        """Write a memory in a separate change.

        If a memory with the same wording exists, it is reinforced instead, unless the new one is unconfirmed. Raises
        MemoryRefused for forbidden content, an invalid scope or an unknown name.

        Args:
            replaces: The name of the memory that it supersedes.
            others: Names of further memories that it supersedes.
        """
        async with self._ledger.change(owner, Operation.LEARN, new.author, trusted=new.trusted) as change:
            learned = await self.learn_in(change, owner, new, replaces)
            for name in others:
                other = await change.find(name)
                if other is not None and other.id != learned.entry.id and await change.is_current(other):
                    await change.supersede_by_known(other, learned.entry)
        return replace(learned, change=change.number)

    async def learn_in(self, change: Change, owner: str, new: NewEntry, replaces: str | None = None) -> LearnedMemory:
        """Write a memory as a part of a change. A refusal doesn't affect the rest of the change."""
        new = replace(new, content=validate_content(new.content), scope=validate_scope(new.scope))
        former = await _find_replaceable(change, replaces) if replaces else None
        # Search within the change, so that concurrent requests don't write the same memory twice.
        entry = await self._find_known(owner, new)
        waiting = await self._find_unconfirmed(owner, new) if entry is None else None
        if new.unconfirmed is not None and (same := entry or waiting) is not None:
            return LearnedMemory(same, known=True)
        if entry is not None:
            return await _reinforce(change, entry, former, new)
        if waiting is not None:
            return await _confirm(change, waiting, former, new)
        if former is None:
            return LearnedMemory(await change.add(new))
        # FACT is the default kind, so the kind of the replaced memory is used instead.
        new = replace(new, kind=former.kind) if new.kind == Kind.FACT else new
        return LearnedMemory(await change.supersede(former, new), superseded=former)

    async def reinforce_known(self, owner: str, content: str, *, notes: bool = False) -> Entry | None:
        """Reinforce and return the memory with this wording, if it exists.

        Args:
            notes: Also look for a note. A note can't stand for a fact or a rule with its wording.
        """
        kinds = (*TYPED_KINDS, Kind.NOTE) if notes else TYPED_KINDS
        entry = next(iter(await self._find_by_wording(owner, content, kinds)), None)
        if entry is None:
            return None
        async with self._ledger.change(owner, Operation.LEARN, Author.USER) as change:
            return await change.reinforce(entry)

    async def _find_known(self, owner: str, new: NewEntry) -> Entry | None:
        return _find_same_kind_and_scope(new, await self._find_by_wording(owner, new.content))

    async def _find_unconfirmed(self, owner: str, new: NewEntry) -> Entry | None:
        saying = await self._find_by_wording(owner, new.content, current=False)
        return _find_same_kind_and_scope(new, [entry for entry in saying if entry.unconfirmed is not None])

    async def _find_by_wording(
        self, owner: str, content: str, kinds: Collection[Kind] = TYPED_KINDS, *, current: bool = True
    ) -> list[Entry]:
        """Return the memories with this wording, including archived ones. `current` excludes past ones."""
        only = Filter(kinds=kinds, archived=None, current=current)
        ids = await self._search.find_scores(content, owner, only, MAX_SIMILAR)
        if not ids:
            return []
        entries = await read_entries(self._database.rows, f"e.id IN ({', '.join(map(str, ids))})")
        return [entry for entry in entries if make_wording_key(entry.content) == make_wording_key(content)]


def _find_same_kind_and_scope(new: NewEntry, entries: Sequence[Entry]) -> Entry | None:
    return next((e for e in entries if e.kind == new.kind and (e.scope or None) == new.scope), None)


async def _confirm(change: Change, waiting: Entry, former: Entry | None, new: NewEntry) -> LearnedMemory:
    """Confirm an unconfirmed entry, with the new wording and quote."""
    entry = await change.confirm(await change.rewrite(waiting, new.content, Details(quote=new.quote)))
    if former is not None and await change.is_current(former):
        entry = await change.supersede_by_known(former, entry)
    return LearnedMemory(entry, superseded=former)


async def _reinforce(change: Change, entry: Entry, former: Entry | None, new: NewEntry) -> LearnedMemory:
    """Reinforce a known entry, and supersede `former` with it."""
    # A higher priority, or the user's own statement of a model's memory, raises its weight.
    values = new.priority or get_default_priority(new.kind)
    priority = min(values, Priority(entry.priority), key=PRIORITY_RANK.__getitem__)
    weightier = priority != entry.priority or (new.trusted and not entry.trusted)
    superseded = former if former is not None and former.id != entry.id else None
    if weightier:
        await change.set_priority(entry, priority, as_told=True)
    if superseded is not None:
        await change.supersede_by_known(superseded, entry)
    return LearnedMemory(await change.reinforce(entry), known=not weightier, superseded=superseded)


async def _find_replaceable(change: Change, name: str) -> Entry:
    former = await change.get(name)
    if former.superseded_by is not None:
        raise MemoryRefused(_("{name} was already replaced: change the newer memory instead.", name=former.name))
    if former.kind not in TYPED_KINDS:
        article = "an" if former.kind[0] in "aeiou" else "a"
        raise MemoryRefused(f"{former.name} is {article} {former.kind}, which no memory replaces: change it instead.")
    return former


class Procedures:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def save(
        self, owner: str, name: str, task: str, steps: Sequence[str], author: Author, *, success: bool | None = None
    ) -> Entry:
        """Write a workflow, or replace its steps and keep its record. Raises MemoryRefused.

        Args:
            success: The result of a run, which is recorded in the same change. None if there was no run.
        """
        plain, content = _clean_steps(steps), format_workflow(task, steps)
        async with self._ledger.change(owner, Operation.LEARN, author) as change:
            holder = await change.find(name)
            if holder is None:
                entry = await change.add(NewEntry(content, name=name, kind=Kind.WORKFLOW, steps=tuple(plain)))
            elif holder.kind != Kind.WORKFLOW:
                raise MemoryRefused(f"The name {name!r} is taken by a {holder.kind}: choose another.")
            else:
                _refuse_superseded(holder)
                entry = await change.renew(await change.rewrite(holder, content, Details(steps=plain)))
            return entry if success is None else await change.record_run(entry, success=success)

    async def record(self, owner: str, name: str, author: Author, *, success: bool) -> Entry:
        """Record a run of a workflow, which also reinforces it. Raises MemoryRefused for an unknown one."""
        async with self._ledger.change(owner, Operation.RECORD, author) as change:
            entry = await change.get(name)
            if entry.kind != Kind.WORKFLOW:
                raise MemoryRefused(f"{entry.name} is a {entry.kind} and no workflow: save its steps first.")
            _refuse_superseded(entry)
            return await change.record_run(entry, success=success)


def split_steps(text: str) -> tuple[str, ...]:
    """Split a text into the steps of a workflow, at numbers, lines, arrows or semicolons."""
    for pattern in (_NUMBERED, _SEPARATED):
        # The text before the first number is the task.
        parts = [" ".join(part.split()) for part in pattern.split(text)]
        steps = [part for part in (parts[1:] if pattern is _NUMBERED else parts) if part]
        if len(steps) > 1:
            return tuple(steps[:MAX_STEPS])
    return (" ".join(text.split()),)


def format_workflow(task: str, steps: Sequence[str]) -> str:
    """Return a workflow as one text. Raises MemoryRefused for too few or too many steps."""
    numbered = " ".join(f"{number}. {step}" for number, step in enumerate(_clean_steps(steps), 1))
    return f"{task.strip()}: {numbered}" if task.strip() else numbered


def _clean_steps(steps: Sequence[str]) -> list[str]:
    plain = [" ".join(make_storable(step).split()) for step in steps if step.strip()]
    if not plain:
        raise MemoryRefused("A workflow needs steps: say what is done, one after the other.")
    if len(plain) > MAX_STEPS:
        raise MemoryRefused(f"A workflow can have at most {MAX_STEPS} steps, and this one has {len(plain)}: split it.")
    return plain


def _refuse_superseded(entry: Entry) -> None:
    if entry.superseded_by is not None:
        raise MemoryRefused(f"{entry.name} was superseded: use the workflow that took its place.")
