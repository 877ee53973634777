"""WhatsApp's export of a chat: a text with a line for each message, in the form of the phone that wrote it.

whatstk reads it too, and brings pandas with it; what has to be known of the form fits here. It does not say in which
order day and month stand: a number above 12 anywhere in the file does, and days that would run backwards do.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import TYPE_CHECKING, NamedTuple

from config.texts import N_, _
from memory.imports.items import (
    MAX_MESSAGE_CHARS,
    ChatParts,
    ImportedMessage,
    ImportRefused,
    LeftOut,
    digest_of,
    plausible,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from zoneinfo import ZoneInfo

    from memory.imports.items import Item
    from memory.imports.source import ImportSource

_FIRST_LINES = 20
# marks of direction that stand before a line, and the narrow space before AM
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


class _Written(NamedTuple):
    """A message as the text has it: the three numbers of its day, its time, who wrote it, if anybody did."""

    day: tuple[int, int, int]
    time: tuple[int, int, int]
    speaker: str | None
    text: str


class WhatsAppReader:
    name = "WhatsApp"

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone

    def detects(self, source: ImportSource) -> bool:
        return any(_is_chat(source.head(name)) for name in source.ending(".txt"))

    def read(self, source: ImportSource) -> Iterator[Item]:
        for name in source.ending(".txt"):
            if _is_chat(source.head(name)):
                yield from self._chat(source, name)

    def _chat(self, source: ImportSource, name: str) -> Iterator[Item]:
        # a first pass over the whole file, since no line says by itself in which order its date is written
        order = day_order(written.day for written in _written(source.lines(name)))
        if order is None:
            raise ImportRefused(
                _("{file} has dates that can't be read: nothing was imported. Is it as WhatsApp wrote it?", file=name)
            )
        chat: ChatParts | None = None
        for written in _written(source.lines(name)):
            if written.speaker is None:
                yield LeftOut(N_("notices of the messenger"))
                continue
            if not written.text.strip() or _LEFT_OUT.fullmatch(written.text.strip()):
                yield LeftOut(N_("photos, recordings and other messages without words"))
                continue
            at = plausible(datetime(*_date(written.day, order), *written.time, tzinfo=self._zone))
            # the chat is known by its first message, since its file is called as the phone likes
            chat = chat or ChatParts(digest_of(at.isoformat(), written.speaker, written.text))
            yield from chat.add(ImportedMessage(written.text.strip(), at, speaker=written.speaker))
        if chat is not None:
            yield from chat.rest()


def day_order(days: Iterable[tuple[int, int, int]]) -> str | None:
    """In which order day, month and year stand, by all dates of a chat; None: in none can all be read.

    Where several orders can be, it is the one in which the fewest dates run backwards.
    """
    backwards = dict.fromkeys(ORDERS, 0)
    last: dict[str, tuple[int, int, int]] = {}
    for day in days:
        for order in [*backwards]:
            try:
                moment = _date(day, order)
                date(*moment)
            except ValueError:
                del backwards[order]
                continue
            backwards[order] += moment < last.get(order, moment)
            last[order] = moment
    return min(backwards, key=backwards.__getitem__, default=None)


def _date(day: tuple[int, int, int], order: str) -> tuple[int, int, int]:
    """Year, month and day of the month. Raises ValueError for a year of one digit or three."""
    numbers = dict(zip(order, day, strict=True))
    year = numbers["y"]
    if 100 <= year < 1000 or (order == "ymd" and year < 1000):
        raise ValueError("no year")
    return year if year >= 1000 else 2000 + year, numbers["m"], numbers["d"]


def _is_chat(head: str) -> bool:
    lines = [line for line in head.splitlines() if line.strip()][:_FIRST_LINES]
    messages = sum(_line(line) is not None for line in lines)
    return messages >= 1 and _line(lines[0]) is not None


def _line(line: str) -> re.Match[str] | None:
    # its date shows at once: a long line is not copied for that
    return _LINE.fullmatch(line.translate(_MARKS).strip()) if _DATED.match(line) else None


def _written(lines: Iterable[str]) -> Iterator[_Written]:
    """The messages; a line without a date goes on with the message before it. Raises ValueError for an hour of 25."""
    current: _Written | None = None
    following: list[str] = []
    chars = 0
    for line in lines:
        match = _line(line)
        if match is None:
            if current is not None and chars < MAX_MESSAGE_CHARS:
                following.append(line)
                chars += len(line) + 1
            continue
        if current is not None:
            yield current._replace(text="\n".join((current.text, *following)))
        following, chars = [], 0
        said = _SPEAKER.fullmatch(match["rest"])
        current = _Written(
            (int(match["a"]), int(match["b"]), int(match["c"])),
            (_hour(int(match["hour"]), match["half"]), int(match["minute"]), int(match["second"] or 0)),
            said["speaker"].strip() if said else None,
            said["text"] if said else match["rest"],
        )
    if current is not None:
        yield current._replace(text="\n".join((current.text, *following)))


def _hour(hour: int, half: str | None) -> int:
    if half is None:
        return hour
    return hour % 12 + (12 if half.lower().startswith("p") else 0)
