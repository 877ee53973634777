"""Consolidation: what happened becomes history, long-term memory and facts (S2).

One queue for the whole process. Nothing a model writes destroys what was known: its update of MEMORY.md is
checked, kept for undo, and given up when a person has edited the file meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from memory.consolidation.consolidation_answer import ConsolidationAnswer, parse_answer
from memory.consolidation.consolidation_prompt import consolidation_prompt, raw_fallback, statements
from memory.consolidation.grounding import (
    grounded_facts,
    grounded_update,
    keeping_lines,
    with_fitting_subjects,
)
from memory.errors import MemoryRefused, Postponed, StoreError
from memory.files.long_term import appending
from memory.ledger.page import format_line
from memory.log.sessions import message_of
from memory.messages import Completion, Message, Provenance, Role, storable, worst
from memory.store.entry import Author, Operation
from memory.text.overlap import says_whole
from memory.text.words import is_small_talk

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from memory.clock import Clock
    from memory.files.history import HistoryFiles
    from memory.learning.facts import FactStore, Learned
    from memory.ledger.change import Change
    from memory.ledger.ledger import Ledger
    from memory.log.sessions import Session, SessionService
    from memory.store.database import Database, Row

log = structlog.get_logger(__name__)

PromptFn = Callable[[str], Awaitable[Completion]]
"""Asks a model and gives its answer. Raises whatever stops it."""

KNOWN_FACTS = 30
"""Current facts that the model is shown, so that it calls a known subject by its name."""
PATIENCE = 4
"""In the background, where nobody waits, the model has this many times as long."""
ASKED_AGAIN = 2
"""How often the model is asked anew because a person edited MEMORY.md during its answer."""
LINES_KEPT = 0.75
"""An update that keeps fewer of the lines, without having been asked to compress, is refused."""


@dataclass(frozen=True, slots=True)
class ConsolidationLimits:
    """max_memory_size: bytes of MEMORY.md above which it is compressed. timeout: seconds for the model's answer."""

    max_memory_size: int
    timeout: float
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Consolidated:
    """What a consolidation did. fell_back: no usable answer came, and the history holds the messages as they were."""

    messages: int
    fell_back: bool
    memory_changed: bool
    learned: tuple[Learned, ...]

    @property
    def summary(self) -> str:
        """What was learned, in one line for the user; empty for nothing."""
        if self.learned:
            parts = [
                f"{one.entry.content} (was: {one.superseded.content})" if one.superseded else one.entry.content
                for one in self.learned
            ]
            return f"Learned: {'; '.join(parts)} (/undo takes it back)"
        return "MEMORY.md was updated (/undo takes it back)." if self.memory_changed else ""


@dataclass(frozen=True, slots=True)
class _Job:
    """What is to be consolidated. through: the id of the last message that is due, be it spoken or not."""

    conversation_id: int
    session_id: str
    owner: str
    messages: list[Message]
    through: int

    @property
    def key(self) -> str:
        """What the history entry of this job is made of."""
        return f"messages {self.messages[0].id}-{self.messages[-1].id}"

    @property
    def provenance(self) -> Provenance:
        """The worst of what the model reads of this job."""
        return worst(message.provenance for message in self.messages)


@dataclass(frozen=True, slots=True)
class _Answered:
    """A usable answer, the MEMORY.md that the model was shown, and what that is to say now; None: nothing new."""

    answer: ConsolidationAnswer
    memory: str
    update: str | None


