"""What those are told who may not come in: in a queue of their own, so that a crowd of them holds up nobody."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING

import structlog

from bot.telegram.calls import SendFailed
from memory.custody.access import Tally
from memory.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

log = structlog.get_logger(__name__)

MOST_A_MINUTE = 10
"""Sentences for strangers in any minute: what Telegram lets us send is for those who may come in."""
MINUTE = 60.0
MOST_WAITING = 100
"""Strangers who wait to be told something; who comes while it is full is told when they write again."""
PATIENCE = 5.0
"""Seconds that one sentence may take."""


class Strangers:
    """Tells strangers something, each once, and only so many of them a minute."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._told = Tally()
        self._waiting: deque[Callable[[], Awaitable[None]]] = deque()
        self._moments: deque[float] = deque(maxlen=MOST_A_MINUTE)
        self._task: asyncio.Task[None] | None = None

    def tell(self, whom: int, say: Callable[[], Awaitable[None]], times: int = 1) -> bool:
        """Say something to a stranger who was told something less than `times` before; whether it will be said."""
        if len(self._waiting) >= MOST_WAITING or self._told.of(whom) >= times:
            return False
        self._told.add(whom)
        self._waiting.append(say)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work(), name="strangers")
        return True

    def pause(self) -> float:
        """Seconds until the next one may be told."""
        if len(self._moments) < MOST_A_MINUTE:
            return 0
        return max(0.0, self._moments[0] + MINUTE - self._now())

    async def close(self) -> None:
        """End at once."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _work(self) -> None:
        while self._waiting:
            await asyncio.sleep(self.pause())
            self._moments.append(self._now())
            try:
                async with asyncio.timeout(PATIENCE):
                    await self._waiting.popleft()()
            except SendFailed as failure:
                log.info("stranger_not_told", reason=failure.reason)
                await asyncio.sleep(
                    min(failure.pause, MINUTE)
                )  # where Telegram's limit is reached, the owner goes first
            except (StoreError, TimeoutError) as error:
                log.info("stranger_not_told", reason=type(error).__name__)
