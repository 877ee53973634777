"""Strict parsing of a model's request for a reminder. Refusals say what to write instead."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from bot.features.reminders.reminder import TaskSound
from config.texts import format_day_and_hour
from memory.errors import MemoryRefused
from memory.messages import make_storable
from memory.recurrence import LAST, WEEKDAYS, Repeat, Rule
from memory.store.entry_rows import refuse_secret
from memory.transfer.import_fields import MAX_REMINDER_CHARS

REMINDER_TIME = time(9)
"""Time of day of reminders without a time."""

MAX_EVERY = 99
MAX_AHEAD = timedelta(days=20 * 366)
"""How far ahead a reminder may be. A passport lasts ten years."""


@dataclass(frozen=True, slots=True)
class ReminderRequest:
    """A valid request. `at` is the first time in UTC. `task` is set if the bot should do it."""

    text: str
    rule: Rule
    at: datetime
    task: TaskSound | None = None


NTH = {"": 0, "first": 1, "second": 2, "third": 3, "fourth": 4, "last": LAST}
"""The positions of a weekday within a month."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """The repetition of a reminder.

    Attributes:
        days: Names of weekdays for a weekly reminder, or for a monthly one with `nth`.
        every: The number of days, weeks, months or years between two times.
        nth: A key of NTH. "last" without days is the last day of the month.
    """

    repeat: Repeat = Repeat.ONCE
    days: str = ""
    every: int = 1
    nth: str = ""


def read_rhythm(repeat: Repeat, days: str, every: int = 1) -> Rhythm:
    """Parse a rhythm. Its days may begin with a key of NTH, as in "first mon" or "last day"."""
    first, _space, rest = days.strip().lower().partition(" ")
    if repeat is Repeat.MONTHLY and first in NTH:
        return Rhythm(repeat, "" if rest.strip() == "day" else rest, every, first)
    return Rhythm(repeat, days, every)


ONCE = Rhythm()


def read_request(text: str, when: str, rhythm: Rhythm, *, now: datetime, zone: ZoneInfo) -> ReminderRequest:
    """Parse a request. Raise MemoryRefused with a sentence that says what to write instead.

    Args:
        when: ISO date and time, in `zone` unless it has an offset.
    """
    read, at = _parse_moment(when, now, zone)
    repeat, nth = rhythm.repeat, _check_rhythm(rhythm)
    first = read if read.tzinfo is None else at.astimezone(zone).replace(tzinfo=None)
    rule = Rule(repeat, first.replace(fold=0), zone, _parse_days(rhythm.days), rhythm.every, nth)
    comes = at if repeat is Repeat.ONCE else rule.find_next(now)
    if comes is None or comes <= now:
        past = format_day_and_hour(at, zone)
        raise MemoryRefused(f"{past} is past, it is {_format_now(now, zone)}: give a time that is still to come.")
    return ReminderRequest(validate_text(text), rule, comes)


def _check_rhythm(rhythm: Rhythm) -> int:
    """Return the number of `nth`. Raise MemoryRefused for an impossible rhythm."""
    repeat, days = rhythm.repeat, rhythm.days.strip()
    if rhythm.nth not in NTH:
        raise MemoryRefused(f"{rhythm.nth[:40]!r} is none of first, second, third, fourth and last: use one of them.")
    nth = NTH[rhythm.nth]
    if nth and (repeat is not Repeat.MONTHLY or (not days and nth != LAST)):
        raise MemoryRefused("nth goes with repeat monthly and days, such as first and mon: give all of them.")
    if days and repeat is not Repeat.WEEKLY and not nth:
        raise MemoryRefused(f"Days go with repeat weekly, and this is {repeat}: say weekly, or leave days out.")
    if not 1 <= rhythm.every <= MAX_EVERY or (rhythm.every > 1 and repeat is Repeat.ONCE):
        raise MemoryRefused(f"every is a number from 1 to {MAX_EVERY}, with repeat daily, weekly, monthly or yearly.")
    return nth


def validate_text(text: str) -> str:
    """Return a reminder's text as it is stored, in one line. Raise MemoryRefused if it is invalid."""
    usable = " ".join(make_storable(text).replace("\x00", "").split())
    if not usable:
        raise MemoryRefused("A reminder needs a text: say what it is about.")
    if len(usable) > MAX_REMINDER_CHARS:
        raise MemoryRefused(
            f"A reminder's text can have at most {MAX_REMINDER_CHARS} characters, and this one has {len(usable):,}:"
            " shorten it."
        )
    refuse_secret(usable)
    return usable


def _parse_moment(when: str, now: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    example = (now.astimezone(zone) + timedelta(days=1)).replace(hour=9, minute=0)
    expected = (
        f"write day and hour as {example:%Y-%m-%dT%H:%M}, on the clock of {zone.key}; it is {_format_now(now, zone)}"
    )
    try:
        read = datetime.fromisoformat(when.strip())
        at = (read if read.tzinfo is not None else read.replace(tzinfo=zone)).astimezone(UTC)
        is_far = abs(at - now) > MAX_AHEAD
    except (ValueError, OverflowError) as error:
        raise MemoryRefused(f"{when.strip()[:40]!r} isn't a valid time: {expected}.") from error
    if not re.search(r"\d[T ]\d", when):  # A date alone would mean midnight.
        raise MemoryRefused(f"{when.strip()[:40]!r} has no hour: {expected}.")
    if is_far:
        years = MAX_AHEAD.days // 366
        raise MemoryRefused(f"{when.strip()[:40]!r} is more than {years} years away: {expected}.")
    return read, at


def _parse_days(days: str) -> tuple[int, ...]:
    results: set[int] = set()
    for word in re.findall(r"\w+", days.lower()):
        named = [number for number, name in enumerate(WEEKDAYS) if len(word) > 1 and name.lower().startswith(word)]
        if len(named) != 1:
            raise MemoryRefused(f"{word[:40]!r} isn't a day of the week: write days like 'mon, wed, fri'.")
        results.update(named)
    return tuple(sorted(results))


def _format_now(now: datetime, zone: ZoneInfo) -> str:
    return f"{format_day_and_hour(now, zone)} now"
