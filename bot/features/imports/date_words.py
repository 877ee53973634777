"""Words that occur in dates, such as names of months and "p.m.", in all languages of CLDR (read with Babel)."""

from __future__ import annotations

import functools
import pickle
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import regex

if TYPE_CHECKING:
    from babel import Locale

_WORD = regex.compile(r"[\p{L}\p{M}]+(?:['’ʼ][\p{L}\p{M}]*)*")
_DOTS = regex.compile(r"[.\u0387·]")
WIDTHS = ("abbreviated", "wide")
_PARTS = frozenset(
    (
        *("months", "day_periods", "day_period_rules", "languages"),
        *("date_formats", "time_formats", "datetime_formats", "datetime_skeletons"),
    )
)
"""The parts of Babel's data about a language that are read here and in date_orders.py."""
_Parts = dict[str | int | None, Any]
_ROOT = "root"
"""Babel's name of the data from which all languages inherit."""
ERAS = {"令和": 2018, "r": 2018, "平成": 1988, "h": 1988, "民國": 1911, "民国": 1911, "minguo": 1911}
"""The year before the first year of each era. The years of an era count from 1."""
_CALENDARS = frozenset({"be", "พศ", "ah", "ap", "هـ", "ه", "هش", "ad", "ce"})
"""Names of calendars in dates. They are ignored, since the year itself shows the calendar."""
_AT = frozenset(
    "a alle ag at kell kl klo la las les në o ob om ore plkst pukul u um v à às ás в во о на στις ساعت في الساعة בשעה"
    " lúc को এ kello".split()
)
"""Words between a date and a time. CLDR has them in formats that Babel doesn't load."""


class Vocabulary(NamedTuple):
    """The words in dates of all languages.

    Attributes:
        periods: For each word for a part of the day, the weight of each hour: the sum over the languages in which the
            word includes that hour.
        months: The number of each month by its names.
        literals: Other words in date formats, such as "kl" and "à".
    """

    periods: Mapping[str, Counter[int]]
    months: Mapping[str, int]
    literals: frozenset[str]


@functools.cache
def read_vocabulary(*, regional: bool = False) -> Vocabulary:
    """Read the words of all languages.

    This takes half a second, or one with regional variants, so it is only called for a date with letters.

    Args:
        regional: Also read the words of the languages' regional variants.
    """
    periods: defaultdict[str, Counter[int]] = defaultdict(Counter)
    months: dict[str, int] = {}
    literals: set[str] = set()
    for locale in iterate_locales(regional=regional):
        rules = _read_period_hours(locale)
        # A word may mean morning in one language and afternoon in another. The language that CLDR knows better wins.
        weight = len(locale.languages)
        for word, names in _group_periods(locale).items():
            # A word for a half of the day may also mean a part of that half.
            for name in names & {"am", "pm"} or names:
                for hour in rules.get(name, ()):
                    periods[word][hour] += weight
        for word, number in _list_months(locale):
            months.setdefault("".join(split_words(word)), number)
        for pattern in _list_patterns(locale):
            for literal in (*re.findall(r"'([^']+)'", pattern), re.sub(r"'[^']*'|[A-Za-z]", " ", pattern)):
                literals.update(split_words(literal))
    months.pop("", None)
    return Vocabulary(periods, months, frozenset(literals))


def _list_months(locale: Locale) -> Iterator[tuple[str, int]]:
    for contexts in locale.months.values():
        for width in WIDTHS:
            for number, word in contexts.get(width, {}).items():
                # Chinese months are numbered.
                if not any(map(str.isdigit, word)):
                    yield word, number


