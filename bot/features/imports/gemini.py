"""The reader for Gemini's part of Google Takeout: MyActivity.json, and conversations.

MyActivity doesn't group prompts into conversations, so each prompt with its answer becomes a conversation.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bot.features.imports.items import (
    ATTACHED,
    EMPTY,
    ITEM_ERRORS,
    UNREADABLE,
    UNREADABLE_CONVERSATIONS,
    ImportedConversation,
    ImportedMessage,
    Item,
    SkippedItem,
    compute_digest,
    parse_moment,
)
from bot.features.imports.source import ImportSource
from config.texts import N_

NOT_PROMPTS = N_("activity that isn't a prompt")
OTHER_PRODUCTS = N_("activity of other products")
MIN_ANSWERED_PROMPTS = 2
"""Minimum number of answered prompts, all with the same beginning, to learn this beginning in an unknown language."""
_RECORD = ("item.header", "item.title", "item.time", "item.products")
_TURNS = "conversation_turns"
GEMINI = re.compile(r"Gemini|Bard")
_BEGINNINGS = ("Prompted ", "Asked ", "Said ", "Eingegebener Prompt: ")
_BLOCK_END = re.compile(r"</(?:p|li|h\d|tr|div|pre)>|<br\s*/?>", re.IGNORECASE)
_CELL_END = re.compile(r"</t[dh]>(?=\s*<t[dh]\b)", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")


class GeminiReader:
    name = "Gemini"

    def find(self, source: ImportSource) -> list[str]:
        """Return the parts with Gemini's activity or conversations. Other Google products have the same format."""
        activity = [name for name in source.find_json(*_RECORD) if GEMINI.search(source.read_head(name))]
        return activity + source.find_json(_TURNS)

    def read(self, source: ImportSource, names: Sequence[str]) -> Iterator[Item]:
        for name in names:
            if _TURNS in source.detect_prefixes(name):
                for number, data in enumerate(source.read_items(name, ""), 1):
                    yield from _parse_turns(data, f"{name}, conversation {number}")
            else:
                yield from _read_activity(source, name)


def _read_activity(source: ImportSource, name: str) -> Iterator[Item]:
    beginning = find_beginning(
        str(record.get("title"))
        for record in source.read_items(name, "item")
        if isinstance(record, dict) and record.get("safeHtmlItem") and _is_gemini(record)
    )
    for number, record in enumerate(source.read_items(name, "item"), 1):
        try:
            items = [*_parse_exchange(record, beginning)]
        except ITEM_ERRORS:
            items = [SkippedItem(UNREADABLE, f"{name}, record {number}")]
        yield from items


def _is_gemini(record: dict[str, Any]) -> bool:
    return bool(GEMINI.search(f"{record.get('header')} {record.get('products')}"))


def find_beginning(titles: Iterable[str]) -> str:
    """Return the beginning that all titles of answered prompts share, such as "Prompted ".

    It depends on the language of the account. Return an empty string if the titles differ or are too few.
    """
    beginnings: Counter[str] = Counter()
    total = 0
    for title in titles:
        total += 1
        colon = title.find(": ", 0, 40)
        beginnings[title[: colon + 2] if colon > 0 else title[: title.find(" ") + 1]] += 1
    for beginning, count in beginnings.most_common(1):
        if count == total >= MIN_ANSWERED_PROMPTS:
            return beginning
    return ""


def strip_beginning(title: str, beginning: str) -> str | None:
    """Return the prompt in a title. Return None if the title doesn't begin like a prompt."""
    title = title.replace("\u00a0", " ")
    for start in (*_BEGINNINGS, beginning):
        if start and title.startswith(start):
            return title.removeprefix(start).strip()
    return None


def _parse_exchange(record: Any, beginning: str) -> Iterator[Item]:  # parsed JSON
    if not _is_gemini(record):
        yield SkippedItem(OTHER_PRODUCTS)
        return
    items = record.get("safeHtmlItem")
    answers = [_strip_markup(str(item.get("html", ""))) for item in items if isinstance(item, dict)] if items else []
    title = str(record.get("title", ""))
    prompt = strip_beginning(title, beginning)
    if prompt is None:
        if not any(answers):
            yield SkippedItem(NOT_PROMPTS)
            return
        prompt = title.strip()
    for attached in record.get("subtitles") or ():
        # The title ends with the first subtitle about attached files.
        prompt = prompt.removesuffix(str(attached.get("name"))).strip()
        if attached.get("url"):
            yield SkippedItem(ATTACHED)
    yield create_exchange(prompt, answers, record["time"])


def create_exchange(prompt: str, answers: Sequence[str], time: str) -> Item:
    """Return a conversation with a prompt and its answers."""
    if not prompt:
        return SkippedItem(EMPTY)
    at = parse_moment(time)
    messages = [ImportedMessage(prompt, at)]
    messages += [ImportedMessage(answer, at, by_assistant=True) for answer in answers if answer]
    return ImportedConversation(compute_digest(time, prompt), tuple(messages))


def _parse_turns(data: Any, place: str) -> Iterator[Item]:  # parsed JSON
    """Yield the conversation of a file with conversation turns."""
    try:
        messages: list[ImportedMessage] = []
        for turn in data[_TURNS]:
            user, system = turn.get("user_turn"), turn.get("system_turn")
            content = user or system
            texts = [user.get("prompt")] if user else [part.get("data") for part in system.get("text") or ()]
            text = "\n".join(part for part in texts if isinstance(part, str)).strip()
            if text:
                at = parse_moment(content.get("turn_last_modified") or data.get("creation_time"))
                messages.append(ImportedMessage(text, at, by_assistant=not user))
        title, created = str(data.get("title") or ""), str(data.get("creation_time") or "")
    except ITEM_ERRORS:
        yield SkippedItem(UNREADABLE_CONVERSATIONS, place)
        return
    source_id = compute_digest(created, messages[0].text) if messages else ""
    yield ImportedConversation(source_id, tuple(messages), title) if messages else SkippedItem(EMPTY)


def _strip_markup(markup: str) -> str:
    cells = _CELL_END.sub(" | ", markup)
    return html.unescape(_TAG.sub("", _BLOCK_END.sub("\n", cells))).strip()
