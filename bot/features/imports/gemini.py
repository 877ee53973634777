"""The reader for Gemini's part of Google Takeout: MyActivity.json, an array of prompts with their answers as HTML.

The file has no conversations, so each prompt with its answer becomes one.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

from bot.features.imports.items import (
    ImportedConversation,
    ImportedMessage,
    Item,
    SkippedItem,
    compute_digest,
    parse_moment,
)
from bot.features.imports.source import ImportSource
from config.texts import N_

_RECORD = ("item.header", "item.title", "item.time", "item.products")
_GEMINI = re.compile(r"Gemini|Bard")
_PROMPTED = re.compile(r"^(?:Prompted|Asked|Said)\s+")
_BLOCK_END = re.compile(r"</(?:p|li|h\d|tr|div|pre)>|<br\s*/?>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")


class GeminiReader:
    name = "Gemini"

    def detects(self, source: ImportSource) -> bool:
        """Return True for activity of Gemini. Other Google products use the same format."""
        return any(_GEMINI.search(source.read_head(name)) for name in source.find_json(*_RECORD))

    def read(self, source: ImportSource) -> Iterator[Item]:
        for name in source.find_json(*_RECORD):
            yield from map(_parse_exchange, source.read_items(name, "item"))


def _parse_exchange(record: Any) -> Item:  # parsed JSON
    if not isinstance(record, dict):
        raise ValueError("a prompt is no object")  # A ValueError, since the file's content is wrong.
    if not _GEMINI.search(f"{record.get('header')} {record.get('products')}"):
        return SkippedItem(N_("activity of other products"))
    asked = _PROMPTED.sub("", str(record.get("title", ""))).strip()
    if not asked:
        return SkippedItem(N_("conversations without a message"))
    at = parse_moment(record["time"])
    items = record.get("safeHtmlItem")
    answers = [_strip_markup(str(item.get("html", ""))) for item in items if isinstance(item, dict)] if items else []
    messages = [ImportedMessage(asked, at)]
    messages += [ImportedMessage(answer, at, by_assistant=True) for answer in answers if answer]
    return ImportedConversation(compute_digest(record["time"], asked), tuple(messages))


def _strip_markup(markup: str) -> str:
    return html.unescape(_TAG.sub("", _BLOCK_END.sub("\n", markup))).strip()
