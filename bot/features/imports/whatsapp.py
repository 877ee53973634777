"""The reader for WhatsApp's export of a chat: a text file in a format that depends on the phone's language.

On iPhones, WhatsApp marks its own texts with U+200E. Notices have no speaker. Other placeholders of Android phones are
recognised by their form or by WhatsApp's phrases in whatsapp_phrases.txt. The package whatstk reads this format too,
but depends on pandas.
"""

from __future__ import annotations

import functools
import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from zoneinfo import ZoneInfo

from bot.features.imports.date_orders import DateStatistics, UnreadableDate, find_orders_by_layout, to_moment
from bot.features.imports.items import (
    MAX_MESSAGE_CHARS,
    NO_TEXT,
    SERVICE_MESSAGES,
    UNREADABLE,
    ChatParts,
    ImportedMessage,
    ImportRefused,
    Item,
    SkippedItem,
    is_damaged,
)
from bot.features.imports.source import ImportSource
from bot.features.imports.written_dates import CLEANING, Layout, Stamp, detect_layout, parse_stamp, split_line
from config.json_stream import MAX_VALUE_BYTES, TooComplex
from config.texts import _

LRM = "\u200e"
MAX_NAME_CHARS = 80
MAX_PROFILE_NAME_CHARS = 25
"""WhatsApp's limit for the name in a profile."""
MAX_NAMES = 50_000
"""Maximum number of possible names that are counted in a chat."""
SAMPLE_CHARS = 20_000
_MARK_CHARS = "\u200e\u200f\u202a\u202b\u202c "
_QUOTES = frozenset('"„“”«»「」『』')
_BRACKETED = re.compile(r"<[^\W\d_](?:[^\W\d_]|[\s.,:'’\u0300-\u036f\u0900-\u0dff-]){2,80}>")
_EDITED = re.compile(rf"\s*{LRM}?{_BRACKETED.pattern}\s*$")
_WORDS_AT_END = re.compile(r"<[^<>\n]+ [^<>\n]+>\s*$|<[^<>\n]*[^<>\n\x00-\x7f][^<>\n]*>\s*$")
_MEDIA_FILE = re.compile(r"[A-Z]{3}-\d{8}-WA\d{4,}\.\w{2,5} \((?P<phrase>[^()\n]{1,60})\)")
_ANY_FILE = re.compile(r"[^\n]{1,200}\.\w{2,5} \((?P<phrase>[^()\n]{1,60})\)")
_ATTACHED = frozenset(
    {
        *("file attached", "Datei angehängt", "archivo adjunto", "fichier joint", "file allegato", "arquivo anexado"),
        *("файл добавлен", "bestand bijgevoegd"),
    }
)
"""Phrases after the name of a file. Phrases in other languages are learned from a photo in the chat, if any."""
_PLACE = re.compile(r"[^\s:][^:\n]{0,40}: https://maps\.google\.com/\?q=-?[\d.]+,-?[\d.]+")
_JSON = re.compile(r"\s*(?:\{|\[\s*[{\"\[])")
_VIEWED_ONCE = "null"
"""WhatsApp writes this for a photo that can be viewed only once."""
_PHRASES = Path(__file__).with_name("whatsapp_phrases.txt")
_IPHONE_TITLE = re.compile(r"(?:\S+ )?\S*WhatsApp\S*(?: \S+)? - (.+)", re.IGNORECASE)
_COPY = re.compile(r"\s*\(\d+\)$")


class _ParsedMessage(NamedTuple):
    """A message before its speaker and text are separated.

    Attributes:
        line: The number of its first line in the file.
        rest: The first line without the date.
        more: The following lines, each with a line break before it.
    """

    line: int
    stamp: Stamp
    rest: str
    more: str


