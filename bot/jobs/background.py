"""Work beside the turns: consolidations that are due, vectors of all that has none yet, learning from imports."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import structlog

from config.texts import N_, _, ngettext, use_language
from config.waiting import Backoff, wait_at_most
from memory.buttons import Button, Notice
from memory.errors import MnemeError, Postponed
from memory.imports.learning import request_learning

if TYPE_CHECKING:
    from bot.languages import Languages
    from bot.tasks import BackgroundTasks
    from memory.consolidation.consolidation import ConsolidationService
    from memory.consolidation.outcome import Consolidated
    from memory.imports.learning import ImportLearning
    from memory.log.compaction import Compacted
    from memory.log.sessions import Session
    from memory.search.vectors import Embedded, Embedding
    from memory.service.jobs import JobLog
    from memory.store.database import Database
    from memory.store.notices import PendingNotices

log = structlog.get_logger(__name__)

ANSWER_SECONDS = 3.0
"""How long /new waits for a consolidation before it answers and leaves it to go on by itself."""
_GIVEN_UP = N_("I couldn't learn from an earlier conversation: I crashed on it twice. It can still be searched.")

REVIEW_PAUSE, LONGEST_REVIEW_PAUSE = 5 * 60.0, 24 * 60 * 60.0
"""Seconds without work after which facts that wait for a second look are looked at; twice as many each time that
nothing came of it, so that a model that gives no answer is not asked for ever."""

Quiet = Callable[[], Awaitable[None]]
"""Waits until nobody waits for the model's answer."""

PAUSE = 30.0
"""Seconds after which it is looked for what others, such as the command line, have added."""
FIRST_RETRY, LAST_RETRY = 10.0, 600.0
"""Seconds between tries while the embedder fails, doubled each time."""


async def always_quiet() -> None:
    """The Quiet of a model that answers many at a time."""


@dataclass(frozen=True, slots=True)
class Ended:
    """An ended conversation."""

    messages: int
    learned: tuple[Notice, ...] = ()  # what is to be told of it
    goes_on: bool = False  # what is learned comes later


@dataclass(eq=False)
class BackgroundConsolidation:
    """Consolidates what is due, also what an earlier run left, and what `tasks` ended unfinished."""

    consolidation: ConsolidationService
    notices: PendingNotices
    languages: Languages
    quiet: Quiet
    jobs: JobLog
    tasks: BackgroundTasks
    _due: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _stays: bool = field(default=False, init=False)

    def start(self) -> None:
        """Begin with what is due already. Only programs that stay do this."""
        self._due.set()
        self._stays = True
        self.tasks.start(self._run(), "consolidation")

    async def compacted(self, done: Compacted) -> None:
        await self.consolidation.mark_due(done.conversation_id, done.first_kept_message_id)
        self._due.set()

    async def end_conversation(self, session: Session) -> Ended:
        """Consolidate the current conversation of a session, and end it.

        A program that stays waits ANSWER_SECONDS for what is learned, then lets it go on and has the owner told
        later; one that ends with its answer waits to the end.
        """
        due = await self.consolidation.mark_current_due(session)
        done, goes_on = (None, False) if due is None else await self._first_try(due, session.owner)
        messages = await self.consolidation.end_conversation(session)
        learned = done.notices if done is not None and self.notices.tells(session.id) else []
        return Ended(messages, tuple(learned), goes_on)

    async def _first_try(self, conversation_id: int, owner: str) -> tuple[Consolidated | None, bool]:
        """Consolidate a conversation that is about to end: what came of it in time, and whether it goes on."""
        work = asyncio.create_task(self.consolidation.first_try(conversation_id), name="first try")
        try:
            await asyncio.wait([work], timeout=ANSWER_SECONDS if self._stays else None)
        except asyncio.CancelledError:
            work.cancel()  # it is still due
            self._due.set()
            raise
        if not work.done():
            self.tasks.start(self._finish(work, owner), "first try")
            return None, True
        done = work.result()
        if done is None or done.fell_back:
            self._due.set()
        return done, False

    async def _finish(self, work: asyncio.Task[Consolidated | None], owner: str) -> None:
        try:
            done = await work
        except Exception:
            log.exception("background_consolidation_failed", owner=owner)
            done = None
        if done is None or done.fell_back:
            self._due.set()
        await self._announce(owner, done)

    async def _run(self) -> None:
        until_review = Backoff(LONGEST_REVIEW_PAUSE, REVIEW_PAUSE)
        while True:
            await wait_at_most(self._due, until_review.next())
            try:
                if self._due.is_set():
                    self._due.clear()
                    await self.run_pending()
                    until_review.reset()
                elif await self.review():
                    until_review.reset()
            except Exception:
                log.exception("background_consolidation_failed")

    async def review(self) -> bool:
        """Have the facts looked at that wait for a second look; whether anything came of it."""
        try:
            await self.quiet()
            reviewed = await self.consolidation.review()
        except Postponed:
            return False
        except Exception:
            log.exception("background_review_failed")
            return False
        for owner, done in reviewed:
            await self._announce(owner, done)
        return any(done.learned for _, done in reviewed)

    async def due_of(self, owner: str) -> frozenset[int]:
        """The conversations of an owner with something to consolidate, for a program that ends with its answer."""
        # only this owner's: what is due of others may be in work in a running bot
        return frozenset(number for number, owner_name in await self.consolidation.pending() if owner_name == owner)

    async def run_pending(self, only: frozenset[int] | None = None) -> None:
        """Consolidate everything that is due, or of that `only` these conversations."""
        for conversation_id, owner in await self.consolidation.pending():
            if only is not None and conversation_id not in only:
                continue
            try:
                await self._announce(owner, await self._when_quiet(conversation_id, owner))
            except Exception:
                # it is still due at the next start; the others need not wait for it
                log.exception("background_consolidation_failed", conversation=conversation_id)

    async def _when_quiet(self, conversation_id: int, owner: str) -> Consolidated | None:
        while True:
            await self.quiet()
            try:
                # counted before it runs, so that a conversation that crashes the program is given up, not tried at each
                # start
                async with self.jobs.attempt(f"consolidation {conversation_id}") as may:
                    if may:
                        return await self.consolidation.run(conversation_id)
                    await self._leave(conversation_id, owner)
                    return None
            except Postponed:
                log.debug("consolidation_postponed", conversation=conversation_id)

    async def _leave(self, conversation_id: int, owner: str) -> None:
        """Give a conversation up over which the program was killed again and again, and tell whose it is."""
        log.error("consolidation_given_up", conversation=conversation_id)
        await self.consolidation.leave(conversation_id)
        with use_language(await self.languages.of_chat(owner)):
            await self.notices.add(owner, Notice(_(_GIVEN_UP)))

    async def _announce(self, owner: str, done: Consolidated | None) -> None:
        if done is not None:
            # in the language of the chat that it is the memory of; of a shared one nobody chose any
            with use_language(await self.languages.of_chat(owner)):
                await self.notices.add(owner, *done.notices)


