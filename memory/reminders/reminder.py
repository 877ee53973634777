"""What a reminder is, when it comes, and how rows of the store are read as such.

It comes at one moment, or again and again at an hour on the wall clock of a time zone. A daily 9:00 stays 9:00 when the
clocks change. An hour that a day lacks, as when summer time begins, comes as much later as is left out (02:30 at
03:30); one that a day has twice comes once, the first time. RFC 5545 reads them so too.
"""

from __future__ import annotations

import calendar
import itertools
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from config.texts import SOURCE, _, spoken
from memory.clock import from_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.store.database import Row

REMINDER_ROWS = "SELECT r.*, o.name AS owner FROM reminders r JOIN owners o ON o.id = r.owner_id"
"""Selects what `reminder_of` reads."""
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_DAY = timedelta(days=1)


class Repeat(StrEnum):
    ONCE = "once"
    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"
    YEARLY = "yearly"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rhythm, in the words of a wall clock; as a text it is in the language that is spoken."""

    repeat: Repeat
    first: datetime  # without a zone; a month without its day takes the last one
    zone: ZoneInfo
    days: tuple[int, ...] = ()  # of a weekly one; Monday is 0

    def after(self, moment: datetime) -> datetime | None:
        """The first time after `moment`, in UTC; None where nothing comes any more."""
        since = max(self.first.date(), moment.astimezone(self.zone).date() - _DAY)
        comes = (self._on(day) for day in self._days_from(since))
        return next((at for at in comes if at > moment), None)

    def _on(self, day: date) -> datetime:
        # fold 0 is both: the first of two, and the offset before a gap, which leads behind it
        return datetime.combine(day, self.first.time().replace(fold=0), self.zone).astimezone(UTC)

    def _days_from(self, since: date) -> Iterator[date]:
        """The days of the rhythm from `since` on, in order."""
        match self.repeat:
            case Repeat.ONCE:
                return iter([self.first.date()])
            case Repeat.DAILY:
                return (since + n * _DAY for n in itertools.count())
            case Repeat.WEEKLY:
                days = self.days or (self.first.weekday(),)
                every = (since + n * _DAY for n in itertools.count())
                return (day for day in every if day.weekday() in days)
            case Repeat.MONTHLY:
                months = (divmod(since.year * 12 + since.month - 1 + n, 12) for n in itertools.count())
                return (_day_of(year, month + 1, self.first.day) for year, month in months)
            case Repeat.YEARLY:
                return (_day_of(since.year + n, self.first.month, self.first.day) for n in itertools.count())

    def __str__(self) -> str:
        match self.repeat:
            case Repeat.ONCE:
                return _("once")
            case Repeat.DAILY:
                return _("daily")
            case Repeat.WEEKLY:
                return _("weekly on {days}", days=", ".join(_weekdays(self.days or (self.first.weekday(),))))
            case Repeat.MONTHLY:
                return _("monthly on day {day}", day=self.first.day)
            case Repeat.YEARLY:
                return _("yearly on {day}", day=_day_and_month(self.first))


class ReminderState(StrEnum):
    """Where a reminder stands."""

    OFFERED = "offered"  # it waits for somebody's yes
    WAITING = "waiting"  # it comes at its hour
    TELLING = "telling"  # its message is in the outbox
    TOLD = "told"  # the channel has confirmed the message
    FAILED = "failed"  # the channel never will
    DONE = "done"
    CANCELLED = "cancelled"


class TaskSound(StrEnum):
    """How the answer to a task comes: like any message, or without a sound."""

    ALOUD = "aloud"
    QUIET = "quiet"


@dataclass(frozen=True, slots=True)
class Reminder:
    """One reminder of an owner, told in the session that it was set in."""

    id: int
    owner: str
    session_id: str
    text: str
    rule: Rule
    state: ReminderState
    next_at: datetime | None  # None where nothing more is to come
    told_at: datetime | None  # when the channel last confirmed its message
    trusted: bool  # nothing foreign could speak through the model that wrote its text
    task: TaskSound | None = None  # it is done and not only told
    failures: int = 0  # of the task, in a row

    @property
    def is_recurring(self) -> bool:
        return self.rule.repeat is not Repeat.ONCE


@dataclass(frozen=True, slots=True)
class Due:
    """A reminder whose hour has come: at: the newest such hour; missed: how many there were before it."""

    reminder: Reminder
    at: datetime
    missed: int


def reminder_of(row: Row) -> Reminder:
    days = tuple(int(day) for day in row["days"].split(",") if day)
    return Reminder(
        id=row["id"],
        owner=row["owner"],
        session_id=row["session_id"],
        text=row["text"],
        rule=Rule(Repeat(row["repeat"]), datetime.fromisoformat(row["first"]), _zone(row["zone"]), days),
        state=ReminderState(row["state"]),
        next_at=from_text(row["next_at"]) if row["next_at"] else None,
        told_at=from_text(row["told_at"]) if row["told_at"] else None,
        trusted=bool(row["trusted"]),
        task=TaskSound(row["task"]) if row["task"] else None,
        failures=row["failures"],
    )


def due_of(reminder: Reminder, now: datetime) -> Due:
    """A reminder that is due, with the hours that came since: it is told once for all of them."""
    assert reminder.next_at is not None, "what is due has its hour"  # noqa: S101  # states what due rows have
    at, missed = reminder.next_at, 0
    while reminder.is_recurring and (coming := reminder.rule.after(at)) is not None and coming <= now:
        at, missed = coming, missed + 1
    return Due(reminder, at, missed)


def _zone(key: str) -> ZoneInfo:
    """A zone by its name; UTC where this machine's tables no longer know it, so that nothing is held up by it."""
    try:
        return ZoneInfo(key)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")


def _weekdays(days: tuple[int, ...]) -> list[str]:
    if spoken() == SOURCE:
        return [WEEKDAYS[day] for day in days]
    from babel.dates import get_day_names  # needs a tenth of a second, which no start should

    names = get_day_names("wide", "format", locale=spoken())
    return [names[day] for day in days]


def _day_and_month(moment: datetime) -> str:
    if spoken() == SOURCE:
        return f"{moment.day} {moment:%B}"
    from babel.dates import format_skeleton  # late, as above

    return format_skeleton("MMMMd", moment, locale=spoken())


def _day_of(year: int, month: int, day: int) -> date:
    return date(year, month, min(day, calendar.monthrange(year, month)[1]))