def _group_periods(locale: Locale) -> dict[str, set[str]]:
    """Return a language's words for the parts of the day, each with CLDR's names of the parts that it means."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for widths in locale.day_periods.values():
        for width in WIDTHS:
            for name, word in widths.get(width, {}).items():
                if key := "".join(split_words(word)):
                    found[key].add(name)
    return found


def iterate_locales(*, regional: bool) -> Iterator[Locale]:
    """Yield the languages of CLDR.

    Args:
        regional: Also yield the languages' regional variants, which differ in the order of dates.
    """
    from babel import localedata  # Takes 0.1 s to import.

    loaded: dict[str, _Parts] = {}
    identifiers = sorted(name for name in localedata.locale_identifiers() if regional or "_" not in name)
    for _language, variants in groupby(identifiers, key=lambda name: name.partition("_")[0]):
        for identifier in variants:
            yield load_locale(identifier, loaded)
        for name in loaded.keys() - {_ROOT}:
            del loaded[name]


def load_locale(identifier: str, loaded: dict[str, _Parts]) -> Locale:
    """Return a language with the parts that dates need.

    Babel would load all of it, which takes four times as long, and keep it in memory.

    Args:
        loaded: The parts of other languages. Those of this language and its parents are added.
    """
    from babel import Locale, localedata

    locale = Locale.parse(identifier)
    vars(locale)["_Locale__data"] = localedata.LocaleDataDict(_load_parts(str(locale), loaded))
    return locale


def _load_parts(identifier: str, loaded: dict[str, _Parts]) -> _Parts:
    """Return the parts of a language, merged with those of its parents as Babel does it."""
    from babel import localedata
    from babel.core import get_global

    if identifier in loaded:
        return loaded[identifier]
    content = pickle.loads(Path(localedata.resolve_locale_filename(identifier)).read_bytes())  # noqa: S301  # Babel's
    own = {name: value for name, value in content.items() if name in _PARTS}
    parts: _Parts = {}
    if identifier != _ROOT:
        parent = get_global("parent_exceptions").get(identifier)
        if parent is None:
            is_alone = localedata._is_non_likely_script(identifier)  # noqa: SLF001  # A rule of CLDR.
            parent = _ROOT if is_alone else identifier.rpartition("_")[0] or _ROOT
        parts = _load_parts(parent, loaded).copy()
    localedata.merge(parts, own)
    loaded[identifier] = parts
    return parts


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


def classify(words: Sequence[str], index: int) -> str | None:
    """Classify the words between the numbers of a date.

    Args:
        index: How many numbers precede the words.

    Returns:
        "period", "month", "era", an empty string for other known words, or None if a word is unknown.
    """
    kind = _classify_with(read_vocabulary(), words, index)
    return kind if kind is not None else _classify_with(read_vocabulary(regional=True), words, index)


def _classify_with(vocabulary: Vocabulary, words: Sequence[str], index: int) -> str | None:
    # In a few languages, the abbreviation of a month is the same as "PM" in another language.
    if _find_period(vocabulary, words):
        return "period"
    if "".join(words) in vocabulary.months:
        return "month"
    if index == 0 and any(word in ERAS for word in words):
        return "era"
    known = vocabulary.literals | _AT | _CALENDARS
    return "" if all(word in known for word in words) else None


def _find_period(vocabulary: Vocabulary, words: Sequence[str]) -> Counter[int] | None:
    """Return the hours of the part of the day in `words`, which may include a word such as "at"."""
    if found := vocabulary.periods.get("".join(words)):
        return found
    known = vocabulary.literals | _AT
    others = [word for word in words if word not in known]
    return vocabulary.periods.get(others[0]) if len(others) == 1 else None


def find_hour(hour: int, period: str | None) -> int | None:
    """Convert an hour to the hour of the day. Return None if that is not possible.

    Args:
        period: The text with the part of the day, or None for a clock with 24 hours.
    """
    if hour > 23:
        return None
    if period is None or hour > 12:
        return hour
    words = split_words(period)
    found = _find_period(read_vocabulary(), words) or _find_period(read_vocabulary(regional=True), words)
    if not found:
        return None
    morning, later = hour % 12, hour % 12 + 12
    if found[morning] == found[later]:
        # A word for the afternoon may be used for all hours after noon.
        first, second = sum(found[h] for h in range(12)), sum(found[h] for h in range(12, 24))
        return None if first == second else morning if first > second else later
    return morning if found[morning] > found[later] else later


def find_month(name: str) -> int | None:
    word = "".join(split_words(name))
    return read_vocabulary().months.get(word) or read_vocabulary(regional=True).months.get(word)


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation. Dots don't separate words: "p.m." is "pm"."""
    return [str(word) for word in _WORD.findall(_DOTS.sub("", text.casefold()))]
