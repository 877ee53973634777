"""Only so many turns are prepared at a time, so that nobody's message or /stop waits for all of a crowd."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PLACES = 4
LONGEST = 1.0
"""Seconds that anybody waits for the loop to be calm, and after which a place is free again whose turn is not ready:
it waits for something outside."""
CALM = 0.01
"""Seconds in which the event loop gets round to everything that can go on, when it has not too much to do."""


class Places:
    """Places for what keeps the processor and the database busy. Who waits for a model needs none.

    Of five hundred turns that are prepared at once none is ready before the last, and every step of whatever comes
    meanwhile waits for a step of each. So they begin one after the other, and only when the loop has time for more:
    what arrives, what is stopped and what is answered goes before.
    """

    def __init__(self, count: int = PLACES, longest: float = LONGEST) -> None:
        self._free = asyncio.Semaphore(count)
        self._longest = longest

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
            await _calm(self._longest)
            timer = asyncio.get_running_loop().call_later(self._longest, leave)
            try:
                yield
            finally:
                timer.cancel()
        finally:
            leave()


async def _calm(longest: float) -> None:
    """Wait until the event loop gets round to everything quickly, but not longer than so many seconds."""
    loop = asyncio.get_running_loop()
    end = loop.time() + longest
    while (began := loop.time()) < end:
        await asyncio.sleep(0)
        if loop.time() - began < CALM:
            return
