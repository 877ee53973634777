"""When a reminder comes: at one moment, or again and again at an hour on the wall clock of a time zone.

A daily 9:00 stays 9:00 when the clocks change. An hour that a day lacks, as when summer time begins, comes as much
later as is left out (02:30 at 03:30); one that a day has twice comes once, the first time. RFC 5545 reads them so too.
"""

from __future__ import annotations

import calendar
import itertools
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from config.texts import SOURCE, _, spoken

if TYPE_CHECKING:
    from collections.abc import Iterator
    from zoneinfo import ZoneInfo

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_DAY = timedelta(days=1)


class Repeat(StrEnum):
    """How often."""

    ONCE = "once"
    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"
    YEARLY = "yearly"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rhythm, in the words of a wall clock; as a text it is in the language that is spoken.

    first: the first time, without a zone; its day of the month and its month go for all. A month that has no such day
    takes its last one. days: of a week, Monday is 0; only for a weekly one.
    """

    repeat: Repeat
    first: datetime
    zone: ZoneInfo
    days: tuple[int, ...] = ()

    def after(self, moment: datetime) -> datetime | None:
        """The first time after `moment`, in UTC; None where nothing comes any more."""
        since = max(self.first.date(), moment.astimezone(self.zone).date() - _DAY)
        comes = (self._on(day) for day in self._days_from(since))
        return next((at for at in comes if at > moment), None)

    def between(self, since: datetime, until: datetime) -> list[datetime]:
        """All times after `since` up to `until`, in UTC."""
        moments: list[datetime] = []
        at = self.after(since)
        while at is not None and at <= until:
            moments.append(at)
            at = self.after(at)
        return moments

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
