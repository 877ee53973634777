"""Moments: where they come from and how the store writes them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

Clock = Callable[[], datetime]
"""Gives the present moment, aware of its zone. Injected, so that tests own the time."""


TimezoneLookup = Callable[[str], ZoneInfo]
"""Tells on whose wall clock somebody lives: the zone of a chat, by the name of it, of its session or of its owner."""


def system_clock() -> datetime:
    return datetime.now(UTC)


def to_text(moment: datetime) -> str:
    """`moment` as the store keeps it: ISO 8601, UTC, milliseconds. Sorts as text."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def from_text(text: str) -> datetime:
    return datetime.fromisoformat(text)


def now_text(clock: Clock) -> str:
    return to_text(clock())
