"""Consolidation: what happened becomes history, long-term memory and facts (S2).

One queue for the whole process. Nothing that a model writes destroys what was known: what it learned is checked against
what was said, and each new line of a rewritten MEMORY.md is a fact like any other.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from memory.consolidation.consolidation_prompt import raw_fallback
from memory.consolidation.extractor import new_lines
from memory.consolidation.fact_writer import Checked
from memory.consolidation.outcome import Consolidated
from memory.consolidation.parts import Part, halves, may_be_affirmed, parts
from memory.errors import Postponed, StoreError
from memory.facts.fact import Excerpt, Fact
from memory.messages import Role
from memory.store.entry import Kind
from memory.text.same_words import same_words
from memory.text.words import is_small_talk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.clock import Clock
    from memory.consolidation.compression import Compression
    from memory.consolidation.due import DueConversations, Job
    from memory.consolidation.extractor import Extraction, Extractor
    from memory.consolidation.fact_writer import FactWriter
    from memory.consolidation.review import Review
    from memory.facts.checker import FactChecker
    from memory.files.history import HistoryFiles
    from memory.log.sessions import Session
    from memory.messages import Message

log = structlog.get_logger(__name__)

PATIENCE = 4
"""In the background, where nobody waits, the model has this many times as long for each part."""
SUBJECT_WORDS = 4
"""Words of a line that stand for its subject, where a model named none."""


@dataclass(frozen=True, slots=True)
class Steps:
    """What a consolidation goes through: extract facts, check them, write them; compress; look at what waited."""

    extractor: Extractor
    checker: FactChecker
    writer: FactWriter
    compression: Compression
    review: Review


@dataclass(frozen=True, slots=True)
class Patience:
    """timeout: seconds for the model's answer while somebody waits. enabled: whether memory is kept at all."""

    timeout: float
    enabled: bool = True


