"""Stores the results of a consolidation: facts, their lines in MEMORY.md and deletions, as one change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import structlog

from memory.consolidation.consolidation_answer import ForgetRequest
from memory.consolidation.extractor import list_speakers
from memory.consolidation.outcome import ConsolidationResult
from memory.consolidation.page_view import PageView
from memory.consolidation.parts import Part
from memory.errors import MemoryRefused
from memory.facts.checker import ForgetTarget
from memory.facts.fact import CheckedFact, Fact, KnownMemory
from memory.facts.fact_learner import FactLearner, LearnedMemory
from memory.ledger.change import Change
from memory.ledger.ledger import Ledger
from memory.ledger.page import replacing
from memory.store.entry import Author, Entry, Operation
from memory.text.speaking import is_about_speaker, names_user

log = structlog.get_logger(__name__)


class FactWriter:
    """Stores the facts of a part and keeps MEMORY.md within its limit."""

    def __init__(self, ledger: Ledger, facts: FactLearner, view: PageView) -> None:
        self._ledger = ledger
        self._facts = facts
        self._view = view

    async def read_page(self, owner: str) -> str:
        return await self._ledger.read_page(owner)

    async def find_known(
        self, owner: str, facts: Sequence[Fact], first_message: int, memory: str = ""
    ) -> list[KnownMemory]:
        """Return what facts may replace or repeat: memories, and the lines of MEMORY.md that belong to no memory."""
        if not facts:
            return []
        entries = await self._facts.find_related(owner, facts, first_message)
        written = {known_memory.entry.line for known_memory in entries if known_memory.entry is not None}
        lines = [line for line in memory.splitlines() if line.startswith(("- ", "* ")) and line not in written]
        return [*entries, *(KnownMemory(line) for line in lines)]

    async def find_forget_targets(self, owner: str, forget: Sequence[ForgetRequest]) -> list[ForgetTarget]:
        if not forget:
            return []
        async with self._ledger.change(owner, Operation.LEARN, Author.CONSOLIDATION) as change:
            entries = [await self._entry_to_forget(change, item) for item in forget]
        pairs = zip(entries, forget, strict=True)
        return [ForgetTarget(e.content if e else f.line or f.subject or "", f.citation) for e, f in pairs]

    async def write(
        self,
        owner: str,
        part: Part,
        checked: Sequence[CheckedFact],
        forget: Sequence[ForgetRequest],
        continues: int | None,
    ) -> ConsolidationResult:
        """Store the facts of a part and delete what the user asked to forget."""
        for item in checked:
            if item.is_foreign or item.doubt:
                reason = "only a foreign text says so" if item.is_foreign else item.doubt
                log.info("fact_not_confirmed", kind=item.fact.kind, reason=reason)
        facts = [_set_person(item, part) for item in checked]
        async with self._ledger.change(owner, Operation.LEARN, Author.CONSOLIDATION, continues=continues) as change:
            forgotten = [name for item in forget if (name := await self._forget(change, item)) is not None]
            facts = await self._facts.drop_forgotten(change, facts)
            learned = await self._facts.learn_in(change, facts, part.messages[0].id or 0)
            for outcome in learned:
                await self._write_line(change, outcome)
            await self._drop_lines(change, facts)
            await self._view.fit(change)
        return _create_result(change, learned, forgotten)

    async def settle(self, owner: str, waiting: Sequence[tuple[Entry, CheckedFact]]) -> ConsolidationResult:
        async with self._ledger.change(owner, Operation.LEARN, Author.CONSOLIDATION) as change:
            learned = [await self._facts.settle(change, entry, checked) for entry, checked in waiting]
            for outcome in learned:
                await self._write_line(change, outcome)
            await self._view.fit(change)
        return _create_result(change, learned)

    async def _forget(self, change: Change, forget: ForgetRequest) -> str | None:
        """Delete a fact or a line. Return its text, or None if nothing was found."""
        entry = await self._entry_to_forget(change, forget)
        if entry is not None:
            await change.remove(entry)
            return entry.content
        line = forget.line
        if line is None or line not in (await change.read_page()).splitlines():
            log.info("not_forgotten", reason="nothing is known of it")
            return None
        return line.removeprefix("- ") if await self._edit(change, replacing(f"{line}\n", "")) else None

    @staticmethod
    async def _entry_to_forget(change: Change, forget: ForgetRequest) -> Entry | None:
        if forget.subject is not None and (entry := await change.find_current(forget.subject)) is not None:
            return entry
        return await change.find_by_line(forget.line) if forget.line is not None else None

    async def _write_line(self, change: Change, learned: LearnedMemory) -> None:
        """Write a learned fact into MEMORY.md as one line, unless a person's line says it already."""
        if not learned.in_file:
            await self._view.add(change, learned.entry)

    async def _drop_lines(self, change: Change, facts: Sequence[CheckedFact]) -> None:
        """Delete the lines of people and of their notes that a confirmed fact replaces."""
        for fact in facts:
            for memory in fact.replaces if fact.doubt is None and not fact.is_past else ():
                if memory.entry is not None or memory.text not in (await change.read_page()).splitlines():
                    continue
                note = await change.find_by_line(memory.text)
                if await self._edit(change, replacing(f"{memory.text}\n", "")) and note is not None:
                    await change.end(note)

    async def _edit(self, change: Change, edit: Callable[[str], str]) -> bool:
        try:
            await change.edit_file(edit)
        except MemoryRefused as error:
            log.warning("memory_update_refused", reason=error.loggable)
            return False
        return True


def _create_result(
    change: Change, learned: Sequence[LearnedMemory], forgotten: Sequence[str] = ()
) -> ConsolidationResult:
    return ConsolidationResult(
        memory_changed=change.has_edited and change.is_written,
        learned=tuple(replace(outcome, change=change.number) for outcome in learned),
        forgotten=tuple(forgotten),
        changes=(change.number,) if change.number is not None else (),
    )


def _set_person(checked: CheckedFact, part: Part) -> CheckedFact:
    """Set the person that a fact is about, if several people speak. Facts about things have none."""
    fact = checked.fact
    if not list_speakers(part):
        return replace(checked, fact=replace(fact, person=None))
    speaker = checked.message.speaker if checked.message is not None else None
    if speaker is None or fact.person not in (None, speaker):
        return checked
    words = checked.quote or fact.text
    is_own = is_about_speaker(words) or names_user(fact.text) or speaker.casefold() in fact.text.casefold()
    return replace(checked, fact=replace(fact, person=speaker if is_own else None))
