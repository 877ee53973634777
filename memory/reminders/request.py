"""What is asked for when a reminder is set, as a model writes it, read strictly and answered helpfully."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from memory.errors import MemoryRefused
from memory.messages import storable
from memory.reminders.reminder import WEEKDAYS, Repeat, Rule
from memory.reminders.wording import day_and_hour
from memory.store.entry_rows import refuse_secret

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from memory.reminders.reminder import TaskSound

LONGEST_TEXT = 500
FURTHEST = timedelta(days=20 * 366)
"""How far ahead a reminder may lie: a passport lasts ten years."""


@dataclass(frozen=True, slots=True)
class ReminderRequest:
    """A reminder that can be set. at: when it comes first, in UTC. task: it is to be done, and not only told."""

    text: str
    rule: Rule
    at: datetime
    task: TaskSound | None = None


def read_wish(text: str, when: str, repeat: Repeat, days: str, *, now: datetime, zone: ZoneInfo) -> ReminderRequest:
    """The wish for a reminder. Raises MemoryRefused in a sentence that says what to write instead.

    when: an ISO date and time; without an offset it is on the clock of `zone`. days: names of days, for a weekly one.
    """
    read, at = _moment(when, now, zone)
    if days.strip() and repeat is not Repeat.WEEKLY:
        raise MemoryRefused(f"Days go with repeat weekly, and this is {repeat}: say weekly, or leave days out.")
    first = read if read.tzinfo is None else at.astimezone(zone).replace(tzinfo=None)
    rule = Rule(repeat, first.replace(fold=0), zone, _days(days))
    comes = at if repeat is Repeat.ONCE else rule.after(now)
    if comes is None or comes <= now:
        raise MemoryRefused(
            f"{day_and_hour(at, zone)} is past, it is {_now(now, zone)}: give a time that is still to come."
        )
    return ReminderRequest(usable_text(text), rule, comes)


def usable_text(text: str) -> str:
    """A reminder's text as it is kept, in one line. Raises MemoryRefused for one that can't be."""
    usable = " ".join(storable(text).replace("\x00", "").split())
    if not usable:
        raise MemoryRefused("A reminder needs a text: say what it is about.")
    if len(usable) > LONGEST_TEXT:
        raise MemoryRefused(
            f"A reminder's text has at most {LONGEST_TEXT} characters, and this has {len(usable):,}: shorten it."
        )
    refuse_secret(usable)
    return usable


def _moment(when: str, now: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    example = (now.astimezone(zone) + timedelta(days=1)).replace(hour=9, minute=0)
    expected = f"write day and hour as {example:%Y-%m-%dT%H:%M}, on the clock of {zone.key}; it is {_now(now, zone)}"
    try:
        read = datetime.fromisoformat(when.strip())
        at = (read if read.tzinfo is not None else read.replace(tzinfo=zone)).astimezone(UTC)
        is_far = abs(at - now) > FURTHEST
    except (ValueError, OverflowError) as error:
        raise MemoryRefused(f"{when.strip()[:40]!r} is no time that can be read: {expected}.") from error
    if not re.search(r"\d[T ]\d", when):  # a day alone, which would be read as midnight
        raise MemoryRefused(f"{when.strip()[:40]!r} has no hour: {expected}.")
    if is_far:
        years = FURTHEST.days // 366
        raise MemoryRefused(f"{when.strip()[:40]!r} is more than {years} years away: {expected}.")
    return read, at


def _days(days: str) -> tuple[int, ...]:
    results: set[int] = set()
    for word in re.findall(r"\w+", days.lower()):
        named = [number for number, name in enumerate(WEEKDAYS) if len(word) > 1 and name.lower().startswith(word)]
        if len(named) != 1:
            raise MemoryRefused(f"{word[:40]!r} is no day of the week: write days as in 'mon, wed, fri'.")
        results.update(named)
    return tuple(sorted(results))


def _now(now: datetime, zone: ZoneInfo) -> str:
    return f"{day_and_hour(now, zone)} now"