class BackgroundEmbedding:
    """Makes vectors while nobody waits for the model; what fails is tried again, for as long as it takes."""

    def __init__(self, embedding: Embedding, quiet: Quiet, first_retry: float = FIRST_RETRY) -> None:
        self._embedding = embedding
        self._quiet = quiet
        self._backoff = Backoff(LAST_RETRY, first_retry)
        self._due = asyncio.Event()
        self.trouble: str | None = None

    def start(self, tasks: BackgroundTasks) -> None:
        tasks.start(self._run(), "embedding")

    def wake(self) -> None:
        self._due.set()

    async def progress(self, owner: str | None = None) -> Embedded:
        return await self._embedding.progress(owner)

    async def _run(self) -> None:
        while True:
            # before the work: what is added meanwhile wakes it again
            self._due.clear()
            try:
                await self.run_pending()
            except Exception as error:
                log.warning("embedding_postponed", reason=str(error), exc_info=not isinstance(error, MnemeError))
                await self._backoff.wait()
            else:
                self._backoff.reset()
                await wait_at_most(self._due, PAUSE)

    async def run_pending(self) -> None:
        """Make all that are missing. Raises MnemeError where that fails; `trouble` says so till it goes well again."""
        try:
            await self._quiet()
            while await self._embedding.some():
                self.trouble = None
                await self._quiet()
        except MnemeError as error:
            self.trouble = str(error)
            raise


IMPORT_PAUSE = 10 * 60.0
"""Seconds after which it is looked for what the command line has asked for, and for the tokens of a new day."""


@dataclass(eq=False)
class BackgroundImportLearning:
    """Learns from what was asked for. quiet: waits until nobody waits for the model's answer."""

    learning: ImportLearning
    database: Database
    notices: PendingNotices
    languages: Languages
    quiet: Callable[[], Awaitable[None]]
    _requested: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def start(self, tasks: BackgroundTasks) -> None:
        self._requested.set()
        tasks.start(self._run(), "learning from imports")

    async def request(self, owner: str) -> int:
        """Have the newest imported conversations of an owner learned from; how many those are."""
        count = await request_learning(self.database, owner)
        self._requested.set()
        return count

    async def _run(self) -> None:
        while True:
            await wait_at_most(self._requested, IMPORT_PAUSE)
            self._requested.clear()
            try:
                await self.run_requested()
            except Exception:
                log.exception("learning_from_imports_failed")

    async def run_requested(self) -> None:
        """Learn from all that was asked for, as far as today's tokens go."""
        learned: Counter[str] = Counter()
        try:
            while True:
                await self.quiet()
                try:
                    done = await self.learning.step()
                except Postponed:
                    continue
                if done is None:
                    return
                learned[done.owner] += done.memories
        finally:
            # also where a later step failed: what was learned waits for the owner's word
            for owner, count in learned.items():
                if count:
                    with use_language(await self.languages.of_chat(owner)):
                        await self.notices.add(owner, _notice(count))


def _notice(count: int) -> Notice:
    text = ngettext(
        "I learned {n} memory from your imported conversations. It is not used before you confirm it.",
        "I learned {n} memories from your imported conversations. They are not used before you confirm them.",
        count,
    )
    return Notice(
        text, ((Button(_("Show them"), "/memory unsure"), Button(_("Confirm them all"), "/confirm imported")),)
    )
