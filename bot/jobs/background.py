"""Background work: due consolidations."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import structlog

from bot.languages import Languages
from bot.tasks import BackgroundTasks
from config.texts import N_, _, use_language
from config.waiting import Backoff, wait_at_most
from memory.buttons import Notice
from memory.consolidation.consolidation import ConsolidationService
from memory.consolidation.outcome import ConsolidationResult
from memory.errors import Postponed
from memory.log.compaction import CompactionResult
from memory.log.sessions import Session
from memory.runtime.jobs import JobLog
from memory.store.notices import PendingNotices

log = structlog.get_logger(__name__)

ANSWER_SECONDS = 3.0
"""Time that /new waits for a consolidation before it answers and leaves it running in the background."""
_GIVEN_UP = N_("I couldn't learn from an earlier conversation: I crashed on it twice. It can still be searched.")

REVIEW_PAUSE_SECONDS, MAX_REVIEW_PAUSE_SECONDS = 5 * 60.0, 24 * 60 * 60.0
"""Seconds without work before unverified facts are checked again. The pause doubles after each check without a result,
so that an unusable model isn't asked for ever."""

Quiet = Callable[[], Awaitable[None]]
"""Waits until no user is waiting for the model."""


async def return_at_once() -> None:
    """Return at once, for models that handle many requests at a time."""


@dataclass(frozen=True, slots=True)
class EndResult:
    messages: int
    learned: tuple[Notice, ...] = ()
    continues: bool = False  # Whether learning goes on in the background


@dataclass(eq=False)
class BackgroundConsolidation:
    """Consolidates due conversations, including those that an earlier run left unfinished."""

    consolidation: ConsolidationService
    notices: PendingNotices
    languages: Languages
    quiet: Quiet
    jobs: JobLog
    tasks: BackgroundTasks
    _due: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _is_running: bool = field(default=False, init=False)

    def start(self) -> None:
        """Start with conversations that are due already. One-off commands don't call this."""
        self._due.set()
        self._is_running = True
        self.tasks.start(self._run(), "consolidation")

    async def mark_compacted(self, done: CompactionResult) -> None:
        await self.consolidation.mark_due(done.conversation_id, done.first_kept_message_id)
        self._due.set()

    async def end_conversation(self, session: Session) -> EndResult:
        """Consolidate the current conversation of a session and end it.

        The running bot waits ANSWER_SECONDS for the result, then goes on in the background and announces the result
        later. A one-off command waits to the end.
        """
        due = await self.consolidation.mark_current_due(session)
        done, continues = (None, False) if due is None else await self._try_now(due, session.owner)
        messages = await self.consolidation.end_conversation(session)
        learned = done.notices if done is not None and self.notices.tells(session.id) else []
        return EndResult(messages, tuple(learned), continues)

    async def _try_now(self, conversation_id: int, owner: str) -> tuple[ConsolidationResult | None, bool]:
        """Consolidate a conversation that is about to end. Return the result so far, and whether it still runs."""
        work = asyncio.create_task(self.consolidation.try_now(conversation_id), name="first try")
        try:
            await asyncio.wait([work], timeout=ANSWER_SECONDS if self._is_running else None)
        except asyncio.CancelledError:
            work.cancel()
            self._due.set()
            raise
        if not work.done():
            self.tasks.start(self._finish(work, owner), "first try")
            return None, True
        done = work.result()
        if done is None or done.fell_back:
            self._due.set()
        return done, False

    async def _finish(self, work: asyncio.Task[ConsolidationResult | None], owner: str) -> None:
        try:
            done = await work
        except Exception:
            log.exception("background_consolidation_failed", owner=owner)
            done = None
        if done is None or done.fell_back:
            self._due.set()
        await self._announce(owner, done)

    async def _run(self) -> None:
        until_review = Backoff(MAX_REVIEW_PAUSE_SECONDS, REVIEW_PAUSE_SECONDS)
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
        """Check unverified facts again. Return True if anything was learned."""
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

    async def find_pending_ids(self, owner: str) -> frozenset[int]:
        """Return the conversations of an owner that are due, for a one-off command."""
        # Those of other owners may be in progress in a running bot
        return frozenset(
            number for number, owner_name in await self.consolidation.list_pending() if owner_name == owner
        )

    async def run_pending(self, only: frozenset[int] | None = None) -> None:
        """Consolidate all due conversations, or those in `only`."""
        for conversation_id, owner in await self.consolidation.list_pending():
            if only is not None and conversation_id not in only:
                continue
            try:
                await self._announce(owner, await self._run_when_quiet(conversation_id, owner))
            except Exception:
                # It stays due for the next start. Go on with the others
                log.exception("background_consolidation_failed", conversation=conversation_id)

    async def _run_when_quiet(self, conversation_id: int, owner: str) -> ConsolidationResult | None:
        while True:
            await self.quiet()
            try:
                # The attempt is counted before it runs. Otherwise a conversation that crashes the program would be
                # tried again at each start
                async with self.jobs.attempt(f"consolidation {conversation_id}") as is_allowed:
                    if is_allowed:
                        return await self.consolidation.run(conversation_id)
                    await self._give_up(conversation_id, owner)
                    return None
            except Postponed:
                log.debug("consolidation_postponed", conversation=conversation_id)

    async def _give_up(self, conversation_id: int, owner: str) -> None:
        """Give up on a conversation that crashed the program repeatedly, and notify its owner."""
        log.error("consolidation_given_up", conversation=conversation_id)
        await self.consolidation.copy_to_history(conversation_id)
        with use_language(await self.languages.get_for_chat(owner)):
            await self.notices.add(owner, Notice(_(_GIVEN_UP)))

    async def _announce(self, owner: str, done: ConsolidationResult | None) -> None:
        if done is not None:
            # In the language of the owner's chat. A shared memory has none
            with use_language(await self.languages.get_for_chat(owner)):
                await self.notices.add(owner, *done.notices)
