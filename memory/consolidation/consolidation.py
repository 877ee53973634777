"""Consolidation: conversations become history entries, long-term memory and facts (S2).

There is one queue for the whole process. A model's answer never replaces memory directly: facts are checked against the
conversation, and each new line of a rewritten MEMORY.md is treated as a fact.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import structlog

from memory.clock import Clock
from memory.consolidation.compression import Compression
from memory.consolidation.consolidation_answer import ConsolidationAnswer
from memory.consolidation.extractor import Extractor, format_raw_history
from memory.consolidation.fact_writer import FactWriter
from memory.consolidation.outcome import ConsolidationResult
from memory.consolidation.part_queue import PartQueue
from memory.consolidation.parts import Part, can_be_affirmed, divide_into_parts
from memory.errors import Postponed, StoreError
from memory.facts.checker import FactChecker
from memory.facts.fact import Citation, Doubt, Excerpt, Fact
from memory.files.history import HistoryFiles
from memory.log.quoted import read_messages_around
from memory.log.sessions import Session, SessionService, message_from_row
from memory.messages import Message, Role
from memory.store.database import Database
from memory.store.entry import Entry, Kind
from memory.store.entry_rows import read_entries
from memory.store.erasure import IS_KEPT
from memory.store.forgotten import read_forgotten_words
from memory.text.wording import has_same_words
from memory.text.words import is_small_talk

log = structlog.get_logger(__name__)

BACKGROUND_TIMEOUT_FACTOR = 4
"""In the background the model has this many times the timeout for each part."""
SUBJECT_WORDS = 4
"""Number of words of a line that become its subject if the model has named none."""
MAX_REVIEWED = 12
"""Maximum number of unchecked facts that are reviewed in one request."""

_WAITING = f"e.unconfirmed = '{Doubt.NOT_CHECKED}'"


@dataclass(frozen=True, slots=True)
class Job:
    """The messages to consolidate. `through` is the id of the last message that is due, which may not be spoken."""

    conversation_id: int
    owner: str
    messages: list[Message]
    through: int


@dataclass(eq=False)
class ConsolidationService:
    """Consolidates one conversation at a time, a long one in parts. Pending work survives a restart."""

    database: Database
    sessions: SessionService
    extractor: Extractor
    checker: FactChecker
    writer: FactWriter
    compression: Compression
    history: HistoryFiles
    clock: Clock
    timeout: float  # seconds for the model's answer while the user waits
    enabled: bool = True  # whether there is a memory at all
    _queue: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    # The remains of truncated answers, by conversation.
    _unread: dict[int, PartQueue] = field(default_factory=dict, init=False)

    async def mark_current_due(self, session: Session) -> int | None:
        """Mark the current conversation of a session as due. Return its id, or None if there is nothing to do."""
        due = (await self.sessions.read_transcript(session.id)).conversation_id if self.enabled else None
        if due is not None:
            await self.mark_due(due)
        return due

    async def end_conversation(self, session: Session) -> int:
        return await self.sessions.clear_messages(session.id)

    async def mark_due(self, conversation_id: int, before_message: int | None = None) -> None:
        """Mark the messages of a conversation as due, all of them or those before `before_message`."""
        if self.enabled:
            await self.database.write(
                "UPDATE conversations SET consolidation_due = coalesce((SELECT max(id) FROM messages"
                " WHERE conversation_id = ? AND (? IS NULL OR id < ?)), 0) WHERE id = ?",
                (conversation_id, before_message, before_message, conversation_id),
            )

    async def list_pending(self) -> list[tuple[int, str]]:
        """Return the ids and owners of conversations that are due, oldest first."""
        rows = await self.database.rows(
            "SELECT c.id, o.name FROM conversations c JOIN owners o ON o.id = c.owner_id"
            " WHERE c.consolidation_due > c.consolidated_through ORDER BY c.id"
        )
        return [(row["id"], row["name"]) for row in rows]

    async def run(self, conversation_id: int) -> ConsolidationResult | None:
        """Consolidate a conversation in the background. Return None if nothing is due. Raises Postponed."""
        async with self._queue:
            return await self._run(conversation_id, None)

    async def copy_to_history(self, conversation_id: int) -> None:
        """Copy the due messages of a conversation to the history without asking a model."""
        job = await self._read_job(conversation_id)
        if job is not None:
            await self._write_raw_history(job, job.messages, f"conversation {conversation_id} to {job.through}")
            await self._mark_done(conversation_id, job.through)

    async def try_now(self, conversation_id: int) -> ConsolidationResult | None:
        """Consolidate a conversation within the timeout and leave the rest to `run`.

        Return None if the queue is long, a user needs the model or the disk is full. In the result, `fell_back` is set
        if there was no usable answer, `is_left` if messages remain.
        """
        deadline = _get_loop_time() + self.timeout
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
            # The disk may be full. The conversation ends anyway, and its messages stay due.
            log.exception("consolidation_left_to_background", conversation=conversation_id)
            return None
        finally:
            self._queue.release()

    async def _run(self, conversation_id: int, deadline: float | None) -> ConsolidationResult | None:
        """Consolidate a conversation in parts. Without a deadline, this is the last try."""
        job = await self._read_job(conversation_id)
        if job is None:
            return None
        reviewed = await self._review(job.owner, self._get_step_deadline(deadline))
        done = reviewed if reviewed.learned else None
        continues: int | None = None
        unread = self._unread.setdefault(conversation_id, PartQueue())
        waiting = deque(divide_into_parts(job.messages, self.extractor.contract.part_tokens(), self.extractor.count))
        while waiting:
            part = unread.next_part(waiting)
            if not _has_substance(part):
                await self._mark_part_done(job, part, waiting)
                continue
            memory = await self.writer.read_page(job.owner)  # Read while holding the queue.
            answer = await self.extractor.extract(part, job.owner, memory, self._get_step_deadline(deadline))
            if not await self._still_exists(conversation_id):
                return None
            if answer is None and deadline is not None:
                return await self._give_up_for_now(job, part, done)
            if answer is None:
                await self._write_raw_history(job, part.messages, part.key)
                done = (done or ConsolidationResult()) + ConsolidationResult(len(part.messages), fell_back=True)
                await self._mark_part_done(job, part, waiting)
                continue
            if answer.lacks_facts and not answer.facts and unread.halve(part, waiting):
                continue  # Nothing is stored yet.
            # One /undo takes back all parts of a conversation.
            written = await self._write(
                job, part, unread.new_of(part, answer), memory, self._get_step_deadline(deadline), continues
            )
            continues = written.changes[0] if written.changes else continues
            done = (done or ConsolidationResult()) + written
            if answer.history_entry is None and part.key not in unread.keys_with_history:
                # The answer has no history entry, so the messages themselves become one.
                await self._write_raw_history(job, part.messages, part.key)
            read = unread.queue_rest(part, answer, waiting)
            await self._mark_part_done(job, read, waiting)
            if read is not part and deadline is not None:
                return done + ConsolidationResult(is_left=True)
        await self._mark_done(conversation_id, job.through)
        self._unread.pop(conversation_id, None)
        return await self._compress(job.owner, done, deadline)

    async def _still_exists(self, conversation_id: int) -> bool:
        """Return False if the conversation was forgotten in the meantime."""
        query = f"SELECT 1 FROM conversations c JOIN owners o ON o.id = c.owner_id WHERE c.id = ? AND {IS_KEPT}"
        return await self.database.value(query, (conversation_id,)) is not None

    async def _compress(
        self, owner: str, done: ConsolidationResult | None, deadline: float | None
    ) -> ConsolidationResult | None:
        if done is None:
            return None
        return done + ConsolidationResult(warning=await self.compression.run(owner, self._get_step_deadline(deadline)))

    def _get_step_deadline(self, deadline: float | None) -> float:
        """Return the deadline of one step, on the loop's clock."""
        return deadline if deadline is not None else _get_loop_time() + self.timeout * BACKGROUND_TIMEOUT_FACTOR

    async def _read_job(self, conversation_id: int) -> Job | None:
        about = await self.database.row(
            "SELECT o.name AS owner, c.consolidated_through, c.consolidation_due FROM conversations c"
            " JOIN owners o ON o.id = c.owner_id WHERE c.id = ?",
            (conversation_id,),
        )
        if about is None:
            return None
        rows = await self.database.rows(
            "SELECT * FROM spoken WHERE conversation_id = ? AND id > ? AND id <= ? ORDER BY id",
            (conversation_id, about["consolidated_through"], about["consolidation_due"]),
        )
        forgotten = await read_forgotten_words(self.database.rows, about["owner"])
        messages = [forgotten.mask(message_from_row(row)) for row in rows]
        return Job(conversation_id, about["owner"], messages, about["consolidation_due"])

    async def _give_up_for_now(self, job: Job, part: Part, done: ConsolidationResult | None) -> ConsolidationResult:
        if done is not None:
            return done + ConsolidationResult(is_left=True)
        await self._write_raw_history(job, job.messages, part.key)
        return ConsolidationResult(len(job.messages), fell_back=True, is_left=True)

    async def _write_raw_history(self, job: Job, messages: Sequence[Message], key: str) -> None:
        await self.history.append(job.owner, self.clock(), format_raw_history(messages), f"raw {key}")

    async def _mark_part_done(self, job: Job, part: Part, waiting: deque[Part]) -> None:
        """Record that a part is done. After a crash before this, the part is repeated, which adds nothing twice."""
        through = part.through if waiting else job.through
        if through is not None:
            await self._mark_done(job.conversation_id, through)

    async def _mark_done(self, conversation_id: int, through: int) -> None:
        await self.database.write(
            "UPDATE conversations SET consolidated_through = max(consolidated_through, ?) WHERE id = ?",
            (through, conversation_id),
        )

    async def _write(
        self, job: Job, part: Part, answer: ConsolidationAnswer, memory: str, deadline: float, continues: int | None
    ) -> ConsolidationResult:
        """Check a model's answer about a part and store what is confirmed. `memory` is the MEMORY.md in its prompt."""
        owner, zone = job.owner, self.extractor.zone_of(job.owner)
        lines = _find_new_lines(memory, answer.memory_update)
        stated = [line for line in lines if not any(has_same_words(line, fact.text) for fact in answer.facts)]
        facts = [*answer.facts, *map(_fact_from_line, stated)]
        memories = await self.writer.find_known(owner, facts, part.messages[0].id or 0, memory)
        forgetting = await self.writer.find_forget_targets(owner, answer.forget)
        excerpt = Excerpt(part.messages, zone, part.before)
        checked, may_forget = await self.checker.check(facts, excerpt, memories, deadline, forgetting)
        if answer.history_entry is not None:
            stamp = f"[{self.clock().astimezone(zone):%Y-%m-%d %H:%M}]"
            entry = answer.history_entry if answer.history_entry.startswith("[") else f"{stamp} {answer.history_entry}"
            # Words may have been forgotten while the model was asked.
            forgotten = await read_forgotten_words(self.database.rows, owner)
            entry = forgotten.mask_text(entry, part.messages[-1].created_at)
            await self.history.append(owner, self.clock(), entry, part.key)
        forget = [item for item, is_wanted in zip(answer.forget, may_forget, strict=True) if is_wanted]
        written = await self.writer.write(owner, part, checked, forget, continues)
        log.info("consolidated", messages=len(part.messages), facts=len(written.learned))
        return written + ConsolidationResult(len(part.messages))

    async def review(self) -> list[tuple[str, ConsolidationResult]]:
        """Check unchecked facts in the background and return the results by owner. Raises Postponed."""
        async with self._queue:
            rows = await self.database.rows(
                "SELECT DISTINCT o.name FROM entries e JOIN owners o ON o.id = e.owner_id"
                f" WHERE {_WAITING} AND e.deleted_at IS NULL ORDER BY o.id"
            )
            return [(row["name"], await self._review(row["name"], self._get_step_deadline(None))) for row in rows]

    async def _review(self, owner: str, deadline: float) -> ConsolidationResult:
        """Check an owner's oldest unchecked facts, one conversation after the other."""
        where = f"{_WAITING} AND o.name = ? ORDER BY e.id LIMIT ?"
        waiting = await read_entries(self.database.rows, where, (owner, MAX_REVIEWED))
        done = ConsolidationResult()
        while waiting:
            messages = await read_messages_around(self.database, waiting[0].source_message_id)
            numbers = {message.id for message in messages}
            # Facts from nearby messages are checked together.
            together = [entry for entry in waiting if entry is waiting[0] or entry.source_message_id in numbers]
            waiting = [entry for entry in waiting if entry not in together]
            facts = [_fact_from_entry(entry) for entry in together]
            memories = await self.writer.find_known(owner, facts, messages[0].id or 0) if messages else []
            excerpt = Excerpt(messages, self.extractor.zone_of(owner))
            checked, _ = await self.checker.check(facts, excerpt, memories, deadline)
            pairs = zip(together, checked, strict=True)
            # The others stay unchecked.
            settled = [(entry, fact) for entry, fact in pairs if fact.doubt is not Doubt.NOT_CHECKED]
            if settled:
                done += await self.writer.settle(owner, settled)
        return done


