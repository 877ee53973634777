"""Parses dates in the format of any language and region, such as in WhatsApp's exports.

The layout is detected from the first date and must match all other dates. It doesn't include the order of day, month
and year, which date_orders.py detects.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bot.features.imports.date_words import ERAS, classify, find_hour, find_month, split_words

MAX_HEADER_CHARS = 90
# Direction marks, the byte order mark, and special spaces such as the one before AM.
_MARKS = dict.fromkeys((*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x61C, 0xFEFF))
_SPACES = {0x202F: " ", 0xA0: " ", 0x2009: " ", 0x3000: " ", 0x9: " "}
CLEANING = _MARKS | _SPACES
_MARK_CHARS = "".join(map(chr, _MARKS)) + " "
_PUNCTUATION = frozenset(" ,.:/-()\u060c\u3001")
MAX_PUNCTUATION_CHARS = 3
MAX_WORDS_CHARS = 24


class Stamp(NamedTuple):
    """The date and time of a message as written.

    Attributes:
        day: The three numbers of the date in the order of the file, as ASCII digits. The name of a month is replaced by
            its number.
        hour: The hour of the day, or None if it is invalid.
        era: The year before the first year of the era, or None if the date names no era.
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
"""Patterns for the beginning of a message, by whether the layout has brackets and whether it begins with a number."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The format of the dates of one file, detected from its first message.

    Attributes:
        style: The separator between a date and the message: "[]", " - " or ": ".
        texts: The texts before, between and after the numbers.
        numbers: How many numbers a date and its time have.
        period: The index of the text with the part of the day, such as "PM", if there is one.
        month: The index of the text with the name of the month, if the month is not a number.
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
        """Return False for most lines that don't begin a message. This is a quick check before the line is parsed."""
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
    """Divide a line in one of WhatsApp's two layouts or in its former layout. Return None for other lines."""
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
    """Detect the layout of a message's first line. Return None if it doesn't begin with a date and a time."""
    texts, numbers = _split_numbers(line.header)
    if not 4 <= len(numbers) <= 6:
        return None
    slots: dict[str, int] = {}
    for index, text in enumerate(texts):
        words = split_words(text)
        if not words:
            if set(text) - _PUNCTUATION or len(text) > MAX_PUNCTUATION_CHARS:
                return None
        elif len(text) > MAX_WORDS_CHARS or (kind := classify(words, index)) is None:
            return None
        elif kind:
            slots[kind] = index
    period, month, era = slots.get("period"), slots.get("month"), slots.get("era")
    time_first = texts[1].strip() == ":"
    layout = Layout(line.style, tuple(texts), len(numbers), period, month, era, time_first)
    return layout if _is_plausible(layout, numbers) else None


def _is_plausible(layout: Layout, numbers: Sequence[str]) -> bool:
    """Return True if the numbers are a date and a time. A dash after seconds means that the line is from a log."""
    count = layout.numbers - layout.date_numbers
    if count not in (2, 3) or (count == 3 and layout.style == " - "):
        return False
    first = 0 if layout.time_first else layout.date_numbers
    time, between = numbers[first : first + count], layout.texts[first + 1 : first + count]
    day = numbers[count:] if layout.time_first else numbers[: layout.date_numbers]
    has_colon = all(text.strip() in (":", ".", "") or split_words(text) for text in between)
    return (
        has_colon
        and all(text.strip() for text in between)
        and len(time[0]) <= 2
        and all(len(number) == 2 or split_words(text) for number, text in zip(time[1:], between, strict=True))
        and all(len(number) <= 5 for number in day)
        and not (layout.style == ": " and layout.time_first)
    )


def parse_stamp(line: WrittenLine, layout: Layout) -> Stamp | None:
    """Parse the date of a line. Return None if the line has another layout, so it continues a message."""
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
        era = next((ERAS[word] for word in split_words(texts[layout.era]) if word in ERAS), None)
    if layout.month is not None:
        days = _insert_month(days, texts[layout.month])
    hour = find_hour(clock[0], None if layout.period is None else texts[layout.period])
    return Stamp((days[0], days[1], days[2]), hour, clock[1], clock[2] if count == 3 else 0, era, numbers[first])


def _insert_month(days: Sequence[str], name: str) -> list[str]:
    """Return day, month and year. The year is the longer number, or the second."""
    month = str(find_month(name) or 0)
    year_first = len(days[0]) > 2
    return [days[1], month, days[0]] if year_first else [days[0], month, days[1]]


def _split_numbers(header: str) -> tuple[list[str], list[str]]:
    """Return the texts around the numbers, and the numbers with ASCII digits."""
    cleaned = " ".join(header.translate(CLEANING).split())
    if not cleaned.isascii():
        cleaned = "".join(str(unicodedata.decimal(char, char)) for char in cleaned)
    pieces = re.split(r"(\d+)", cleaned)
    return pieces[::2], pieces[1::2]