@dataclass(slots=True)
class _Survey:
    """The result of the first pass through a file.

    Attributes:
        names: How often each possible name begins a message.
        sole_names: The names that were the only possible one of a message.
        attached: The phrases after the names of attached files.
    """

    layout: Layout
    dates: DateStatistics
    names: Counter[str] = field(default_factory=Counter)
    sole_names: set[str] = field(default_factory=set)
    attached: set[str] = field(default_factory=set)

    def add(self, message: _ParsedMessage) -> None:
        self.dates.add(message.stamp)
        found = _list_names(message.rest)
        for name in found[:2]:
            if name in self.names or len(self.names) < MAX_NAMES:
                self.names[name] += 1
        if len(found) == 1 and len(self.sole_names) < MAX_NAMES:
            self.sole_names.add(found[0])
        if media := _MEDIA_FILE.search(message.rest[:300]):
            self.attached.add(media["phrase"])

    def find_name(self, rest: str) -> str | None:
        """Return the name at the beginning of a line, or None for a notice.

        A text with a colon may be a name with a colon, or a name and a message with a colon. It is a name if the part
        before the colon never occurs without the rest. Phone numbers have no colon.
        """
        found = _list_names(rest)
        if not found or self._is_notice(found[0], rest):
            return None
        if len(found) < 2 or found[0] in self.sole_names:
            return found[0]
        short, longer = found[:2]
        is_name = self.names[longer] in (self.names[short], *range(2, self.names[short]))
        is_name &= not short.startswith("+") and "://" not in longer
        return longer if is_name and len(longer) <= MAX_PROFILE_NAME_CHARS else short

    def _is_notice(self, name: str, rest: str) -> bool:
        """Return True for a notice about a group's name, such as `Anna named this group: "Family"` in Hungarian."""
        if len(name) <= MAX_PROFILE_NAME_CHARS or self.names[name] > 1:
            return False
        text, words = rest.lstrip()[len(name) + 1 :].strip(), name.split()
        is_quoted = len(text) > 2 and text[0] in _QUOTES and text[-1] in _QUOTES
        return is_quoted and any(" ".join(words[:count]) in self.names for count in range(1, len(words)))


class WhatsAppReader:
    name = "WhatsApp"

    def __init__(self, zone: ZoneInfo, today: date) -> None:
        self._zone = zone
        self._today = today

    def find(self, source: ImportSource) -> list[str]:
        return [name for name in source.find_texts() if is_chat(source.read_head(name))]

    def read(self, source: ImportSource, names: Iterable[str]) -> Iterator[Item]:
        for name in names:
            yield from self._read_chat(source, name)

    def _read_chat(self, source: ImportSource, name: str) -> Iterator[Item]:
        head = source.read_head(name)
        layout = _detect_layout(head)
        if layout is None:
            raise ValueError("the file has changed")
        survey = _Survey(layout, DateStatistics(self._today))
        for message in _parse_messages(source.read_lines(name), layout):
            survey.add(message)
        order = _choose_order(survey, head[:SAMPLE_CHARS], name)
        title = find_title(source, name)
        chat = ChatParts(title, title=title)
        for message in _parse_messages(source.read_lines(name), layout):
            item = self._read_message(message, survey, order, name)
            yield from (item,) if isinstance(item, SkippedItem) else chat.add(item)
        yield from chat.flush()

    def _read_message(
        self, message: _ParsedMessage, survey: _Survey, order: str, name: str
    ) -> ImportedMessage | SkippedItem:
        speaker = survey.find_name(message.rest)
        if speaker is None:
            return SkippedItem(SERVICE_MESSAGES)
        place = f"{name}, line {message.line}"
        text = message.rest.lstrip()[len(speaker) + 1 :].removeprefix(" ") + message.more
        if is_damaged(text) or is_damaged(speaker):
            return SkippedItem(UNREADABLE, place)
        kept = _remove_placeholders(text, survey.attached)
        if not kept:
            return SkippedItem(NO_TEXT)
        try:
            at = to_moment(message.stamp, order, self._today, self._zone)
        except UnreadableDate:
            return SkippedItem(UNREADABLE, place)
        return ImportedMessage(kept, at, speaker=_clean_name(speaker))


def is_chat(head: str) -> bool:
    """Return True if a text begins with a dated message and has speakers that aren't the levels of a log."""
    # Skip JSON early, since reading the words of all languages takes seconds.
    layout = _detect_layout(head) if _JSON.match(head) is None else None
    if layout is None:
        return False
    return any(
        names and not _is_log_level(names[0])
        for message in _parse_messages(_split_lines(head), layout)
        for names in [_list_names(message.rest)]
    )


def _is_log_level(name: str) -> bool:
    """Return True for a log level, such as "INFO" or "app.ERROR"."""
    last = re.findall(r"\w+", name)[-1:]
    return bool(last) and last[0] in logging.getLevelNamesMapping()


def _detect_layout(head: str) -> Layout | None:
    first = next((line for line in _split_lines(head) if line.strip()), "")
    line = split_line(first)
    return detect_layout(line) if line is not None else None


def _split_lines(text: str) -> Iterator[str]:
    """Yield the lines as reading a file does. Other separators, such as U+2028, are part of a message."""
    for line in text.split("\n"):
        yield line.rstrip("\r")


