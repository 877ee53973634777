"""Detect the order of day, month and year in dates, and convert dates by their order.

All dates of a text are evidence: some numbers can't be a month, and the dates are in chronological order. If several
orders are still possible, the formats of CLDR decide.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

from bot.features.imports.date_words import WIDTHS, iterate_locales
from bot.features.imports.written_dates import CLEANING, Layout, Stamp

if TYPE_CHECKING:
    from babel import Locale

ORDERS = ("dmy", "mdy", "ymd")
MIN_EVIDENCE_RATIO = 10
"""Minimum ratio of the dates that are valid in an order to the dates that are valid only in other orders."""
_FIRST_YEAR = 2009
"""WhatsApp's first year. Gemini is younger."""


class UnreadableDate(ValueError):
    """Raised for a date that doesn't exist or is in the future."""


@dataclass(slots=True)
class DateStatistics:
    """Evidence for each order from all dates of a file.

    Attributes:
        invalid: The number of dates that are invalid in each order.
        contradicted: The number of dates that are invalid in each order, but valid in another.
        backwards: How often a date is before the previous one, in each order.
        differs: Whether any date means different days in different orders.
        last: The previous date, in each order.
        has_zero: Whether each of the three numbers of a date, or the hour, was written with a leading zero.
        digits: The lengths with which each of these numbers was written.
    """

    today: date
    total: int = 0
    invalid: Counter[str] = field(default_factory=Counter)
    contradicted: Counter[str] = field(default_factory=Counter)
    backwards: Counter[str] = field(default_factory=Counter)
    differs: bool = False
    last: dict[str, date] = field(default_factory=dict)
    has_zero: list[bool] = field(default_factory=lambda: [False] * 4)
    digits: list[set[int]] = field(default_factory=lambda: [set(), set(), set(), set()])

    def add(self, stamp: Stamp) -> None:
        day = stamp.day
        self.total += 1
        moments: dict[str, date] = {}
        for order in ORDERS:
            try:
                moments[order] = convert_date(day, order, self.today, stamp.era)
            except UnreadableDate:
                self.invalid[order] += 1
                continue
            self.backwards[order] += moments[order] < self.last.get(order, moments[order])
            self.last[order] = moments[order]
        for order in ORDERS:
            self.contradicted[order] += bool(moments) and order not in moments
        self.differs |= len(set(moments.values())) > 1
        for index, number in enumerate((*day, stamp.hour_digits)):
            self.digits[index].add(len(number))
            self.has_zero[index] |= len(number) == 2 and number[0] == "0"

    def choose_orders(self) -> list[str]:
        """Return the orders that the dates allow, without those that are less likely. Several mean a tie."""
        if not self.total:
            return []
        max_valid = max(self.total - self.invalid[order] for order in ORDERS)
        orders = [order for order in ORDERS if self.total - self.invalid[order] == max_valid]
        if not max_valid or max_valid < MIN_EVIDENCE_RATIO * min(self.contradicted[order] for order in orders):
            return []
        if len(orders) > 1 and self.differs:
            min_backwards = min(self.backwards[order] for order in orders)
            orders = [order for order in orders if self.backwards[order] == min_backwards]
        return orders


@functools.lru_cache(maxsize=1_024)
def convert_date(day: tuple[str, str, str], order: str, today: date, era: int | None = None) -> date:
    """Convert three numbers in an order to a date. Raises UnreadableDate if it doesn't exist or is in the future."""
    numbers = dict(zip(order, day, strict=True))
    year_digits, month_digits, day_digits = numbers["y"], numbers["m"], numbers["d"]
    if len(month_digits) > 2 or len(day_digits) > 2:
        raise UnreadableDate("no day")
    try:
        converted = _convert(year_digits, int(month_digits), int(day_digits), today, era)
    except (ValueError, OverflowError) as error:
        raise UnreadableDate(str(error)) from error
    # In a time zone to the east it may already be tomorrow.
    if converted > today + timedelta(days=1):
        raise UnreadableDate("it is in the future")
    return converted


