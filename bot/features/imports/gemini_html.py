"""The reader for Gemini's MyActivity.html, the default format of Google Takeout, in any language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from bot.features.imports.date_orders import DateStatistics, to_moment
from bot.features.imports.gemini import (
    GEMINI,
    NOT_PROMPTS,
    OTHER_PRODUCTS,
    create_exchange,
    find_beginning,
    strip_beginning,
)
from bot.features.imports.items import ITEM_ERRORS, UNREADABLE, Item, SkippedItem
from bot.features.imports.source import ImportSource, PartKind
from bot.features.imports.written_dates import Layout, Stamp, WrittenLine, detect_layout, parse_stamp

_ACTIVITY = re.compile(r'class="outer-cell')
_ZONE = re.compile(r"\s*(?P<zone>[A-Z]{2,5}|(?:GMT|UTC)[+-]\d{1,2}(?::?\d\d)?)$")


class _Record(NamedTuple):
    title: str
    date: str
    answer: str
    is_gemini: bool


class GeminiHtmlReader:
    name = "Gemini"

    def __init__(self, zone: ZoneInfo, today: date) -> None:
        self._zone = zone
        self._today = today

    def find(self, source: ImportSource) -> list[str]:
        return [
            name
            for name in source.find_kind(PartKind.HTML)
            if _ACTIVITY.search(head := source.read_head(name)) and GEMINI.search(head)
        ]

    def read(self, source: ImportSource, names: Sequence[str]) -> Iterator[Item]:
        for name in names:
            found = source.read_page(name, "activity")["records"]
            records = [_Record(r["title"], r["date"], r["answer"], bool(GEMINI.search(r["header"]))) for r in found]
            beginning = find_beginning(r.title for r in records if r.is_gemini and r.answer)
            dates = _Dates(records, self._today, self._zone)
            for number, record in enumerate(records, 1):
                prompt = strip_beginning(record.title, beginning)
                if not record.is_gemini:
                    yield SkippedItem(OTHER_PRODUCTS)
                elif prompt is None and not record.answer:
                    yield SkippedItem(NOT_PROMPTS)
                else:
                    yield self._create(record, prompt or record.title, dates, f"{name}, record {number}")

    def _create(self, record: _Record, prompt: str, dates: _Dates, place: str) -> Item:
        try:
            return create_exchange(prompt, [record.answer], dates.parse(record.date).isoformat())
        except ITEM_ERRORS:
            return SkippedItem(UNREADABLE, place)


class _Dates:
    """Parses the dates of a page. All dates together decide the order of day and month."""

    def __init__(self, records: Sequence[_Record], today: date, zone: ZoneInfo) -> None:
        self._today = today
        self._zone = zone
        self._layout: Layout | None = None
        statistics = DateStatistics(today)
        # The newest record is the first, but statistics expect chronological order.
        for record in reversed(records):
            if (stamp := self._read(record.date)) is not None:
                statistics.add(stamp)
        orders = statistics.choose_orders()
        self._order = orders[0] if len(orders) == 1 or (not statistics.differs and orders) else None

    def parse(self, text: str) -> datetime:
        """Parse a date. Raises ValueError if it is invalid or ambiguous."""
        stamp = self._read(text)
        if stamp is None or self._order is None:
            raise ValueError("no date")
        zone = _ZONE.search(text.replace("\u202f", " "))
        is_universal = zone is not None and zone["zone"] in ("UTC", "GMT", "Z")
        return to_moment(stamp, self._order, self._today, ZoneInfo("UTC") if is_universal else self._zone).astimezone(
            UTC
        )

    def _read(self, text: str) -> Stamp | None:
        written = text.replace("\u202f", " ").strip()
        zone = _ZONE.search(written)
        # AM and PM match the pattern for zones.
        if zone is not None and zone["zone"] not in ("AM", "PM"):
            written = written[: zone.start()]
        line = WrittenLine("[]", written, "")
        self._layout = self._layout or detect_layout(line)
        return parse_stamp(line, self._layout) if self._layout is not None else None
