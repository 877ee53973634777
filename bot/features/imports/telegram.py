"""The reader for Telegram Desktop's export: result.json with one chat or all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bot.features.imports.items import MAX_ID_CHARS, ChatParts, ImportedMessage, Item, SkippedItem, parse_timestamp
from bot.features.imports.source import ImportSource
from config.json_stream import ValueBuilder
from config.texts import N_

_ONE_CHAT = ("messages.item.date_unixtime", "messages.item.from_id")
_ALL_CHATS = "chats.list.item"
_WHOLE_ACCOUNT = "personal_information"


class TelegramReader:
    """Reads chats. Contacts, sessions and account data are left out."""

    name = "Telegram"

    def detects(self, source: ImportSource) -> bool:
        return any(_find_paths(source, name) for name in source.find_by_suffix(".json"))

    def read(self, source: ImportSource) -> Iterator[Item]:
        for name in source.find_by_suffix(".json"):
            for chat, messages in _find_paths(source, name):
                yield from _read_chat(source, name, chat, messages)


def _find_paths(source: ImportSource, name: str) -> list[tuple[str, str]]:
    prefixes = source.detect_prefixes(name)
    if prefixes.issuperset(_ONE_CHAT):
        return [("id", "messages.item")]
    is_account = _WHOLE_ACCOUNT in prefixes or _ALL_CHATS in prefixes
    return [(f"{_ALL_CHATS}.id", f"{_ALL_CHATS}.messages.item")] if is_account else []


def _read_chat(source: ImportSource, name: str, id_path: str, message_path: str) -> Iterator[Item]:
    """Yield the messages of each chat. In the file, the id of a chat precedes its messages."""
    chat = ChatParts("")
    builder: ValueBuilder | None = None
    for path, event, value in source.read_events(name):
        if builder is not None:
            builder.add(event, value)
            if path == message_path and event == "end_map":
                message, builder = _parse_message(builder.value), None
                yield from (message,) if isinstance(message, SkippedItem) else chat.add(message)
        elif path == message_path and event == "start_map":
            builder = ValueBuilder()
            builder.add(event, value)
        elif path == id_path and event in ("number", "string"):
            yield from chat.flush()
            chat = ChatParts(str(value)[:MAX_ID_CHARS])
    yield from chat.flush()


def _parse_message(data: Any) -> ImportedMessage | SkippedItem:  # parsed JSON
    if data.get("type") != "message":
        return SkippedItem(N_("service messages"))
    text = _parse_text(data.get("rich_message", data.get("text"))).strip()
    if not text:
        return SkippedItem(N_("photos, recordings and other messages without text"))
    at = parse_timestamp(int(data["date_unixtime"]))
    source = data.get("forwarded_from")
    text = f"[from {source}] {text}" if isinstance(source, str) and source else text
    return ImportedMessage(text, at, speaker=str(data.get("from") or "") or None, id=str(data.get("id") or ""))


def _parse_text(value: object) -> str:
    """Return the text of a string, a list of parts, or the blocks of a rich message."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(_parse_text, value))
    if isinstance(value, dict):
        if isinstance(blocks := value.get("blocks") or value.get("items"), list):
            return "\n".join(map(_parse_text, blocks))
        return _parse_text(value.get("text"))
    return ""