class ConsolidationService:
    """Consolidates conversations, one at a time."""

    def __init__(
        self,
        database: Database,
        sessions: SessionService,
        ledger: Ledger,
        history: HistoryFiles,
        facts: FactStore,
        prompt: PromptFn,
        limits: ConsolidationLimits,
        clock: Clock,
        zone: ZoneInfo,
    ) -> None:
        self._database = database
        self._sessions = sessions
        self._ledger = ledger
        self._history = history
        self._facts = facts
        self._prompt = prompt
        self._limits = limits
        self._clock = clock
        self._zone = zone
        self._queue = asyncio.Lock()

    async def mark_current_due(self, session: Session) -> int | None:
        """The current conversation of a session is to be consolidated; its id, None where there is nothing to do."""
        transcript = await self._sessions.transcript(session.id)
        due = transcript.conversation_id if self._limits.enabled else None
        if due is not None:
            await self.mark_due(due)
        return due

    async def end_conversation(self, session: Session) -> int:
        """End the current conversation, whose consolidation may go on; its number of messages."""
        return await self._sessions.clear_messages(session.id)

    async def mark_due(self, conversation_id: int, before_message: int | None = None) -> None:
        """All messages of a conversation, or those before one of them, are to be consolidated; also after a restart."""
        if not self._limits.enabled:
            return
        async with self._database.transaction() as connection:
            await connection.execute(
                "UPDATE conversations SET consolidation_due = coalesce((SELECT max(id) FROM messages"
                " WHERE conversation_id = ? AND (? IS NULL OR id < ?)), 0) WHERE id = ?",
                (conversation_id, before_message, before_message, conversation_id),
            )

    async def pending(self) -> list[tuple[int, str]]:
        """The conversations with something to consolidate, oldest first, each with its owner."""
        rows = await self._database.rows(
            "SELECT c.id, o.name FROM conversations c JOIN owners o ON o.id = c.owner_id"
            " WHERE c.consolidation_due > c.consolidated_through ORDER BY c.id"
        )
        return [(row["id"], row["name"]) for row in rows]

    async def run(self, conversation_id: int) -> Consolidated | None:
        """Consolidate what is due of a conversation, with patience; None when nothing is due. Raises Postponed."""
        async with self._queue:
            return await self._run(conversation_id, _now() + self._limits.timeout * PATIENCE, last_try=True)

    async def first_try(self, conversation_id: int) -> Consolidated | None:
        """Consolidate what is due of a conversation within the timeout.

        When the queue is long, somebody waits for the model or the disk is full (None), or no usable answer came
        (`fell_back`), one more try is left to `run`.
        """
        deadline = _now() + self._limits.timeout
        try:
            async with asyncio.timeout_at(deadline):
                await self._queue.acquire()
        except TimeoutError:
            log.info("consolidation_left_to_background", conversation=conversation_id)
            return None
        try:
            return await self._run(conversation_id, deadline, last_try=False)
        except Postponed:
            log.info("consolidation_left_to_background", conversation=conversation_id)
            return None
        except (OSError, StoreError):
            # a full disk, say: the conversation ends all the same, and what it said stays due
            log.exception("consolidation_left_to_background", conversation=conversation_id)
            return None
        finally:
            self._queue.release()

    async def _run(self, conversation_id: int, deadline: float, *, last_try: bool) -> Consolidated | None:
        job = await self._job(conversation_id)
        if job is None:
            return None
        substance = [message for message in job.messages if not is_small_talk(message.content)]
        if not any(message.role is Role.USER for message in substance):
            await self._mark_done(job)
            return None
        found = await self._answered(job, deadline)
        if await self._is_gone(job):
            return None
        if found is None:
            return await self._fall_back(job, last_try=last_try)
        entry = f"{found.answer.history_entry}{job.provenance.mark}"
        await self._history.append(job.owner, self._clock(), entry, job.key)
        learned, memory_changed = await self._write(job, found)
        # last of all: a crash before this line repeats the job, and the history knows its entry by the key
        await self._mark_done(job)
        log.info("consolidated", messages=len(job.messages), facts=len(learned))
        return Consolidated(len(job.messages), fell_back=False, memory_changed=memory_changed, learned=tuple(learned))

    async def _fall_back(self, job: _Job, *, last_try: bool) -> Consolidated:
        await self._history.append(job.owner, self._clock(), raw_fallback(job.messages), f"raw {job.key}")
        if last_try:
            await self._mark_done(job)
        return Consolidated(len(job.messages), fell_back=True, memory_changed=False, learned=())

    async def _answered(self, job: _Job, deadline: float) -> _Answered | None:
        """The model's answer to what MEMORY.md says; asked anew where a person edits that meanwhile. None: unusable."""
        tries = ASKED_AGAIN
        while True:
            memory = await self._ledger.page(job.owner)  # read inside the queue
            answer = await self._ask(job, memory, deadline)
            if answer is None:
                return None
            update = self._update(job, memory, answer)
            if update is None or tries == 0 or await self._ledger.page(job.owner) == memory:
                return _Answered(answer, memory, update)
            log.info("memory_edited_meanwhile", owner=job.owner)
            tries -= 1

    async def _write(self, job: _Job, found: _Answered) -> tuple[list[Learned], bool]:
        """Write the model's update of MEMORY.md and what was learned, as one change; whether MEMORY.md has changed."""
        update = found.update
        stated = statements(job.messages)
        known = {subject: entry.content for subject, entry in await self._facts.current(job.owner, KNOWN_FACTS)}
        facts = with_fitting_subjects(grounded_facts(found.answer.facts, stated), known, stated)
        async with self._ledger.change(job.owner, Operation.LEARN, Author.CONSOLIDATION) as change:
            if update is not None and storable(await change.page()) != found.memory:
                log.warning("memory_update_given_up", owner=job.owner, reason="edited again and again meanwhile")
            elif update is not None:
                await self._edit(change, job.owner, lambda _: update)
            learned = await self._facts.learn_in(change, facts, job.messages[0].id or 0)
            for one in learned:
                await self._note(change, one, found.memory)
            edited = change.has_edited
        return learned, edited and change.is_written

    async def _note(self, change: Change, learned: Learned, memory: str) -> None:
        """Have MEMORY.md say what was learned in one line, and the fact know that, unless it was there before."""
        entry = learned.entry
        page = await change.page()
        stated = [line for line in page.splitlines() if line != entry.line and says_whole(line, entry.content)]
        if stated:
            await change.forget_line(entry)
            # a line that stood there before is not ours
            await change.know_line(entry, next((line for line in stated if line not in memory.splitlines()), None))
        elif entry.line is None or entry.line not in page.splitlines():
            line = format_line(entry.content)
            refusal = self._why_refused(page, appending(line)(page), losing=True)
            if refusal is not None:
                log.warning("memory_update_refused", owner=entry.owner, reason=refusal)
            elif await self._edit(change, entry.owner, appending(line)):
                await change.know_line(entry, line)

    async def _edit(self, change: Change, owner: str, edit: Callable[[str], str]) -> bool:
        try:
            await change.edit_file(edit)
        except MemoryRefused as error:
            log.warning("memory_update_refused", owner=owner, reason=str(error))
            return False
        return True

    async def _ask(self, job: _Job, memory: str, deadline: float) -> ConsolidationAnswer | None:
        limit = self._limits.max_memory_size
        known = await self._facts.current(job.owner, KNOWN_FACTS)
        compress_to = limit if len(memory.encode()) > limit else None
        text = consolidation_prompt(job.messages, memory, known, self._clock(), self._zone, compress_to)
        try:
            async with asyncio.timeout_at(deadline):
                answer = parse_answer((await self._prompt(text)).text)
        except Postponed:
            raise
        except Exception as error:  # noqa: BLE001  # whatever stops the model, the fallback takes its place
            log.warning("consolidation_failed", error=str(error) or type(error).__name__)
            return None
        if answer is None:
            log.warning("consolidation_unusable")
        return answer

    def _update(self, job: _Job, memory: str, answer: ConsolidationAnswer) -> str | None:
        """What MEMORY.md is to say by the model's answer; None where that is what it says, or is refused."""
        if answer.memory_update is None:
            return None
        if job.provenance.is_foreign:
            # it may not be the user who speaks through the model; what the user stated becomes facts all the same
            log.info("memory_update_refused", owner=job.owner, reason="foreign text was in view")
            return None
        said = [m.content for m in job.messages if m.role is Role.USER and m.provenance is Provenance.TYPED]
        update = grounded_update(memory, answer.memory_update, said)
        if update.strip() == memory.strip():
            return None
        refusal = self._why_refused(memory, update)
        if refusal is None and len(memory.encode()) <= self._limits.max_memory_size:
            # nobody asked it to drop any: what it left out without a replacement stays
            update = keeping_lines(memory, update)
            refusal = self._why_refused(memory, update, losing=True)
        if update.strip() == memory.strip():
            return None
        if refusal is not None:
            log.warning("memory_update_refused", owner=job.owner, reason=refusal)
            return None
        return f"{update.strip()}\n"

    def _why_refused(self, memory: str, update: str, *, losing: bool = False) -> str | None:
        limit = self._limits.max_memory_size
        before, after = len(memory.encode()), len(update.strip().encode()) + 1
        compressing = before > limit
        if not update.strip():
            return "it is empty"
        if compressing and after >= before:
            return "it was to be compressed and is not shorter"
        if not compressing and after > limit:
            return f"it would grow to {after} bytes of {limit}"
        if not compressing and not losing and _line_count(update) < LINES_KEPT * _line_count(memory):
            return "it loses more than a quarter of the lines"
        return None

    async def _job(self, conversation_id: int) -> _Job | None:
        about = await self._database.row(
            "SELECT c.session_id, o.name AS owner, c.consolidated_through, c.consolidation_due FROM conversations c"
            " JOIN owners o ON o.id = c.owner_id WHERE c.id = ?",
            (conversation_id,),
        )
        if about is None:
            return None
        rows: list[Row] = await self._database.rows(
            "SELECT * FROM spoken WHERE conversation_id = ? AND id > ? AND id <= ? ORDER BY id",
            (conversation_id, about["consolidated_through"], about["consolidation_due"]),
        )
        messages = [message_of(row) for row in rows]
        return _Job(conversation_id, about["session_id"], about["owner"], messages, about["consolidation_due"])

    async def _is_gone(self, job: _Job) -> bool:
        """Whether the user had everything forgotten while the model answered: then nothing of it is written."""
        return await self._job(job.conversation_id) is None

    async def _mark_done(self, job: _Job) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(
                # all that was due, also what nobody said, such as a tool's result at the end
                "UPDATE conversations SET consolidated_through = max(consolidated_through, ?) WHERE id = ?",
                (job.through, job.conversation_id),
            )


def _line_count(text: str) -> int:
    # each line once: a model that repeats one line has lost the others
    return len({line.strip() for line in text.splitlines() if line.strip()})


def _now() -> float:
    return asyncio.get_running_loop().time()
