"""A semaphore with priorities: a free slot goes to a hurried waiter first, otherwise to the longest waiting."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turnstile:
    """Limits concurrency to a number of slots. `hurry` also moves waiters forward that wait already."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []
        self._hurried: set[str] = set()

    def hurry(self, who: str) -> None:
        self._hurried.add(who)

    def stop_hurrying(self, who: str) -> None:
        self._hurried.discard(who)

    @asynccontextmanager
    async def pass_through(self, who: str) -> AsyncIterator[None]:
        await self._enter(who)
        try:
            yield
        finally:
            self._leave()

    async def _enter(self, who: str) -> None:
        if self._free > 0:
            self._free -= 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((who, place))
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._leave()  # The slot was assigned just before the cancellation.
            raise

    def _leave(self) -> None:
        # Drop the waiters that were cancelled.
        self._waiting = [(who, place) for who, place in self._waiting if not place.done()]
        if not self._waiting:
            self._free += 1
            return
        at = next((at for at, (who, _) in enumerate(self._waiting) if who in self._hurried), 0)
        self._waiting.pop(at)[1].set_result(None)
