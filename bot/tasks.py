"""Background tasks: started, repeated and stopped together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol

import structlog

if TYPE_CHECKING:
    from bot.jobs.scheduler import SteadyScheduler

log = structlog.get_logger(__name__)


class Job(Protocol):
    def start(self, tasks: BackgroundTasks) -> None:
        """Start the background work of a running bot. One-off commands don't call this."""


class Periodic(Protocol):
    """Work of every channel that stays open, done with the check for due messages if it is due."""

    @property
    def name(self) -> str: ...

    async def run_if_due(self) -> bool:
        """Return True if the work was due and is done."""


class BackgroundTasks:
    """Tasks that are cancelled together. Exceptions are logged and affect no other task."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._scheduler: SteadyScheduler | None = None

    def start(self, work: Coroutine[object, object, None], name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._on_done)
        return task

    def every(self, seconds: float, work: Callable[[], Awaitable[object]], name: str, *, at_once: bool = True) -> None:
        """Run `work` repeatedly with `seconds` in between, never twice at the same time. Exceptions are logged.

        Args:
            at_once: whether the first run is now.
        """
        from bot.jobs.scheduler import (  # Slow to import, and one-off commands don't need it
            RepeatTrigger,
            SteadyScheduler,
        )

        running: asyncio.Task[None] | None = None

        async def run() -> None:
            try:
                await work()
            except Exception:  # For example, the disk is full
                log.exception("background_task_failed", task=name)

        async def begin() -> None:
            # Not a job of APScheduler, which would warn if it takes longer than the pause, and not wait for it
            nonlocal running
            if running is None or running.done():
                running = self.start(run(), name)

        scheduler = self._scheduler = self._scheduler or SteadyScheduler(timezone=UTC)
        first = datetime.now(UTC) + timedelta(seconds=0 if at_once else seconds)
        # After the machine was suspended, one run replaces all missed ones
        scheduler.add_job(
            begin, RepeatTrigger(seconds), id=name, next_run_time=first, coalesce=True, misfire_grace_time=None
        )
        if not scheduler.running:
            scheduler.start()

    async def wait_until_idle(self) -> None:
        """Wait until no task runs. In a running bot some never end."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("background_task_failed", task=task.get_name(), exc_info=error)

    async def close(self) -> None:
        if self._scheduler is not None and self._scheduler.running:
            self._scheduler.shutdown(wait=False)
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
