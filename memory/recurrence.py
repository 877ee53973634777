"""Recurrence rules in wall-clock time.

A rule belongs to a time zone, so a daily 9:00 stays 9:00 when the clocks change. A time that is skipped at the start of
summer time moves forward by the gap (02:30 to 03:30). A time that occurs twice counts once, the first time. RFC 5545
defines the same.
"""

from __future__ import annotations

import calendar
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from config.texts import N_, SOURCE, _, get_language

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
LAST = -1
_DAY = timedelta(days=1)
_NTH = {1: N_("the first"), 2: N_("the second"), 3: N_("the third"), 4: N_("the fourth"), LAST: N_("the last")}


class Repeat(StrEnum):
    ONCE = "once"
    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"
    YEARLY = "yearly"


@dataclass(frozen=True, slots=True)
class Rule:
    """A recurrence rule in wall-clock time. `str` describes it in the user's language.

    Attributes:
        first: The first time, without a zone. Shorter months use their last day.
        days: Weekdays of a weekly rule, or of a monthly one with `nth`; Monday is 0.
        every: Number of days, weeks, months or years from one time to the next.
        nth: In a monthly rule, which of these weekdays of the month: 1 to 4, or LAST. LAST without weekdays is the last
            day of the month. 0 is the day of `first`.
    """

    repeat: Repeat
    first: datetime
    zone: ZoneInfo
    days: tuple[int, ...] = ()
    every: int = 1
    nth: int = 0

    def find_next(self, moment: datetime) -> datetime | None:
        """Return the first time after `moment` in UTC, or None after the last one."""
        since = max(self.first.date(), moment.astimezone(self.zone).date() - _DAY)
        comes = (self._get_time_on(day) for day in self._iterate_days(since) if day >= self.first.date())
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
                passed = (since - self.first.date()).days
                return (since + n * _DAY for n in itertools.count(-passed % self.every, self.every))
            case Repeat.WEEKLY:
                days = self.days or (self.first.weekday(),)
                monday = self.first.date() - self.first.weekday() * _DAY
                following = (since + n * _DAY for n in itertools.count())
                return (d for d in following if d.weekday() in days and (d - monday).days // 7 % self.every == 0)
            case Repeat.MONTHLY:
                passed = (since.year - self.first.year) * 12 + since.month - self.first.month
                start = since.year * 12 + since.month - 1
                months = (divmod(start + n, 12) for n in itertools.count(-passed % self.every, self.every))
                return (day for year, month in months for day in self._list_days_of_month(year, month + 1))
            case Repeat.YEARLY:
                years = itertools.count(since.year + (self.first.year - since.year) % self.every, self.every)
                return (_clamp_day(year, self.first.month, self.first.day) for year in years)

    def _list_days_of_month(self, year: int, month: int) -> list[date]:
        """Return the days of a monthly rule in a month, in order."""
        if self.nth == LAST and not self.days:
            return [_clamp_day(year, month, 31)]
        if not self.nth:
            return [_clamp_day(year, month, self.first.day)]
        weeks = calendar.monthcalendar(year, month)
        found = []
        for weekday in self.days:
            all_days = [week[weekday] for week in weeks if week[weekday]]
            found.append(date(year, month, all_days[-1 if self.nth == LAST else self.nth - 1]))
        return sorted(found)

    def __str__(self) -> str:
        weekdays = ", ".join(_format_weekdays(self.days or (self.first.weekday(),)))
        match self.repeat:
            case Repeat.ONCE:
                return _("once")
            case Repeat.DAILY:
                return _("daily") if self.every == 1 else _("every {n} days", n=self.every)
            case Repeat.WEEKLY:
                if self.every == 1:
                    return _("weekly on {days}", days=weekdays)
                return _("every {n} weeks on {days}", n=self.every, days=weekdays)
            case Repeat.MONTHLY:
                if not self.nth:
                    day = _("day {day}", day=self.first.day)
                elif not self.days:
                    day = _("the last day")
                else:
                    day = f"{_(_NTH[self.nth])} {weekdays}"
                if self.every == 1:
                    return _("monthly on {day}", day=day)
                return _("every {n} months on {day}", n=self.every, day=day)
            case Repeat.YEARLY:
                day = _format_day_and_month(self.first)
                return (
                    _("yearly on {day}", day=day) if self.every == 1 else f"{_('every {n} years', n=self.every)}, {day}"
                )


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
