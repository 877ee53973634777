"""Telegram takes so many calls a second from one bot: what is only for show leaves most of them to the replies."""

from __future__ import annotations

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
