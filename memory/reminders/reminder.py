"""Reminders, their recurrence rules, and their rows in the database.

Recurring reminders come at a wall-clock time of a time zone, so a daily 9:00 stays 9:00 when the clocks change. A time
that is skipped at the start of summer time moves forward by the gap (02:30 to 03:30). A time that occurs twice counts
once, the first time. RFC 5545 defines the same.
"""

from __future__ import annotations

import calendar
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from config.texts import SOURCE, _, get_language
from memory.clock import from_text
from memory.store.database import Row

REMINDER_ROWS = "SELECT r.*, o.name AS owner FROM reminders r JOIN owners o ON o.id = r.owner_id"
"""SQL query for the rows that `reminder_from_row` reads."""
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
    """A recurrence rule in wall-clock time. `str` describes it in the user's language."""

    repeat: Repeat
    first: datetime  # without a zone; shorter months use their last day
    zone: ZoneInfo
    days: tuple[int, ...] = ()  # weekdays of a weekly rule; Monday is 0

    def find_next(self, moment: datetime) -> datetime | None:
        """Return the first time after `moment` in UTC, or None after the last one."""
        since = max(self.first.date(), moment.astimezone(self.zone).date() - _DAY)
        comes = (self._get_time_on(day) for day in self._iterate_days(since))
        return next((at for at in comes if at > moment), None)

    def _get_time_on(self, day: date) -> datetime:
        # With fold 0, the first of two equal times is chosen, and a time in a gap moves behind it.
        return datetime.combine(day, self.first.time().replace(fold=0), self.zone).astimezone(UTC)

    def _iterate_days(self, since: date) -> Iterator[date]:
        """Return the days of the rule from `since` on, in order."""
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
                return (_clamp_day(year, month + 1, self.first.day) for year, month in months)
            case Repeat.YEARLY:
                return (_clamp_day(since.year + n, self.first.month, self.first.day) for n in itertools.count())

    def __str__(self) -> str:
        match self.repeat:
            case Repeat.ONCE:
                return _("once")
            case Repeat.DAILY:
                return _("daily")
            case Repeat.WEEKLY:
                return _("weekly on {days}", days=", ".join(_format_weekdays(self.days or (self.first.weekday(),))))
            case Repeat.MONTHLY:
                return _("monthly on day {day}", day=self.first.day)
            case Repeat.YEARLY:
                return _("yearly on {day}", day=_format_day_and_month(self.first))


class ReminderState(StrEnum):
    OFFERED = "offered"  # waits for the user's consent
    WAITING = "waiting"  # scheduled
    TELLING = "telling"  # its message is in the outbox
    TOLD = "told"  # the channel has confirmed the message
    FAILED = "failed"  # the message can't be delivered
    DONE = "done"
    CANCELLED = "cancelled"


class TaskSound(StrEnum):
    """The notification sound of the answer to a task."""

    ALOUD = "aloud"
    QUIET = "quiet"


@dataclass(frozen=True, slots=True)
class Reminder:
    """One reminder of an owner, delivered in the session in which it was set."""

    id: int
    owner: str
    session_id: str
    text: str
    rule: Rule
    state: ReminderState
    next_at: datetime | None  # None if nothing more is to come
    told_at: datetime | None  # when the channel last confirmed its message
    trusted: bool  # no foreign text could have influenced the model that wrote its text
    task: TaskSound | None = None  # set if it is a task for the bot
    failures: int = 0  # consecutive failures of the task

    @property
    def is_recurring(self) -> bool:
        return self.rule.repeat is not Repeat.ONCE


@dataclass(frozen=True, slots=True)
class DueReminder:
    """A due reminder. `at` is its newest due time, `missed` the number of earlier ones."""

    reminder: Reminder
    at: datetime
    missed: int


def reminder_from_row(row: Row) -> Reminder:
    days = tuple(int(day) for day in row["days"].split(",") if day)
    return Reminder(
        id=row["id"],
        owner=row["owner"],
        session_id=row["session_id"],
        text=row["text"],
        rule=Rule(Repeat(row["repeat"]), datetime.fromisoformat(row["first"]), _load_zone(row["zone"]), days),
        state=ReminderState(row["state"]),
        next_at=from_text(row["next_at"]) if row["next_at"] else None,
        told_at=from_text(row["told_at"]) if row["told_at"] else None,
        trusted=bool(row["trusted"]),
        task=TaskSound(row["task"]) if row["task"] else None,
        failures=row["failures"],
    )


def find_newest_due(reminder: Reminder, now: datetime) -> DueReminder:
    """Find the newest due time of a reminder and count the earlier ones, which share one message."""
    assert reminder.next_at is not None, "what is due has its hour"  # noqa: S101  # states what due rows have
    at, missed = reminder.next_at, 0
    while reminder.is_recurring and (coming := reminder.rule.find_next(at)) is not None and coming <= now:
        at, missed = coming, missed + 1
    return DueReminder(reminder, at, missed)


def _load_zone(key: str) -> ZoneInfo:
    """Return a time zone, or UTC if this machine no longer knows it."""
    try:
        return ZoneInfo(key)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")


def _format_weekdays(days: tuple[int, ...]) -> list[str]:
    if get_language() == SOURCE:
        return [WEEKDAYS[day] for day in days]
    from babel.dates import get_day_names  # Takes 0.1 s to import, so not at the start.

    names = get_day_names("wide", "format", locale=get_language())
    return [names[day] for day in days]


def _format_day_and_month(moment: datetime) -> str:
    if get_language() == SOURCE:
        return f"{moment.day} {moment:%B}"
    from babel.dates import format_skeleton  # Imported late, as above.

    return format_skeleton("MMMMd", moment, locale=get_language())


def _clamp_day(year: int, month: int, day: int) -> date:
    return date(year, month, min(day, calendar.monthrange(year, month)[1]))
