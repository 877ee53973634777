"""Dates as programs write them for people, in the format of a language and region, such as in WhatsApp's exports.

The words in a date, such as names of months and "p.m.", come from CLDR through Babel. The order of day, month and year
is found from all dates of a chat. If the dates allow several orders, the formats of CLDR decide, and if they allow
several too, the order is unknown.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from babel import Locale

ORDERS = ("dmy", "mdy", "ymd")
MAX_HEADER_CHARS = 90
MIN_EVIDENCE_RATIO = 10
"""How many times more dates must be valid in the chosen order, if some are valid only in another."""
_FIRST_YEAR = 2009
"""WhatsApp's first year. Gemini is younger."""
# Direction marks and the byte order mark; and special spaces, such as that before AM.
_MARKS = dict.fromkeys((*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x61C, 0xFEFF))
_SPACES = {0x202F: " ", 0xA0: " ", 0x2009: " ", 0x3000: " ", 0x9: " "}
_CLEANING = _MARKS | _SPACES
_MARK_CHARS = "".join(map(chr, _MARKS)) + " "
_WIDTHS = ("abbreviated", "wide")
_ERAS = {"令和": 2018, "r": 2018, "平成": 1988, "h": 1988, "民國": 1911, "民国": 1911, "minguo": 1911}
"""The year before the first of each era that counts its years from 1."""
_AT = frozenset(
    "a alle ag at kell kl klo la las les në o ob om ore plkst pukul u um v à às ás в во о на στις ساعت في الساعة בשעה"
    " lúc को এ kello".split()
)
"""Words between a date and a time, which CLDR has in formats that Babel leaves out."""
_PUNCTUATION = frozenset(" ,.:/-\u060c\u3001")
MAX_PUNCTUATION_CHARS = 3
_CALENDARS = frozenset({"be", "พศ", "ah", "ap", "هـ", "ه", "هش", "ad", "ce"})
"""Marks of calendars, which are told apart by their years too."""


class UnreadableDate(ValueError):
    """A date that doesn't exist, or lies in the future."""


class Stamp(NamedTuple):
    """The date and time of a message as written.

    Attributes:
        day: The digits of the date's three numbers in the order of the file, in ASCII. A month's name is replaced.
        hour: The hour of the day, or None if it can't be read.
        era: The year before the era that the year belongs to, if it is written.
        hour_digits: The hour as written.
    """

    day: tuple[str, str, str]
    hour: int | None
    minute: int
    second: int
    era: int | None
    hour_digits: str = ""


_BEGINNINGS = {
    (True, True): re.compile(rf"[{_MARK_CHARS}]*\["),
    (True, False): re.compile(rf"[{_MARK_CHARS}]*\["),
    (False, True): re.compile(rf"[{_MARK_CHARS}]*\d"),
    (False, False): re.compile(""),
}
"""How a line begins in a layout, by whether it has brackets and whether a number is first."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The format of the dates of one file, found from its first message.

    Attributes:
        style: "[]", " - " or ": ", which separate a date from the message.
        texts: The texts before, between and behind the numbers.
        period: The index of the text with the half of the day, if there is one.
        month: The index of the text with the name of the month, if it has one.
        era: The index of the text with the era, if years are counted by eras.
        time_first: Whether the time precedes the date.
    """

    style: str
    texts: tuple[str, ...]
    numbers: int
    period: int | None
    month: int | None
    era: int | None
    time_first: bool

    def may_begin(self, line: str) -> bool:
        """Return False for most lines that don't begin a message. It is quick, since a message may have many lines."""
        return _BEGINNINGS[self.style == "[]", not self.texts[0]].match(line) is not None

    @property
    def date_numbers(self) -> int:
        return 3 if self.month is None else 2


class WrittenLine(NamedTuple):
    """The first line of a message, divided into its date and the rest."""

    style: str
    header: str
    rest: str


def split_line(line: str) -> WrittenLine | None:
    """Divide a line of one of WhatsApp's two layouts, or of its old one. Return None for any other line."""
    start = line[:MAX_HEADER_CHARS].lstrip(_MARK_CHARS)
    offset = min(len(line), MAX_HEADER_CHARS) - len(start)
    if start.startswith("["):
        end = start.find("]")
        return WrittenLine("[]", start[1:end], line[offset + end + 1 :]) if end > 0 else None
    if not any(map(str.isdigit, start[:6])):
        return None
    end = start.find(" - ")
    if end > 0:
        return WrittenLine(" - ", start[:end], line[offset + end + 3 :])
    end = start.find(": ")
    return WrittenLine(": ", start[:end], line[offset + end + 2 :]) if end > 0 else None


