"""Consolidation: what happened becomes history, long-term memory and facts (S2).

One queue for the whole process. Nothing a model writes destroys what was known: what it learned is held against what
was said, its update of MEMORY.md is checked, kept for undo, and given up when a person has edited the file meanwhile.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from memory.consolidation.consolidation_prompt import raw_fallback
from memory.consolidation.outcome import Consolidated
from memory.consolidation.parts import Part, halves, parts
from memory.consolidation.second_look import look_again
from memory.errors import Postponed, StoreError
from memory.evidence.citation import is_affirmed
from memory.evidence.weighing import Hearing
from memory.messages import Role, worst
from memory.text.words import is_small_talk

if TYPE_CHECKING:
    from memory.clock import Clock
    from memory.consolidation.asking import Asking, Reading
    from memory.consolidation.due import DueConversations, Job
    from memory.consolidation.writing import Writing
    from memory.files.history import HistoryFiles
    from memory.log.sessions import Session

log = structlog.get_logger(__name__)

PATIENCE = 4
"""In the background, where nobody waits, the model has this many times as long for each part."""
ASKED_AGAIN = 2
"""How often the model is asked anew because a person edited MEMORY.md during its answer."""


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
        asking: Asking,
        writing: Writing,
        history: HistoryFiles,
        patience: Patience,
        clock: Clock,
    ) -> None:
        self._due = due
        self._asking = asking
        self._writing = writing
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
        done: Consolidated | None = None
        asked_again: set[str] = set()
        waiting = deque(parts(job.messages, self._asking.contract.part_tokens(), self._asking.count))
        while waiting:
            part = waiting.popleft()
            if not _has_substance(part):
                await self._mark(job, part, waiting)
                continue
            until = deadline if deadline is not None else _now() + self._patience.timeout * PATIENCE
            reading = await self._read(job, part, until)
            if await self._due.is_gone(conversation_id):
                return None
            if reading is None:
                if deadline is not None:
                    return await self._give_up_for_now(job, part, done)
                await self._history.append(job.owner, self._clock(), raw_fallback(part.messages), f"raw {part.key}")
                done = (done or Consolidated()) + Consolidated(len(part.messages), fell_back=True)
            else:
                done = (done or Consolidated()) + await self._write(job, part, reading, until)
                if not reading.answer.is_whole:
                    if deadline is not None:
                        return done + Consolidated(is_left=True)
                    if part.key not in asked_again:
                        # of what was cut off the halves may be answered for whole
                        again = halves(part) if reading.was_cut else (part,)
                        waiting.extendleft(reversed(again))
                        asked_again |= {one.key for one in (part, *again)}
                        continue
            await self._mark(job, part, waiting)
        await self._due.mark_done(conversation_id, job.through)
        return done

    async def _give_up_for_now(self, job: Job, part: Part, done: Consolidated | None) -> Consolidated:
        if done is not None:
            return done + Consolidated(is_left=True)
        await self._history.append(job.owner, self._clock(), raw_fallback(job.messages), f"raw {part.key}")
        return Consolidated(len(job.messages), fell_back=True, is_left=True)

    async def _mark(self, job: Job, part: Part, waiting: deque[Part]) -> None:
        """A part's result is on disk. A crash before this line repeats it: history and facts know what they have."""
        through = part.through if waiting else job.through
        if through is not None:
            await self._due.mark_done(job.conversation_id, through)

    async def _read(self, job: Job, part: Part, deadline: float) -> Reading | None:
        """What the model makes of a part; asked anew where a person edits MEMORY.md meanwhile. None: unusable."""
        for _ in range(1 + ASKED_AGAIN):
            memory = await self._writing.page(job.owner)  # read inside the queue
            reading = await self._asking.read(part, job.owner, memory, self._writing.compress_to(memory), deadline)
            if reading is None or reading.answer.memory_update is None:
                break
            if await self._writing.page(job.owner) == memory:
                break
            log.info("memory_edited_meanwhile", owner=job.owner)
        return reading

    async def _write(self, job: Job, part: Part, reading: Reading, deadline: float) -> Consolidated:
        answer = reading.answer
        known = (*reading.memory.splitlines(), *reading.known)
        zone = self._asking.zone_of(job.owner)
        hearing = Hearing(part.messages, known, zone, part.before)
        # off the loop: each word is held against each of a long conversation
        weighed = await asyncio.to_thread(lambda: [hearing.weigh(fact) for fact in answer.facts])
        if self._asking.contract.second_look:
            weighed = await look_again(weighed, hearing, self._asking.prompt, deadline)
        if answer.history_entry is not None:
            stamp = f"[{self._clock().astimezone(zone):%Y-%m-%d %H:%M}]"
            entry = answer.history_entry if answer.history_entry.startswith("[") else f"{stamp} {answer.history_entry}"
            mark = worst(message.provenance for message in part.messages).mark
            await self._history.append(job.owner, self._clock(), f"{entry}{mark}", part.key)
        written = await self._writing.write(job.owner, part, answer, weighed, reading.memory)
        log.info("consolidated", messages=len(part.messages), facts=len(written.learned))
        return written + Consolidated(len(part.messages))


def _has_substance(part: Part) -> bool:
    """Whether the user says anything in a part; a mere "yes" says what it says yes to."""
    messages = part.messages
    spoken = any(m.role is Role.USER and not is_small_talk(m.content) for m in messages)
    return spoken or any(is_affirmed(messages, at) for at in range(len(messages)))


def _now() -> float:
    return asyncio.get_running_loop().time()