def _convert(digits: str, month: int, day: int, today: date, era: int | None) -> date:
    year = int(digits)
    if era is not None:
        return date(era + year, month, day)
    if len(digits) == 2:
        # Buddhist years are 543 ahead, so a year in the future is Buddhist.
        found = 2000 + year if 2000 + year <= today.year + 1 else 2500 + year - 543
        if found < _FIRST_YEAR:
            raise UnreadableDate("no year")
        return date(found, month, day)
    if _FIRST_YEAR <= year <= today.year + 1:
        return date(year, month, day)
    if _FIRST_YEAR + 543 <= year <= today.year + 544:
        return date(year - 543, month, day)
    if _FIRST_YEAR - 622 <= year <= today.year - 620:
        return _convert_persian(year, month, day)
    if 1420 <= year <= today.year - 570:
        from hijridate import Hijri

        return Hijri(year, month, day).to_gregorian()
    if len(digits) == 3 and _FIRST_YEAR - 1911 <= year <= today.year - 1910:
        return date(year + 1911, month, day)
    raise UnreadableDate("no year")


def _convert_persian(year: int, month: int, day: int) -> date:
    """Convert a date of the Solar Hijri calendar by its cycle of 33 years, which is exact from 1178 to 1633."""
    is_leap = year % 33 in (1, 5, 9, 13, 17, 22, 26, 30)
    length = 31 if month <= 6 else 30 if month < 12 or is_leap else 29
    if not (1 <= month <= 12 and 1 <= day <= length):
        raise UnreadableDate("no day")
    # 1 Farvardin 1375 was 20 March 1996.
    leaps = sum(y % 33 in (1, 5, 9, 13, 17, 22, 26, 30) for y in range(1375, year))
    passed = (year - 1375) * 365 + leaps + (month - 1) * 31 - max(0, month - 7)
    return date(1996, 3, 20) + timedelta(days=passed + day - 1)


def to_moment(stamp: Stamp, order: str, today: date, zone: ZoneInfo) -> datetime:
    """Convert the date and time of a message. Raises UnreadableDate if they are invalid."""
    day = convert_date(stamp.day, order, today, stamp.era)
    if stamp.hour is None or stamp.minute > 59 or stamp.second > 59:
        raise UnreadableDate("no time")
    return datetime(day.year, day.month, day.day, stamp.hour, stamp.minute, stamp.second, tzinfo=zone)


def find_orders_by_layout(
    layout: Layout, statistics: DateStatistics, orders: Iterable[str], sample: str
) -> frozenset[str]:
    """Return those orders that a format of CLDR with this layout has.

    Only languages with a script that occurs in the chat count. Formats that match the date and the time take precedence
    over formats that match only the date.

    Args:
        sample: The beginning of the chat. It shows the script: a phone in Tamil has a chat with Tamil letters.
    """
    scripts = _find_scripts(sample)
    found: dict[int, set[str]] = defaultdict(set)
    for formats in _read_formats():
        if formats.script not in scripts:
            continue
        for order in {_match_date(pattern, layout, statistics) for pattern in formats.dates}:
            if order in orders:
                found[_match_time(formats, layout, statistics)].add(order)
    return frozenset(found[max(found)]) if found else frozenset()


class _Formats(NamedTuple):
    """The formats of a language that can occur in a file.

    Attributes:
        times: The time format with 12 hours and the one with 24 hours.
        glue: The text between date and time.
        halves: The words for the halves of the day, such as "am" and "pm".
        has_half: Whether the language's default clock has 12 hours.
    """

    script: str
    dates: tuple[str, ...]
    times: tuple[str | None, str | None]
    glue: str
    halves: frozenset[str]
    has_half: bool


@functools.cache
def _read_formats() -> tuple[_Formats, ...]:
    """Read the formats of all languages and regions, which takes half a second."""
    return tuple(map(_read_locale, iterate_locales(regional=True)))


def _read_locale(locale: Locale) -> _Formats:
    skeletons = {name: str(pattern.pattern) for name, pattern in locale.datetime_skeletons.items()}
    dates = {str(locale.date_formats["short"].pattern), skeletons.get("yMd")}
    return _Formats(
        _find_script(str(locale)),
        tuple(sorted(filter(None, dates))),
        (skeletons.get("hm"), skeletons.get("Hm")),
        _normalize(re.split(r"\{[01]\}", str(locale.datetime_formats["short"]))[1]),
        frozenset("".join(word.translate(CLEANING).split()) for word in _list_halves(locale)),
        "a" in str(locale.time_formats["short"].pattern),
    )