def detect_layout(line: WrittenLine) -> Layout | None:
    """Return the layout of a message's first line, or None if that doesn't begin with a date and a time."""
    texts, numbers = _split_numbers(line.header)
    if not 4 <= len(numbers) <= 6:
        return None
    slots: dict[str, int] = {}
    for index, text in enumerate(texts):
        words = _split_words(text)
        if not words:
            if set(text) - _PUNCTUATION or len(text) > MAX_PUNCTUATION_CHARS:
                return None
        elif (kind := _classify(words, index)) is None:
            return None
        elif kind:
            slots[kind] = index
    period, month, era = slots.get("period"), slots.get("month"), slots.get("era")
    time_first = texts[1].strip() == ":"
    layout = Layout(line.style, tuple(texts), len(numbers), period, month, era, time_first)
    return layout if _is_plausible(layout, numbers) else None


def _classify(words: Sequence[str], index: int) -> str | None:
    """Return the kind of the words around numbers: a slot of a layout, or an empty string. None if they are unknown."""
    vocabulary = read_vocabulary()
    # A few languages abbreviate a month as others do half of the day, such as "PM".
    if "".join(words) in vocabulary.periods:
        return "period"
    if "".join(words) in vocabulary.months:
        return "month"
    if index == 0 and any(word in _ERAS for word in words):
        return "era"
    periods = [word for word in words if word in vocabulary.periods]
    known = vocabulary.literals | _AT | _CALENDARS
    others = [word for word in words if word not in known]
    if not others:
        return ""
    return "period" if others == periods and len(periods) == 1 else None


def _is_plausible(layout: Layout, numbers: Sequence[str]) -> bool:
    """Return True if the numbers are a date and a time. A time with seconds and a dash is a line of a log."""
    count = layout.numbers - layout.date_numbers
    if count not in (2, 3) or (count == 3 and layout.style == " - "):
        return False
    first = 0 if layout.time_first else layout.date_numbers
    time, between = numbers[first : first + count], layout.texts[first + 1 : first + count]
    day = numbers[count:] if layout.time_first else numbers[: layout.date_numbers]
    has_colon = all(text.strip() in (":", ".", "") or _split_words(text) for text in between)
    return (
        has_colon
        and all(text.strip() for text in between)
        and len(time[0]) <= 2
        and all(len(number) == 2 for number in time[1:])
        and all(len(number) <= 5 for number in day)
        and not (layout.style == ": " and layout.time_first)
    )


def parse_stamp(line: WrittenLine, layout: Layout) -> Stamp | None:
    """Parse the date of a line. Return None if the line has another layout, so that it continues a message."""
    if line.style != layout.style:
        return None
    texts, numbers = _split_numbers(line.header)
    if len(numbers) != layout.numbers:
        return None
    slots = (layout.period, layout.month, layout.era)
    for index, (text, expected) in enumerate(zip(texts, layout.texts, strict=True)):
        if text != expected and index not in slots:
            return None
    count = len(numbers) - layout.date_numbers
    first = 0 if layout.time_first else layout.date_numbers
    clock = [int(number) for number in numbers[first : first + count]]
    days = numbers[count:] if layout.time_first else numbers[: layout.date_numbers]
    era = None
    if layout.era is not None:
        era = next((_ERAS[word] for word in _split_words(texts[layout.era]) if word in _ERAS), None)
    if layout.month is not None:
        days = _insert_month(days, texts[layout.month])
    hour = _find_hour(clock[0], None if layout.period is None else texts[layout.period])
    return Stamp((days[0], days[1], days[2]), hour, clock[1], clock[2] if count == 3 else 0, era, numbers[first])


def _insert_month(days: Sequence[str], name: str) -> list[str]:
    """Return day, month and year. The year is the longer number, or the second."""
    month = str(read_vocabulary().months.get("".join(_split_words(name)), 0))
    year_first = len(days[0]) > 2
    return [days[1], month, days[0]] if year_first else [days[0], month, days[1]]


def _find_hour(hour: int, period: str | None) -> int | None:
    if hour > 23:
        return None
    if period is None or hour > 12:
        return hour
    periods = read_vocabulary().periods
    words = _split_words(period)
    found = periods.get("".join(words)) or next((periods[word] for word in words if word in periods), None)
    votes = Counter({h: found[h] for h in (hour % 12, hour % 12 + 12)} if found else {})
    ranked = votes.most_common()
    return ranked[0][0] if ranked and ranked[0][1] > ranked[1][1] else None


