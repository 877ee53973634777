"""Tasks that go on beside the rest: begun, repeated, paused after failures, and ended together."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

log = structlog.get_logger(__name__)

LONGEST_PAUSE = 10.0
"""Seconds at most between two tries of what fails: whoever writes after an outage is not to wait for a minute."""


class BackgroundTasks:
    """Tasks that are ended together. What one of them raises is logged, and ends nothing else."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[object, object, None], name: str) -> asyncio.Task[None]:
        """Begin `work`; `name` is what the log calls it."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def every(self, seconds: float, work: Callable[[], Awaitable[object]], name: str, *, at_once: bool = True) -> None:
        """Do `work` again and again with so many seconds between; at_once: for the first time now.

        It goes by the event loop's clock, which nobody sets. What it raises is logged; the next time tries again.
        """

        async def repeat() -> None:
            if not at_once:
                await asyncio.sleep(seconds)
            while True:
                try:
                    await work()
                except Exception:  # such as a full disk
                    log.exception("background_task_failed", task=name)
                await asyncio.sleep(seconds)

        self.start(repeat(), name)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("background_task_failed", task=task.get_name(), exc_info=error)

    async def close(self) -> None:
        """Cancel what is not done, and wait until it has ended."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def wait_at_most(event: asyncio.Event, seconds: float) -> None:
    """Wait until something happens, but no longer than so many seconds."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


class Backoff:
    """Growing pauses between tries: `first` seconds, doubled each time up to `longest`; reset after a success."""

    def __init__(self, longest: float = LONGEST_PAUSE, first: float = 1.0) -> None:
        self._longest = longest
        self._first = self._next = first

    def pause(self, at_least: float = 0) -> float:
        """How long the next wait will be, in seconds."""
        return max(at_least, self._next)

    def next(self, at_least: float = 0) -> float:
        """How long to wait now, in seconds; the next pause will be longer."""
        pause = self.pause(at_least)
        self._next = min(self._longest, self._next * 2)
        return pause

    async def wait(self, at_least: float = 0) -> None:
        """Pause, and make the next pause longer."""
        await asyncio.sleep(self.next(at_least))

    def reset(self) -> None:
        self._next = self._first
