"""Messages to strangers, at a limited rate."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Hashable

import structlog

from bot.tasks import BackgroundTasks
from bot.telegram.failures import SendFailed
from memory.access import Tally
from memory.errors import StoreError

log = structlog.get_logger(__name__)

MAX_PER_MINUTE = 10
"""Messages to strangers per minute. The rest of Telegram's rate limit is for users."""
MINUTE_SECONDS = 60.0
MAX_WAITING = 100
"""Maximum number of strangers in the queue. While it is full, others get an answer when they write again."""
SEND_TIMEOUT_SECONDS = 5.0


class Strangers:
    """Sends messages to strangers at a limited rate, by default one to each."""

    def __init__(self, tasks: BackgroundTasks, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._counts = Tally()
        self._waiting: asyncio.Queue[Callable[[], Awaitable[None]]] = asyncio.Queue(MAX_WAITING)
        self._moments: deque[float] = deque(maxlen=MAX_PER_MINUTE)
        tasks.start(self._work(), "strangers")

    def tell(self, key: Hashable, say: Callable[[], Awaitable[None]], max_times: int = 1) -> bool:
        """Queue a message unless `max_times` with its key were queued before. Return True if it will be sent.

        Args:
            key: the stranger, with the circumstances under which another message may be sent.
        """
        if self._waiting.full() or self._counts.get(key) >= max_times:
            return False
        self._counts.add(key)
        self._waiting.put_nowait(say)
        return True

    def pause(self) -> float:
        if len(self._moments) < MAX_PER_MINUTE:
            return 0
        return max(0.0, self._moments[0] + MINUTE_SECONDS - self._now())

    async def _work(self) -> None:
        while True:
            say = await self._waiting.get()
            await asyncio.sleep(self.pause())
            self._moments.append(self._now())
            await self._say(say)

    async def _say(self, say: Callable[[], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(SEND_TIMEOUT_SECONDS):
                await say()
        except SendFailed as failure:
            log.info("stranger_not_told", reason=failure.reason)
            await asyncio.sleep(min(failure.pause, MINUTE_SECONDS))  # At a rate limit, users take precedence
        except (StoreError, TimeoutError) as error:
            log.info("stranger_not_told", reason=type(error).__name__)
        except Exception:
            log.exception("stranger_not_told")
