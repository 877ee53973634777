"""The reader for WhatsApp's export of a chat: a text file in a format that depends on the phone's locale.

The order of day and month is found from all dates: by numbers above 12, and because messages are in chronological
order. The package whatstk reads the format too, but depends on pandas.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from bot.features.imports.items import (
    MAX_MESSAGE_CHARS,
    ChatParts,
    ImportedMessage,
    ImportRefused,
    Item,
    SkippedItem,
    compute_digest,
    require_plausible,
)
from bot.features.imports.source import ImportSource
from config.texts import N_, _

_FIRST_LINES = 20
# Direction marks at the beginning of lines, and special spaces such as that before AM.
_MARKS = dict.fromkeys((0x200E, 0x200F, 0x202A, 0x202C, 0xFEFF)) | {0x202F: " ", 0x00A0: " "}
_LINE = re.compile(
    r"\[?(?P<a>\d{1,4})(?P<mark>[./-])(?P<b>\d{1,2})(?P=mark)(?P<c>\d{2,4})\.?,? +"
    r"(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?:[:.](?P<second>\d\d))? ?(?P<half>[AaPp]\.? ?[Mm]\.?)?\]?"
    r"(?: -|:)? +(?P<rest>.*)"
)
_DATED = re.compile(r"\W{0,8}\d{1,4}\W")
_SPEAKER = re.compile(r"(?P<speaker>[^:\n]{1,80}): (?P<text>.*)")
_LEFT_OUT = re.compile(
    r"<[^<>]{0,80}(?:omitted|ausgeschlossen|weggelassen|omitido|omitida|omis|пропущен|не включен|вилучен|忽略)"
    r"[^<>]{0,80}>"
    r"|\u200e?(?:image|video|audio|sticker|GIF|document) omitted",
    re.IGNORECASE,
)
ORDERS = ("dmy", "mdy", "ymd")


class _ParsedMessage(NamedTuple):
    """A parsed message, with the three numbers of its date in the order of the file. Notices have no speaker."""

    day: tuple[int, int, int]
    time: tuple[int, int, int]
    speaker: str | None
    text: str


class WhatsAppReader:
    name = "WhatsApp"

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone

    def detects(self, source: ImportSource) -> bool:
        return any(_is_chat(source.read_head(name)) for name in source.find_by_suffix(".txt"))

    def read(self, source: ImportSource) -> Iterator[Item]:
        for name in source.find_by_suffix(".txt"):
            if _is_chat(source.read_head(name)):
                yield from self._read_chat(source, name)

    def _read_chat(self, source: ImportSource, name: str) -> Iterator[Item]:
        # A first pass to find the order of day and month.
        order = detect_day_order(written.day for written in _parse_messages(source.read_lines(name)))
        if order is None:
            raise ImportRefused(
                _(
                    "{file} has dates that I can't read: nothing was imported. Send the file exactly as WhatsApp"
                    " exported it.",
                    file=name,
                )
            )
        chat: ChatParts | None = None
        for written in _parse_messages(source.read_lines(name)):
            if written.speaker is None:
                yield SkippedItem(N_("service messages"))
                continue
            if not written.text.strip() or _LEFT_OUT.fullmatch(written.text.strip()):
                yield SkippedItem(N_("photos, recordings and other messages without text"))
                continue
            at = require_plausible(datetime(*_order_date(written.day, order), *written.time, tzinfo=self._zone))
            # Identified by its first message, since the file name depends on the phone.
            chat = chat or ChatParts(compute_digest(at.isoformat(), written.speaker, written.text))
            yield from chat.add(ImportedMessage(written.text.strip(), at, speaker=written.speaker))
        if chat is not None:
            yield from chat.flush()


def detect_day_order(days: Iterable[tuple[int, int, int]]) -> str | None:
    """Return the order of day, month and year in which all dates are valid, or None.

    If several are possible, return the one with the fewest dates before their predecessor.
    """
    backwards = dict.fromkeys(ORDERS, 0)
    last: dict[str, tuple[int, int, int]] = {}
    for day in days:
        for order in [*backwards]:
            try:
                moment = _order_date(day, order)
                date(*moment)
            except ValueError:
                del backwards[order]
                continue
            backwards[order] += moment < last.get(order, moment)
            last[order] = moment
    return min(backwards, key=backwards.__getitem__, default=None)


def _order_date(day: tuple[int, int, int], order: str) -> tuple[int, int, int]:
    """Return year, month and day. Raise ValueError for an implausible year."""
    numbers = dict(zip(order, day, strict=True))
    year = numbers["y"]
    if 100 <= year < 1000 or (order == "ymd" and year < 1000):
        raise ValueError("no year")
    return year if year >= 1000 else 2000 + year, numbers["m"], numbers["d"]


def _is_chat(head: str) -> bool:
    lines = [line for line in head.splitlines() if line.strip()][:_FIRST_LINES]
    messages = sum(_match_line(line) is not None for line in lines)
    return messages >= 1 and _match_line(lines[0]) is not None


def _match_line(line: str) -> re.Match[str] | None:
    # The quick check avoids a copy of a long line.
    return _LINE.fullmatch(line.translate(_MARKS).strip()) if _DATED.match(line) else None


def _parse_messages(lines: Iterable[str]) -> Iterator[_ParsedMessage]:
    """Yield the messages. A line without a date continues the previous message."""
    current: _ParsedMessage | None = None
    following: list[str] = []
    chars = 0
    for line in lines:
        match = _match_line(line)
        if match is None:
            if current is not None and chars < MAX_MESSAGE_CHARS:
                following.append(line)
                chars += len(line) + 1
            continue
        if current is not None:
            yield current._replace(text="\n".join((current.text, *following)))
        following, chars = [], 0
        said = _SPEAKER.fullmatch(match["rest"])
        current = _ParsedMessage(
            (int(match["a"]), int(match["b"]), int(match["c"])),
            (_to_24_hours(int(match["hour"]), match["half"]), int(match["minute"]), int(match["second"] or 0)),
            said["speaker"].strip() if said else None,
            said["text"] if said else match["rest"],
        )
    if current is not None:
        yield current._replace(text="\n".join((current.text, *following)))


def _to_24_hours(hour: int, half: str | None) -> int:
    if half is None:
        return hour
    return hour % 12 + (12 if half.lower().startswith("p") else 0)
