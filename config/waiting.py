"""Waiting: for something to happen, behind a gate, and ever longer between two tries."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_PAUSE = 10.0
"""Seconds at most between two tries of what fails: whoever writes after an outage is not to wait for a minute."""


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
        await asyncio.sleep(self.next(at_least))

    def reset(self) -> None:
        self._next = self._first


class Gate:
    """Open, but while somebody keeps it shut."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self._keepers = 0

    @property
    def is_open(self) -> bool:
        return self._open.is_set()

    async def passed(self) -> None:
        await self._open.wait()

    @contextlib.contextmanager
    def shut(self) -> Iterator[None]:
        self._keepers += 1
        self._open.clear()
        try:
            yield
        finally:
            self._keepers -= 1
            if self._keepers == 0:
                self._open.set()
