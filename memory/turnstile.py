"""Who goes first where several wait: a place is given to whoever is in a hurry, then to whoever came first."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Turnstile:
    """Lets so many through at a time. Whose hurry begins while they wait goes before the others too."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []
        self._hurried: set[str] = set()

    def hurry(self, who: str) -> None:
        """Let `who` go before the others until `calm`."""
        self._hurried.add(who)

    def calm(self, who: str) -> None:
        self._hurried.discard(who)

    @asynccontextmanager
    async def passed(self, who: str) -> AsyncIterator[None]:
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
                self._leave()  # it was given in the same moment
            raise

    def _leave(self) -> None:
        # without those that gave up waiting
        self._waiting = [(who, place) for who, place in self._waiting if not place.done()]
        if not self._waiting:
            self._free += 1
            return
        at = next((at for at, (who, _) in enumerate(self._waiting) if who in self._hurried), 0)
        self._waiting.pop(at)[1].set_result(None)  # the place goes from hand to hand
