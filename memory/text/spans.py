"""Parsing of date ranges such as `2026-02` to `2026-03-15`."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from memory.errors import MnemeError

_DATE = re.compile(r"(?P<year>\d{4})(?:-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2})(?:[T ].*)?)?)?")


class WrongDate(MnemeError):
    """The text is not a date, or the range ends before it begins."""


def parse_span(since: str, until: str, zone: ZoneInfo) -> tuple[datetime | None, datetime | None]:
    """Return the start of `since` and the end of `until`, exclusive. An empty text gives None.

    Each is a day, a month or a year: `2026-02-28`, `2026-02`, `2026`. A time of day is ignored. Raises WrongDate.
    """
    begins = _parse_days(since, zone)[0] if since.strip() else None
    ends = _parse_days(until, zone)[1] if until.strip() else None
    if begins is not None and ends is not None and begins >= ends:
        raise WrongDate(
            f"the time from {since.strip()} until {until.strip()} ends before it begins: exchange the dates"
        )
    return begins, ends


def _parse_days(text: str, zone: ZoneInfo) -> tuple[datetime, datetime]:
    match = _DATE.fullmatch(text.strip())
    try:
        if match is None:
            raise ValueError(text)
        year, month, day = (int(match[part]) if match[part] else None for part in ("year", "month", "day"))
        first = date(year or 1, month or 1, day or 1)
        if day is not None:
            following = first + timedelta(days=1)
        elif month is not None:
            following = date(first.year + month // 12, month % 12 + 1, 1)
        else:
            following = date(first.year + 1, 1, 1)
    except (ValueError, OverflowError) as error:
        raise WrongDate(f'"{text.strip()}" isn\'t a date: write it as 2026-02-28, 2026-02 or 2026') from error
    return datetime.combine(first, time(), zone), datetime.combine(following, time(), zone)
