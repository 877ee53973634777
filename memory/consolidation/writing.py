"""What a consolidation writes: facts, their lines in MEMORY.md and what is to be forgotten, as one change."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from memory.consolidation.consolidation_prompt import speakers
from memory.consolidation.memory_update import believed, keeping_lines, why_refused
from memory.consolidation.outcome import Consolidated
from memory.consolidation.subjects import with_fitting_subjects, with_persons
from memory.consolidation.transcript import typed
from memory.errors import MemoryRefused
from memory.evidence.citation import Standing, source_of
from memory.files.long_term import appending, replacing
from memory.ledger.page import format_line
from memory.messages import storable, worst
from memory.store.entry import Author, Operation
from memory.text.overlap import says_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory.consolidation.consolidation_answer import ConsolidationAnswer, Forget
    from memory.consolidation.parts import Part
    from memory.evidence.weighing import Weighed
    from memory.learning.facts import FactStore, Learned
    from memory.ledger.change import Change
    from memory.ledger.ledger import Ledger
    from memory.store.entry import Entry

log = structlog.get_logger(__name__)


class Writing:
    """Writes what was learned of a part. max_memory_size: bytes that MEMORY.md may have."""

    def __init__(self, ledger: Ledger, facts: FactStore, max_memory_size: int) -> None:
        self._ledger = ledger
        self._facts = facts
        self._limit = max_memory_size

    async def page(self, owner: str) -> str:
        """The text of MEMORY.md as it stands now."""
        return await self._ledger.page(owner)

    def compress_to(self, memory: str) -> int | None:
        """The bytes that MEMORY.md is to be compressed to; None while it is short enough."""
        return self._limit if len(memory.encode()) > self._limit else None

    async def write(
        self, owner: str, part: Part, answer: ConsolidationAnswer, weighed: Sequence[Weighed], memory: str
    ) -> Consolidated:
        """Write a part's answer, with the verdicts on its facts. memory: MEMORY.md as the model was shown it."""
        update = self._update(owner, part, memory, answer.memory_update)
        known = {subject: entry.content for subject, entry in await self._facts.current(owner, len(answer.facts) + 30)}
        kept = [one for one in weighed if one.refusal is None]
        for one in weighed:
            if one.refusal or one.doubt:
                log.info("fact_not_confirmed", kind=one.fact.kind, reason=one.refusal or one.doubt)
        kept = with_persons(kept, speakers(part))
        async with self._ledger.change(owner, Operation.LEARN, Author.CONSOLIDATION) as change:
            if update is not None and storable(await change.page()) != memory:
                log.warning("memory_update_given_up", owner=owner, reason="edited again and again meanwhile")
            elif update is not None:
                await self._edit(change, lambda _: update)
            forgotten = [name for one in answer.forget if (name := await self._forget(change, one, part)) is not None]
            first = part.messages[0].id or 0
            learned = await self._facts.learn_in(change, with_fitting_subjects(kept, known, part.messages), first)
            for fact in learned:
                await self._note(change, fact, memory)
            edited = change.has_edited
        return Consolidated(
            memory_changed=edited and change.is_written,
            learned=tuple(replace(one, change=change.number) for one in learned),
            forgotten=tuple(forgotten),
            changes=(change.number,) if change.number is not None else (),
        )

    def _update(self, owner: str, part: Part, memory: str, update: str | None) -> str | None:
        """What MEMORY.md is to say by the model's answer; None where that is what it says, or is refused."""
        if update is None:
            return None
        if worst(message.provenance for message in part.messages).is_foreign:
            # it may not be the user who speaks through the model; what the user stated becomes facts all the same
            log.info("memory_update_refused", owner=owner, reason="foreign text was in view")
            return None
        update = believed(memory, update, [message.content for message in typed(part.messages)])
        if update.strip() == memory.strip():
            return None
        refusal = why_refused(memory, update, self._limit)
        if refusal is None and self.compress_to(memory) is None:
            # nobody asked it to drop any: what it left out without a replacement stays
            update = keeping_lines(memory, update)
            refusal = why_refused(memory, update, self._limit, losing=True)
        if refusal is not None:
            log.warning("memory_update_refused", owner=owner, reason=refusal)
            return None
        return f"{update.strip()}\n" if update.strip() != memory.strip() else None

    async def _forget(self, change: Change, forget: Forget, part: Part) -> str | None:
        """Have a fact or a line go that the user no longer wants or has; what went, None where it may not."""
        if source_of(forget.citation, part.messages).standing is not Standing.BORNE_OUT:
            log.info("not_forgotten", reason="the user did not say so")
            return None
        entry = await self._meant(change, forget)
        if entry is not None:
            await change.remove(entry)
            return entry.content
        line = forget.line
        if line is None or line not in (await change.page()).splitlines():
            log.info("not_forgotten", reason="nothing is known of it")
            return None
        return line.removeprefix("- ") if await self._edit(change, replacing(f"{line}\n", "")) else None

    @staticmethod
    async def _meant(change: Change, forget: Forget) -> Entry | None:
        if forget.subject is not None and (entry := await change.current_of(forget.subject)) is not None:
            return entry
        return await change.with_line(forget.line) if forget.line is not None else None

    async def _note(self, change: Change, learned: Learned, memory: str) -> None:
        """Have MEMORY.md say what was learned in one line, and the fact know that, unless it was there before."""
        entry = learned.entry
        if entry.unconfirmed is not None or not await change.is_current(entry):
            return
        page = await change.page()
        stated = [line for line in page.splitlines() if line != entry.line and says_whole(line, entry.content)]
        if stated:
            await change.forget_line(entry)
            # a line that stood there before is not ours
            await change.know_line(entry, next((line for line in stated if line not in memory.splitlines()), None))
        elif entry.line is None or entry.line not in page.splitlines():
            line = format_line(entry.content)
            refusal = why_refused(page, appending(line)(page), self._limit, losing=True)
            if refusal is not None:
                log.warning("memory_update_refused", owner=entry.owner, reason=refusal)
            elif await self._edit(change, appending(line)):
                await change.know_line(entry, line)

    async def _edit(self, change: Change, edit: Callable[[str], str]) -> bool:
        try:
            await change.edit_file(edit)
        except MemoryRefused as error:
            log.warning("memory_update_refused", reason=error.loggable)
            return False
        return True
