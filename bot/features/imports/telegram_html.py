"""The reader for Telegram Desktop's HTML export: messages.html, messages2.html and so on, in a folder for each chat.

The export has no chat ids.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from html import unescape
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any
from zoneinfo import ZoneInfo

from bot.features.imports.items import (
    DELETED_ACCOUNT,
    ITEM_ERRORS,
    NO_TEXT,
    SERVICE_MESSAGES,
    UNREADABLE,
    ChatParts,
    ImportedMessage,
    Item,
    SkippedItem,
    require_plausible,
)
from bot.features.imports.source import ImportSource, PartKind
from bot.features.imports.telegram import TelegramReader

_CHAT = re.compile(r'class="page_body chat_page"')
_TITLE = re.compile(r'<div class="text bold">\s*(.*?)\s*</div>')
_NUMBERED = re.compile(r"(\d*)\.html?$", re.IGNORECASE)


class TelegramHtmlReader:
    name = "Telegram"

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone

    def find(self, source: ImportSource) -> list[str]:
        pages = [name for name in source.find_kind(PartKind.HTML) if _CHAT.search(source.read_head(name))]
        exports = TelegramReader(self._zone).find(source) if pages else []
        return [page for page in pages if not any(_is_exported_twice(source, page, export) for export in exports)]

    def read(self, source: ImportSource, names: Sequence[str]) -> Iterator[Item]:
        for _folder, pages in groupby(sorted(names, key=_get_place), key=lambda name: _get_place(name)[0]):
            yield from self._read_chat(source, list(pages))

    def _read_chat(self, source: ImportSource, pages: Sequence[str]) -> Iterator[Item]:
        chat: ChatParts | None = None
        for name in pages:
            page = source.read_page(name, "telegram")
            chat = chat or ChatParts("", title=page["title"])
            speaker = DELETED_ACCOUNT
            for number, message in enumerate(page["messages"], 1):
                # A message doesn't repeat the sender of the previous message.
                if message.get("sender") is not None:
                    speaker = message["sender"] or DELETED_ACCOUNT
                item = self._parse_message(message, speaker, f"{name}, message {number}")
                yield from (item,) if isinstance(item, SkippedItem) else chat.add(item)
        if chat is not None:
            yield from chat.flush()

    def _parse_message(self, data: dict[str, Any], speaker: str, place: str) -> ImportedMessage | SkippedItem:
        if data.get("is_service"):
            return SkippedItem(SERVICE_MESSAGES)
        text, is_forward = data["text"], "origin" in data
        if not text:
            return SkippedItem(NO_TEXT)
        if is_forward:
            text = f"[from {data['origin'] or DELETED_ACCOUNT}] {text}"
        try:
            at = self._parse_time(data["date"])
        except ITEM_ERRORS:
            return SkippedItem(UNREADABLE, place)
        identifier = data["id"].removeprefix("message")
        return ImportedMessage(text, at, speaker=speaker, id=identifier, is_foreign=is_forward)

    def _parse_time(self, text: str) -> datetime:
        """Parse a time such as 01.01.2025 10:00:00 UTC+01:00. Older exports have no zone."""
        written, _space, zone = text.partition(" UTC")
        local = datetime.strptime(written, "%d.%m.%Y %H:%M:%S").replace(tzinfo=self._zone)
        if zone:
            local = datetime.strptime(f"{written} {zone}", "%d.%m.%Y %H:%M:%S %z")
        return require_plausible(local)


def _is_exported_twice(source: ImportSource, page: str, export: str) -> bool:
    """Return True if a JSON file of the same export contains the page's chat too. Telegram can write both formats."""
    if not PurePosixPath(page).is_relative_to(PurePosixPath(export).parent):
        return False
    if "chats.list.item" in source.detect_prefixes(export):
        return True
    title = _TITLE.search(source.read_head(page))
    return title is not None and json.dumps(unescape(title[1]), ensure_ascii=False) in source.read_head(export)


def _get_place(name: str) -> tuple[str, int]:
    """Return the folder of a page and its number, which is 1 if the name has no number."""
    match = _NUMBERED.search(name)
    return str(PurePosixPath(name).parent), int(match[1] or 1) if match else 1
