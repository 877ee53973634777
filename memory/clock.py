"""The clock, and the text format of timestamps in the store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

Clock = Callable[[], datetime]
"""Returns the current time as an aware datetime. It is injected, so that tests control the time."""
TimezoneLookup = Callable[[str], ZoneInfo]
"""Returns the time zone of a chat, given the name of the chat, of its session or of its owner."""


def system_clock() -> datetime:
    return datetime.now(UTC)


def to_text(moment: datetime) -> str:
    """Format a timestamp for the store: ISO 8601, UTC, milliseconds. It sorts as text."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def from_text(text: str) -> datetime:
    return datetime.fromisoformat(text)


def now_text(clock: Clock) -> str:
    return to_text(clock())