def _split_numbers(header: str) -> tuple[list[str], list[str]]:
    """Return the texts around the numbers, and the numbers with ASCII digits."""
    cleaned = " ".join(header.translate(_CLEANING).split())
    if not cleaned.isascii():
        cleaned = "".join(str(unicodedata.decimal(char, char)) for char in cleaned)
    pieces = re.split(r"(\d+)", cleaned)
    return pieces[::2], pieces[1::2]


def _split_words(text: str) -> list[str]:
    """Return the words of a text in small letters, without punctuation. Letters with dots between are one word."""
    spaced = re.sub(r"[.\u0387·]", "", text.casefold())
    return re.findall(r"[^\W\d_]+(?:['’ʼ\u0300-\u036f][^\W\d_]*)*|[^\W\d_]\w*", spaced)


# The order of day, month and year.


@dataclass(slots=True)
class DateStatistics:
    """Evidence from all dates of a file for each order."""

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
        most = max(self.total - self.invalid[order] for order in ORDERS)
        orders = [order for order in ORDERS if self.total - self.invalid[order] == most]
        if not most or most < MIN_EVIDENCE_RATIO * min(self.contradicted[order] for order in orders):
            return []
        if len(orders) > 1 and self.differs:
            fewest = min(self.backwards[order] for order in orders)
            orders = [order for order in orders if self.backwards[order] == fewest]
        return orders


def convert_date(day: tuple[str, str, str], order: str, today: date, era: int | None = None) -> date:
    """Return the date of three numbers in an order. Raises UnreadableDate if it doesn't exist or is in the future."""
    numbers = dict(zip(order, day, strict=True))
    digits, month, of_month = numbers["y"], numbers["m"], numbers["d"]
    if len(month) > 2 or len(of_month) > 2:
        raise UnreadableDate("no day")
    try:
        found = _convert(digits, int(month), int(of_month), today, era)
    except (ValueError, OverflowError) as error:
        raise UnreadableDate(str(error)) from error
    # In a zone to the east it may be tomorrow.
    if found > today + timedelta(days=1):
        raise UnreadableDate("it is in the future")
    return found


def _convert(digits: str, month: int, day: int, today: date, era: int | None) -> date:
    year = int(digits)
    if era is not None:
        return date(era + year, month, day)
    if len(digits) == 2:
        # The Buddhist year is 543 ahead, so a year in the future is one of these.
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
    """Return the time of a message. Raises UnreadableDate."""
    day = convert_date(stamp.day, order, today, stamp.era)
    if stamp.hour is None or stamp.minute > 59 or stamp.second > 59:
        raise UnreadableDate("no time")
    return datetime(day.year, day.month, day.day, stamp.hour, stamp.minute, stamp.second, tzinfo=zone)


# CLDR.


class Vocabulary(NamedTuple):
    """The words in dates of all languages.

    Attributes:
        periods: For each word for a part of the day, the number of languages in which it includes each hour.
        months: The number of the month for each of its names.
        literals: Other words in formats, such as "kl" and "à".
    """

    periods: Mapping[str, Counter[int]]
    months: Mapping[str, int]
    literals: frozenset[str]


@functools.cache
def read_vocabulary() -> Vocabulary:
    """Read the words of all languages. Takes a second, so it is only called for a date with letters."""
    periods: defaultdict[str, Counter[int]] = defaultdict(Counter)
    months: dict[str, int] = {}
    literals: set[str] = set()
    for locale in iterate_locales(regional=False):
        rules = _read_period_hours(locale)
        for word, names in _group_periods(locale).items():
            # A word for a half of the day may also be one for a part of that.
            for name in names & {"am", "pm"} or names:
                periods[word].update(rules.get(name, ()))
        for contexts in locale.months.values():
            for width in _WIDTHS:
                for number, word in contexts.get(width, {}).items():
                    months.setdefault("".join(_split_words(word)), number)
        for pattern in _list_patterns(locale):
            for literal in (*re.findall(r"'([^']+)'", pattern), re.sub(r"'[^']*'|[A-Za-z]", " ", pattern)):
                literals.update(_split_words(literal))
    months.pop("", None)
    return Vocabulary(periods, months, frozenset(literals))