def _parse_messages(lines: Iterable[str], layout: Layout) -> Iterator[_ParsedMessage]:
    """Yield the messages. A line that doesn't begin with a date in the file's layout continues the previous message."""
    current: _ParsedMessage | None = None
    following: list[str] = []
    chars = 0
    for number, line in enumerate(lines, 1):
        written = split_line(line) if layout.may_begin(line) else None
        stamp = parse_stamp(written, layout) if written is not None else None
        if stamp is None or written is None:
            chars += len(line) + 1
            if current is not None and chars <= MAX_MESSAGE_CHARS:
                following.append(line)
            elif chars > MAX_VALUE_BYTES:
                raise TooComplex("a message is too long")
            continue
        if current is not None:
            yield current._replace(more="".join(f"\n{more}" for more in following))
        following, chars = [], 0
        current = _ParsedMessage(number, stamp, written.rest, "")
    if current is not None:
        yield current._replace(more="".join(f"\n{more}" for more in following))


def _list_names(rest: str) -> list[str]:
    """Return the possible names at the beginning of a message, the shortest first."""
    start = rest[: MAX_NAME_CHARS + 10].lstrip()
    names: list[str] = []
    at = start.find(":")
    while 0 < at <= MAX_NAME_CHARS and len(names) < 3:
        name = start[:at]
        if (at + 1 == len(start) or start[at + 1] == " ") and not _is_open(name) and name.strip():
            names.append(name)
        at = start.find(":", at + 1)
    return names


def _is_open(name: str) -> bool:
    """Return True if a name has an unclosed quotation mark, as in a notice about a group's name."""
    return not _QUOTES.isdisjoint(name) and sum(char in _QUOTES for char in name) % 2 == 1


def _clean_name(name: str) -> str:
    return " ".join(name.translate(CLEANING).split())


@functools.cache
def _read_phrases() -> frozenset[str]:
    """Return the texts for deleted messages and missed calls on Android phones, which aren't marked."""
    return frozenset(_PHRASES.read_text(encoding="utf-8").splitlines())


def _remove_placeholders(text: str, attached: set[str]) -> str:
    """Return the text that a person wrote, or an empty string for a notice, a photo or another placeholder."""
    first, _newline, more = text.partition("\n")
    marks = first[: len(first) - len(first.lstrip(_MARK_CHARS))]
    if LRM in marks:
        # A photo's caption or a poll's question may follow.
        return more.replace(LRM, "").strip()
    line = first.strip()
    media = _MEDIA_FILE.fullmatch(line) or _ANY_FILE.fullmatch(line)
    is_contact = line.rpartition(" (")[0].endswith(".vcf")
    if media and (media.re is _MEDIA_FILE or is_contact or media["phrase"] in attached | _ATTACHED):
        return more.strip()
    text = text.strip()
    if text.casefold().rstrip(".") in _read_phrases() or text == _VIEWED_ONCE or _PLACE.fullmatch(line):
        return ""
    if _BRACKETED.fullmatch(line) and _WORDS_AT_END.search(line):
        return more.strip()
    before, mark, after = text.rpartition(LRM)
    if mark and "\n" not in after and (after.startswith("<") or before.startswith(LRM)):
        text = before
    elif text.endswith(">") and (edited := _EDITED.search(text[-120:])) and _WORDS_AT_END.search(edited[0]):
        text = text[: len(text) - len(edited[0])]
    return text.strip().strip(LRM).strip()


def _choose_order(survey: _Survey, sample: str, name: str) -> str:
    """Return the order of day, month and year. Raises ImportRefused if the dates are invalid or ambiguous."""
    orders = survey.dates.choose_orders()
    if not orders:
        raise ImportRefused(
            _(
                "{file} has dates that I can't read: nothing was imported. Send the file exactly as WhatsApp"
                " exported it.",
                file=name,
            )
        )
    if len(orders) > 1 and survey.dates.differs:
        likely = find_orders_by_layout(survey.layout, survey.dates, orders, sample)
        if len(likely) != 1:
            raise ImportRefused(
                _(
                    "I can't tell the days from the months in {file}: nothing was imported. Export the chat again"
                    " when it has a message from after the 12th of a month.",
                    file=name,
                )
            )
        return next(iter(likely))
    return orders[0]


def find_title(source: ImportSource, name: str) -> str:
    """Find the name of a chat in the name of its file or zip file. Return an empty string if they don't contain it.

    Android writes "WhatsApp Chat with Ann.txt". iPhones write _chat.txt in "WhatsApp Chat - Ann.zip". Both names are in
    the language of the phone.
    """
    for part in (*reversed(PurePosixPath(name).parts), source.path.name):
        stem = _COPY.sub("", re.sub(r"\.(?:txt|zip)$", "", part, flags=re.IGNORECASE))
        if iphone := _IPHONE_TITLE.match(stem):
            return iphone[1].strip()
        words = stem.split()
        at = next((index for index, word in enumerate(words) if "whatsapp" in word.casefold()), None)
        if at is None:
            continue
        words = words[at + 1 :]
        if len(words) > 2 and words[0][0].isupper() and words[1].islower():
            words = words[1:]
        return " ".join(words[1:]) if words and words[0].islower() else ""
    return ""