def _match_date(pattern: str, layout: Layout, statistics: DateStatistics) -> str:
    """Return the order of a format, or an empty string if it can't have produced the dates of a file."""
    fields = re.findall(r"y+|M+|L+|d+", pattern)
    texts = [_normalize(text) for text in re.split(r"y+|M+|L+|d+", pattern)]
    offset = layout.numbers - 3 if layout.time_first else 0
    if len(fields) != 3 or texts[1:3] != [_normalize(text) for text in layout.texts[offset + 1 : offset + 3]]:
        return ""
    for index, name in enumerate(fields):
        is_padded = len(name) == 2
        if name.startswith("y"):
            if statistics.digits[index] != ({2} if is_padded else {4}):
                return ""
        elif 1 in statistics.digits[index] if is_padded else statistics.has_zero[index]:
            return ""
    return "".join(name[0] for name in fields).lower().replace("l", "m")


def _match_time(formats: _Formats, layout: Layout, statistics: DateStatistics) -> int:
    """Score how well a language matches the times of a file and the text between date and time.

    Returns:
        2 for the language's default clock, 1 for its other clock, which the user may have chosen, or 0 for no match.
    """
    pattern = formats.times[layout.period is None]
    if pattern is None or layout.time_first or layout.month is not None:
        return 0
    fits_glue = layout.period == 3 or formats.glue == _normalize(layout.texts[3])
    clock = re.fullmatch(r"[^hH]*(h+|H+)([^m]*)m+.*", pattern)
    if not fits_glue or clock is None or _normalize(clock[2]) != _normalize(layout.texts[4]):
        return 0
    if statistics.has_zero[3] if len(clock[1]) == 1 else 1 in statistics.digits[3]:
        return 0
    if layout.period is not None:
        period = layout.texts[layout.period].translate(CLEANING)
        if "".join(period.strip(" ,").split()) not in formats.halves:
            return 0
    return 2 if formats.has_half == (layout.period is not None) else 1


def _list_halves(locale: Locale) -> Iterator[str]:
    for widths in locale.day_periods.values():
        for width in WIDTHS:
            halves = widths.get(width, {})
            yield from (halves[name] for name in ("am", "pm") if name in halves)


def _normalize(text: str) -> str:
    return " ".join(text.translate(CLEANING).replace("'", "").split())


def _find_script(identifier: str) -> str:
    from babel.core import get_global

    known = get_global("likely_subtags")
    parts = identifier.split("_")
    script = next((part for part in parts[1:] if len(part) == 4 and part.isalpha()), None)
    return script or (known.get(identifier) or known.get(parts[0]) or "__Latn").split("_")[1]


def _find_scripts(sample: str) -> frozenset[str]:
    """Return the scripts of a text, as four-letter codes such as "Latn"."""
    names = {unicodedata.name(char, "").partition(" ")[0] for char in set(sample) if char.isalpha()}
    codes = {code for name in names if name in _SCRIPTS for code in _SCRIPTS[name].split()}
    return frozenset(codes)


_SCRIPTS = {
    "LATIN": "Latn",
    "CYRILLIC": "Cyrl",
    "GREEK": "Grek",
    "ARABIC": "Arab",
    "HEBREW": "Hebr",
    "DEVANAGARI": "Deva",
    "BENGALI": "Beng",
    "GUJARATI": "Gujr",
    "GURMUKHI": "Guru",
    "KANNADA": "Knda",
    "MALAYALAM": "Mlym",
    "TAMIL": "Taml",
    "TELUGU": "Telu",
    "ORIYA": "Orya",
    "SINHALA": "Sinh",
    "THAI": "Thai",
    "LAO": "Laoo",
    "KHMER": "Khmr",
    "MYANMAR": "Mymr",
    "TIBETAN": "Tibt",
    "GEORGIAN": "Geor",
    "ARMENIAN": "Armn",
    "ETHIOPIC": "Ethi",
    "CJK": "Hans Hant Jpan Kore",
    "HIRAGANA": "Jpan",
    "KATAKANA": "Jpan",
    "HANGUL": "Kore",
    "CHEROKEE": "Cher",
    "THAANA": "Thaa",
}
"""Codes of scripts by the first word in the Unicode names of their letters."""