class ConsolidationService:
    """Consolidates conversations, one at a time, a long one part by part."""

    def __init__(
        self,
        due: DueConversations,
        steps: Steps,
        history: HistoryFiles,
        patience: Patience,
        clock: Clock,
    ) -> None:
        self._due = due
        self._steps = steps
        self._history = history
        self._patience = patience
        self._clock = clock
        self._queue = asyncio.Lock()

    async def mark_current_due(self, session: Session) -> int | None:
        """The current conversation of a session is to be consolidated; its id, None where there is nothing to do."""
        due = await self._due.current(session) if self._patience.enabled else None
        if due is not None:
            await self._due.mark_due(due)
        return due

    async def end_conversation(self, session: Session) -> int:
        """End the current conversation, whose consolidation may go on; its number of messages."""
        return await self._due.end(session)

    async def mark_due(self, conversation_id: int, before_message: int | None = None) -> None:
        """All messages of a conversation, or those before one of them, are to be consolidated; also after a restart."""
        if self._patience.enabled:
            await self._due.mark_due(conversation_id, before_message)

    async def pending(self) -> list[tuple[int, str]]:
        """The conversations with something to consolidate, oldest first, each with its owner."""
        return await self._due.pending()

    async def run(self, conversation_id: int) -> Consolidated | None:
        """Consolidate all that is due of a conversation, with patience; None when nothing is due. Raises Postponed."""
        async with self._queue:
            return await self._run(conversation_id, None)

    async def leave(self, conversation_id: int) -> None:
        """Have what is due of a conversation stand in the history as it was said, and ask no model about it."""
        job = await self._due.job(conversation_id)
        if job is not None:
            key = f"raw conversation {conversation_id} to {job.through}"
            await self._history.append(job.owner, self._clock(), raw_fallback(job.messages), key)
            await self._due.mark_done(conversation_id, job.through)

    async def first_try(self, conversation_id: int) -> Consolidated | None:
        """Consolidate what is due of a conversation, as far as that goes within the timeout.

        When the queue is long, somebody waits for the model or the disk is full (None), no usable answer came
        (`fell_back`) or not all of it was read (`is_left`), the rest is left to `run`.
        """
        deadline = _now() + self._patience.timeout
        try:
            async with asyncio.timeout_at(deadline):
                await self._queue.acquire()
        except TimeoutError:
            log.info("consolidation_left_to_background", conversation=conversation_id)
            return None
        try:
            return await self._run(conversation_id, deadline)
        except Postponed:
            log.info("consolidation_left_to_background", conversation=conversation_id)
            return None
        except (OSError, StoreError):
            # a full disk, say: the conversation ends all the same, and what it said stays due
            log.exception("consolidation_left_to_background", conversation=conversation_id)
            return None
        finally:
            self._queue.release()

    async def _run(self, conversation_id: int, deadline: float | None) -> Consolidated | None:
        """Consolidate a conversation part by part. deadline None: nobody waits, and this is the last try."""
        job = await self._due.job(conversation_id)
        if job is None:
            return None
        reviewed = await self._steps.review.run(job.owner, self._until(deadline))
        done = reviewed if reviewed.learned else None
        continues: int | None = None
        asked_again: set[str] = set()
        extractor = self._steps.extractor
        waiting = deque(parts(job.messages, extractor.contract.part_tokens(), extractor.count))
        while waiting:
            part = waiting.popleft()
            if not _has_substance(part):
                await self._mark(job, part, waiting)
                continue
            memory = await self._steps.writer.page(job.owner)  # read inside the queue
            extraction = await extractor.extract(part, job.owner, memory, self._until(deadline))
            if await self._due.is_gone(conversation_id):
                return None
            if extraction is None:
                if deadline is not None:
                    return await self._give_up_for_now(job, part, done)
                await self._fall_back(job, part, part.messages)
                done = (done or Consolidated()) + Consolidated(len(part.messages), fell_back=True)
                await self._mark(job, part, waiting)
                continue
            # all parts of a conversation are one action, and so one /undo
            written = await self._write(job, part, extraction, self._until(deadline), continues)
            continues = written.changes[0] if written.changes else continues
            done = (done or Consolidated()) + written
            if not extraction.answer.is_whole and deadline is not None:
                return done + Consolidated(is_left=True)
            if not extraction.answer.is_whole and part.key not in asked_again:
                # of what was cut off the halves may be answered for whole
                again = halves(part) if extraction.was_cut else (part,)
                waiting.extendleft(reversed(again))
                asked_again |= {item.key for item in (part, *again)}
                continue
            await self._leave_an_entry(job, part, extraction)
            await self._mark(job, part, waiting)
        await self._due.mark_done(conversation_id, job.through)
        return await self._compressed(job.owner, done, deadline)

    async def _compressed(self, owner: str, done: Consolidated | None, deadline: float | None) -> Consolidated | None:
        """What was done, and MEMORY.md compressed where it is too long now."""
        if done is None:
            return None
        return done + Consolidated(warning=await self._steps.compression.run(owner, self._until(deadline)))

    def _until(self, deadline: float | None) -> float:
        """Until when one step may take, on the loop's clock."""
        return deadline if deadline is not None else _now() + self._patience.timeout * PATIENCE

    async def review(self) -> list[tuple[str, Consolidated]]:
        """Look at what waits for a second look, in the background; what came of it by owner. Raises Postponed."""
        async with self._queue:
            until, review = self._until(None), self._steps.review
            return [(owner, await review.run(owner, until)) for owner in await review.owners()]

    async def _give_up_for_now(self, job: Job, part: Part, done: Consolidated | None) -> Consolidated:
        if done is not None:
            return done + Consolidated(is_left=True)
        await self._fall_back(job, part, job.messages)
        return Consolidated(len(job.messages), fell_back=True, is_left=True)

    async def _fall_back(self, job: Job, part: Part, messages: Sequence[Message]) -> None:
        await self._history.append(job.owner, self._clock(), raw_fallback(messages), f"raw {part.key}")

    async def _leave_an_entry(self, job: Job, part: Part, extraction: Extraction) -> None:
        """An answer can be of use without an entry for the history, and what was said leaves one all the same."""
        if extraction.answer.history_entry is None:
            await self._fall_back(job, part, part.messages)

    async def _mark(self, job: Job, part: Part, waiting: deque[Part]) -> None:
        """A part's result is on disk. A crash before this line repeats it: history and facts know what they have."""
        through = part.through if waiting else job.through
        if through is not None:
            await self._due.mark_done(job.conversation_id, through)

    async def _write(
        self, job: Job, part: Part, extraction: Extraction, deadline: float, continues: int | None
    ) -> Consolidated:
        """Check what a model made of a part, and write what of it holds."""
        answer, writer = extraction.answer, self._steps.writer
        zone = self._steps.extractor.zone_of(job.owner)
        lines = new_lines(extraction.memory, answer.memory_update)
        stated = [line for line in lines if not any(same_words(line, fact.text) for fact in answer.facts)]
        facts = [*answer.facts, *map(_as_fact, stated)]
        memories = await writer.known(job.owner, facts, part, extraction.memory)
        forgetting = await writer.forgetting(job.owner, answer.forget)
        excerpt = Excerpt(part.messages, zone, part.before)
        checked, may_forget = await self._steps.checker.check(facts, excerpt, memories, deadline, forgetting)
        if answer.history_entry is not None:
            stamp = f"[{self._clock().astimezone(zone):%Y-%m-%d %H:%M}]"
            entry = answer.history_entry if answer.history_entry.startswith("[") else f"{stamp} {answer.history_entry}"
            await self._history.append(job.owner, self._clock(), entry, part.key)
        forget = [item for item, is_wanted in zip(answer.forget, may_forget, strict=True) if is_wanted]
        written = await writer.write(job.owner, part, Checked(checked, forget), continues)
        log.info("consolidated", messages=len(part.messages), facts=len(written.learned))
        return written + Consolidated(len(part.messages))


def _as_fact(line: str) -> Fact:
    return Fact(" ".join(line.split()[:SUBJECT_WORDS]), line, Kind.FACT)


def _has_substance(part: Part) -> bool:
    """Whether the user says anything in a part; a mere "yes" says what it says yes to."""
    messages = part.messages
    speaks = any(m.role is Role.USER and not is_small_talk(m.content) for m in messages)
    affirmable = (at for at in range(len(messages)) if may_be_affirmed(messages, at))
    return speaks or any("?" in messages[at].content or "？" in messages[at].content for at in affirmable)


def _now() -> float:
    return asyncio.get_running_loop().time()
