"""Albums: Telegram sends each photo of one as an update of its own, and nothing tells which one is the last."""

from __future__ import annotations

from collections import deque
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from bot.telegram.updates import RawUpdate
    from memory.clock import Clock
    from pipeline.arrival import Arrival

QUIET = timedelta(seconds=1)
"""An album is whole when nothing has come for so long; its updates come within some tenths of a second."""
MOST = 10
"""Messages that an album has at the most."""
_REMEMBERED = 200
NAMED_WITHIN = timedelta(seconds=5)
"""How long a group's photo may come before the one of its album whose caption names the bot."""
_MOST_HELD = 200
"""Photos of groups that are held for so long."""


class Albums:
    """Tells which albums are meant for us, and which have not arrived whole yet."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._meant: deque[str] = deque(maxlen=_REMEMBERED)
        self._held: deque[tuple[datetime, str, RawUpdate]] = deque(maxlen=_MOST_HELD)

    def __contains__(self, album: object) -> bool:
        """Whether one of its messages was meant for us: in a group only the one with the caption names the bot."""
        return album in self._meant

    def add(self, album: str | None) -> None:
        """A message of it is meant for us."""
        if album is not None and album not in self._meant:
            self._meant.append(album)

    def hold(self, album: str, update: RawUpdate) -> None:
        """Hold an update of an album that nothing says is meant for us so far: in memory, and for a moment only."""
        self._held.append((self._clock(), album, update))

    def take_held(self, album: str | None) -> list[RawUpdate]:
        """What was held of an album that turns out to be meant for us, in the order it came."""
        self.let_go()
        taken = [update for _, of, update in self._held if of == album]
        self._held = deque((one for one in self._held if one[1] != album), maxlen=_MOST_HELD)
        return taken

    def let_go(self) -> None:
        """Forget what was held for long enough. A clock that was set back must not keep it for ever."""
        now = self._clock()
        self._held = deque((one for one in self._held if timedelta() <= now - one[0] < NAMED_WITHIN), maxlen=_MOST_HELD)

    def unfinished(self, arrivals: Sequence[tuple[Arrival, datetime]]) -> tuple[int, timedelta]:
        """Of one session's arrivals and when they were received: how many at the end may still be joined by others.

        And after what time to look again. Whatever comes behind an album shows that it is whole.
        """
        album = arrivals[-1][0].album if arrivals else None
        if album is None:
            return 0, timedelta()
        count = 0
        for arrival, _ in reversed(arrivals):
            if arrival.album != album:
                break
            count += 1
        age = self._clock() - arrivals[-1][1]
        # a clock that was set back must not keep it for ever
        if count >= MOST or not timedelta() <= age < QUIET:
            return 0, timedelta()
        return count, QUIET - age
