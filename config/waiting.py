"""Helpers for waiting: with a timeout, with backoff, and at a gate."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

MAX_PAUSE_SECONDS = 10.0
"""The default limit of a backoff. It is short, so that users don't wait for long after an outage."""


async def wait_at_most(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, or until the timeout has passed. Never raises TimeoutError."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


class Backoff:
    """Exponential backoff: the pause doubles from `first` to `max_seconds`. Call `reset` after a success."""

    def __init__(self, max_seconds: float = MAX_PAUSE_SECONDS, first: float = 1.0) -> None:
        self._max_seconds = max_seconds
        self._first = self._next = first

    def pause(self, at_least: float = 0) -> float:
        return max(at_least, self._next)

    def next(self, at_least: float = 0) -> float:
        """Return the length of the next pause in seconds, and double the one after it."""
        pause = self.pause(at_least)
        self._next = min(self._max_seconds, self._next * 2)
        return pause

    async def wait(self, at_least: float = 0) -> None:
        await asyncio.sleep(self.next(at_least))

    def reset(self) -> None:
        self._next = self._first


class Gate:
    """A gate that is closed while at least one `shut` block runs."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self._shut_count = 0

    @property
    def is_open(self) -> bool:
        return self._open.is_set()

    async def wait(self) -> None:
        await self._open.wait()

    @contextlib.contextmanager
    def shut(self) -> Iterator[None]:
        self._shut_count += 1
        self._open.clear()
        try:
            yield
        finally:
            self._shut_count -= 1
            if self._shut_count == 0:
                self._open.set()