def _find_new_lines(memory: str, update: str | None) -> list[str]:
    """Return the new lines of a rewritten MEMORY.md. Each is a fact without a citation (S2)."""
    existing = {_strip_line(line) for line in memory.splitlines()}
    lines = dict.fromkeys(_strip_line(line) for line in (update or "").splitlines())
    return [line for line in lines if line and line not in existing and not line.startswith("#")]


def _strip_line(line: str) -> str:
    return line.strip().removeprefix("- ").removeprefix("* ").strip()


def _fact_from_line(line: str) -> Fact:
    return Fact(" ".join(line.split()[:SUBJECT_WORDS]), line, Kind.FACT)


def _fact_from_entry(entry: Entry) -> Fact:
    citation = Citation(None, entry.quote) if entry.quote else None
    kind = entry.kind if isinstance(entry.kind, Kind) else Kind.FACT
    return Fact(entry.subject or entry.name, entry.content, kind, citation=citation)


def _has_substance(part: Part) -> bool:
    """Return True if the user says anything in a part. A "yes" to a question counts."""
    messages = part.messages
    speaks = any(m.role is Role.USER and not is_small_talk(m.content) for m in messages)
    affirmable = (at for at in range(len(messages)) if can_be_affirmed(messages, at))
    return speaks or any("?" in messages[at].content or "？" in messages[at].content for at in affirmable)


def _get_loop_time() -> float:
    return asyncio.get_running_loop().time()
