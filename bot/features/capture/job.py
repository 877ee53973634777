"""CaptureJudging (45): judges captured facts in the background, one message after the other."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

import structlog

from bot.features.capture.review import CaptureReview, MessageCaptures
from bot.jobs.background import Quiet
from bot.languages import Languages
from bot.tasks import BackgroundTasks
from config.texts import use_language
from config.waiting import Backoff
from memory.errors import Postponed
from memory.store.notices import PendingNotices
from pipeline.turn import Turn

log = structlog.get_logger(__name__)

MAX_WAITING = 200
"""Maximum queue length. Older messages are left to the consolidation of their conversations."""
FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 10 * 60.0, 24 * 60 * 60.0


@dataclass(eq=False)
class CaptureJudging:
    """Judges facts captured in answered turns, and adds a notice to the next answer."""

    name = "CaptureJudging"

    review: CaptureReview
    notices: PendingNotices
    languages: Languages
    quiet: Quiet
    tasks: BackgroundTasks
    _collected: dict[str, list[MessageCaptures]] = field(default_factory=dict, init=False)  # By turn
    _waiting: deque[tuple[MessageCaptures, int | None]] = field(
        default_factory=lambda: deque(maxlen=MAX_WAITING), init=False
    )
    _work: asyncio.Task[None] | None = field(default=None, init=False)

    def start(self, tasks: BackgroundTasks) -> None:
        """Start with the corrections that an earlier run left. One-off commands don't call this."""
        tasks.start(self._retry(), "corrections")

    def collect(self, turn: Turn, captures: MessageCaptures) -> None:
        """Collect the captures of a message. They are dropped if the turn ends without an answer."""
        if turn.id not in self._collected:
            self._collected[turn.id] = []
            turn.resources.callback(self._collected.pop, turn.id)
        self._collected[turn.id].append(captures)

    async def process(self, turn: Turn) -> None:
        for captures in self._collected.get(turn.id, ()):
            if turn.committed_as is not None:
                self._add(captures, turn.committed_as)

    def _add(self, captures: MessageCaptures, turn_id: int) -> None:
        if captures.is_empty:
            return
        self._waiting.append((captures, turn_id))
        self._begin()

    async def wait_until_idle(self) -> None:
        while self._work is not None and not self._work.done():
            await asyncio.wait([self._work])

    def _begin(self) -> None:
        if self._work is None or self._work.done():
            self._work = self.tasks.start(self._run(), "captures")

    async def _run(self) -> None:
        while self._waiting:
            captures, turn_id = self._waiting.popleft()
            try:
                await self._judge(captures, turn_id)
            except Exception:
                log.exception("capture_not_judged")

    async def _judge(self, captures: MessageCaptures, turn_id: int | None) -> None:
        while True:
            await self.quiet()
            try:
                with use_language(await self.languages.get_for_chat(captures.owner)):
                    notices = await self.review.judge(captures, turn_id)
                    await self.notices.add(captures.owner, *notices)
            except Postponed:
                continue
            return

    async def _retry(self) -> None:
        pause = Backoff(LAST_RETRY_SECONDS, FIRST_RETRY_SECONDS)
        while True:
            try:
                waiting = await self.review.list_pending()
                self._waiting.extend((captures, None) for captures in waiting[:MAX_WAITING])
                if waiting:
                    self._begin()
                else:
                    pause.reset()
            except Exception:
                log.exception("corrections_not_read")
            await pause.wait()
