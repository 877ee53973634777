"""Telegram takes so many calls a second from one bot: what is only for show leaves most of them to the replies."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SHOWS_PER_SECOND = 10
"""Previews and typing of all chats together; Telegram takes some 30 messages a second from a bot."""


class Pace:
    """Allows so many shows a second, spread evenly. What it does not allow now is dropped, or asked for again later."""

    def __init__(self, per_second: float = SHOWS_PER_SECOND, now: Callable[[], float] = time.monotonic) -> None:
        self._gap = 1 / per_second
        self._now = now
        self._next = now()

    def allows(self) -> bool:
        """Whether something may be shown now; then it counts as shown."""
        now = self._now()
        if now < self._next:
            return False
        self._next = max(self._next + self._gap, now)
        return True


class Turnstile:
    """Lets so many through at a time. Of those who wait, who is in a hurry goes first, and then who came first.

    The library's rate limiter takes calls in the order in which they come: with a thousand replies before it, the
    answer to a /stop would wait for half a minute.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: list[tuple[bool, int, asyncio.Future[None]]] = []
        self._number = itertools.count()

    async def enter(self, *, in_a_hurry: bool) -> None:
        """Wait for a place; whoever has one must `leave`."""
        if self._free > 0 and not self._waiting:
            self._free -= 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (not in_a_hurry, next(self._number), place))
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.leave()  # it was given in the same moment
            raise

    def leave(self) -> None:
        """Give a place to whoever is next."""
        while self._waiting:
            *_, place = heapq.heappop(self._waiting)
            if not place.done():
                place.set_result(None)  # the place goes from hand to hand
                return
        self._free += 1
