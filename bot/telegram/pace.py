"""Telegram takes so many calls a second from one bot: what is only for show leaves most of them to the replies."""

from __future__ import annotations

import asyncio
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
    answer to a /stop would wait for half a minute. Whose hurry begins while they wait goes before the others too.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []
        self._hurried: set[str] = set()

    def hurry(self, who: str) -> None:
        """Let `who` go before the others until `calm`."""
        self._hurried.add(who)

    def calm(self, who: str) -> None:
        """Let `who` wait like all others."""
        self._hurried.discard(who)

    async def enter(self, who: str) -> None:
        """Wait for a place; whoever has one must `leave`."""
        if self._free > 0:
            self._free -= 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((who, place))
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.leave()  # it was given in the same moment
            raise

    def leave(self) -> None:
        """Give a place to whoever is next."""
        self._waiting = [(who, place) for who, place in self._waiting if not place.done()]
        if not self._waiting:
            self._free += 1
            return
        at = next((at for at, (who, _) in enumerate(self._waiting) if who in self._hurried), 0)
        self._waiting.pop(at)[1].set_result(None)  # the place goes from hand to hand
