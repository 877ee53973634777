"""Only so many turns are prepared at a time, so that nobody's message or /stop waits for all of a crowd."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from contextlib import AbstractContextManager

PLACES = 4
LONGEST = 1.0
"""Seconds that anybody waits for what goes before and for the loop to be calm, and after which a place is free again
whose turn is not ready: it waits for something outside."""
CALM = 0.01
"""Seconds in which the event loop gets round to everything that can go on, when it has not too much to do."""


class TurnLimiter:
    """Places for what keeps the processor and the database busy. Who waits for a model needs none.

    Of five hundred turns that are prepared at once none is ready before the last, and every step of whatever comes
    meanwhile waits for a step of each. So they begin one after the other, and only when the loop has time for more:
    what arrives, what is stopped and what is answered goes before.

    longest: as LONGEST, in seconds.
    """

    def __init__(self, count: int = PLACES, longest: float = LONGEST) -> None:
        self._free = asyncio.Semaphore(count)
        self._clear = _Gate()
        self._ready = _Gate()
        self.longest = longest

    def prioritized(self) -> AbstractContextManager[None]:
        """Have what is done in the block go before whoever has no place yet.

        A /stop takes a dozen steps of the database, and at each would wait for the steps of the turns that are
        prepared. Nobody waits longer than `longest` for it, however much goes before.
        """
        return self._clear.shut()

    def closed(self) -> AbstractContextManager[None]:
        """Let nobody in until the end of the block, however long it takes: they need what it makes ready."""
        return self._ready.shut()

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Wait for a place, first come first served, and hold it until the end of the block, or so many seconds."""
        await self._free.acquire()
        held = True

        def leave() -> None:
            nonlocal held
            if held:
                held = False
                self._free.release()

        try:
            await self._ready.passed()
            with suppress(TimeoutError):
                async with asyncio.timeout(self.longest):
                    await self._calm()
            timer = asyncio.get_running_loop().call_later(self.longest, leave)
            try:
                yield
            finally:
                timer.cancel()
        finally:
            leave()

    async def _calm(self) -> None:
        """Wait until nothing goes before, and the event loop gets round to everything quickly."""
        loop = asyncio.get_running_loop()
        while True:
            await self._clear.passed()
            began = loop.time()
            await asyncio.sleep(0)
            if self._clear.is_open and loop.time() - began < CALM:
                return


class _Gate:
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

    @contextmanager
    def shut(self) -> Iterator[None]:
        """Keep it shut until the end of the block."""
        self._keepers += 1
        self._open.clear()
        try:
            yield
        finally:
            self._keepers -= 1
            if self._keepers == 0:
                self._open.set()