def _group_periods(locale: Locale) -> dict[str, set[str]]:
    """Return the names of the parts of the day for each of a language's words for them."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for widths in locale.day_periods.values():
        for width in _WIDTHS:
            for name, word in widths.get(width, {}).items():
                if key := "".join(_split_words(word)):
                    found[key].add(name)
    return found


def iterate_locales(*, regional: bool) -> Iterator[Locale]:
    """Yield the languages of CLDR, and also their variants of regions, which differ in the order of dates."""
    from babel import Locale, localedata  # Takes 0.1 s to import.

    for identifier in localedata.locale_identifiers():
        if regional or "_" not in identifier:
            yield Locale.parse(identifier)


def _read_period_hours(locale: Locale) -> dict[str, set[int]]:
    hours = {"am": set(range(12)), "pm": set(range(12, 24)), "noon": {12}, "midnight": {0}}
    for rules in locale.day_period_rules.values():
        for name, ranges in rules.items():
            for bounds in ranges:
                if "from" in bounds and "before" in bounds:
                    first, end = bounds["from"] // 3600, bounds["before"] // 3600
                    span = range(first, end) if first < end else (*range(first, 24), *range(end))
                    hours.setdefault(name, set()).update(span)
    return hours


def _list_patterns(locale: Locale) -> list[str]:
    formats = [*locale.date_formats.values(), *locale.time_formats.values(), *locale.datetime_skeletons.values()]
    return [str(getattr(pattern, "pattern", pattern)) for pattern in (*formats, *locale.datetime_formats.values())]


def find_orders_by_layout(
    layout: Layout, statistics: DateStatistics, orders: Iterable[str], sample: str
) -> frozenset[str]:
    """Return which of the orders CLDR has for a layout, in the languages with a script that occurs in the chat.

    Formats that equal the whole header count before those that only equal its date.

    Args:
        sample: The beginning of the chat. A phone in Tamil has a chat with Tamil letters.
    """
    scripts = _find_scripts(sample)
    found: dict[int, set[str]] = defaultdict(set)
    for locale in iterate_locales(regional=True):
        if _find_script(str(locale)) not in scripts:
            continue
        for order in {_match_date(pattern, layout, statistics) for pattern in _list_date_patterns(locale)}:
            if order in orders:
                found[_match_time(locale, layout, statistics)].add(order)
    return frozenset(found[max(found)]) if found else frozenset()


def _list_date_patterns(locale: Locale) -> set[str]:
    patterns = {str(locale.date_formats["short"].pattern)}
    if (skeleton := locale.datetime_skeletons.get("yMd")) is not None:
        patterns.add(str(skeleton.pattern))
    return patterns


def _match_date(pattern: str, layout: Layout, statistics: DateStatistics) -> str:
    """Return the order of a format if it can produce the dates of a file; else an empty string."""
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


def _match_time(locale: Locale, layout: Layout, statistics: DateStatistics) -> int:
    """Return how well the times of a language fit, with what it writes between date and time.

    The result is 2 for its default clock, 1 for the other one, which the user may have chosen, and 0 for neither.
    """
    skeletons = locale.datetime_skeletons
    pattern = skeletons.get("hm" if layout.period is not None else "Hm")
    glue = re.split(r"\{[01]\}", str(locale.datetime_formats["short"]))[1]
    if pattern is None or layout.time_first or layout.month is not None:
        return 0
    fits_glue = layout.period == 3 or _normalize(glue) == _normalize(layout.texts[3])
    clock = re.fullmatch(r"[^hH]*(h+|H+)([^m]*)m+.*", str(pattern.pattern))
    if not fits_glue or clock is None or _normalize(clock[2]) != _normalize(layout.texts[4]):
        return 0
    if statistics.has_zero[3] if len(clock[1]) == 1 else 1 in statistics.digits[3]:
        return 0
    if layout.period is not None:
        period = layout.texts[layout.period].translate(_CLEANING)
        if "".join(period.strip(" ,").split()) not in {
            "".join(word.translate(_CLEANING).split()) for word in _list_halves(locale)
        }:
            return 0
    has_half = "a" in str(locale.time_formats["short"].pattern)
    return 2 if has_half == (layout.period is not None) else 1


def _list_halves(locale: Locale) -> Iterator[str]:
    for widths in locale.day_periods.values():
        for width in _WIDTHS:
            halves = widths.get(width, {})
            yield from (halves[name] for name in ("am", "pm") if name in halves)


def _normalize(text: str) -> str:
    return " ".join(text.translate(_CLEANING).replace("'", "").split())


def _find_script(identifier: str) -> str:
    from babel.core import get_global

    known = get_global("likely_subtags")
    parts = identifier.split("_")
    script = next((part for part in parts[1:] if len(part) == 4 and part.isalpha()), None)
    return script or (known.get(identifier) or known.get(parts[0]) or "__Latn").split("_")[1]


def _find_scripts(sample: str) -> frozenset[str]:
    """Return the scripts of a text, as in the identifiers of languages."""
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
"""Scripts of languages by the first word in the names of their letters."""
