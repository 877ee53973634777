"""Telegram Desktop's export, result.json: one chat, or all of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from config.texts import N_
from memory.imports.items import ChatParts, ImportedMessage, LeftOut
from memory.imports.source import events

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.imports.items import Item
    from memory.imports.source import ImportSource

_ONE_CHAT = ("messages.item.date_unixtime", "messages.item.from_id")
_ALL_CHATS = "chats.list.item"
_WHOLE_ACCOUNT = "personal_information"


class TelegramReader:
    """Reads chats. Contacts, sessions and the account's own data are not taken."""

    name = "Telegram"

    def detects(self, source: ImportSource) -> bool:
        return any(_paths(source, name) for name in source.ending(".json"))

    def read(self, source: ImportSource) -> Iterator[Item]:
        for name in source.ending(".json"):
            for chat, messages in _paths(source, name):
                yield from _chat(source, name, chat, messages)


def _paths(source: ImportSource, name: str) -> list[tuple[str, str]]:
    prefixes = source.prefixes(name)
    if prefixes.issuperset(_ONE_CHAT):
        return [("id", "messages.item")]
    is_account = _WHOLE_ACCOUNT in prefixes or any(prefix.startswith(_ALL_CHATS) for prefix in prefixes)
    return [(f"{_ALL_CHATS}.id", f"{_ALL_CHATS}.messages.item")] if is_account else []


def _chat(source: ImportSource, name: str, id_path: str, message_path: str) -> Iterator[Item]:
    """Ids and messages come one after the other, in the order of the file: a chat's own stand before its messages."""
    from ijson.common import ObjectBuilder  # late, as in source.py

    chat = ChatParts("")
    builder: ObjectBuilder | None = None
    with source.open(name) as file:
        for path, event, value in events(file):
            if builder is not None:
                builder.event(event, value)
                if path == message_path and event == "end_map":
                    message, builder = _message(builder.value), None
                    yield from (message,) if isinstance(message, LeftOut) else chat.add(message)
            elif path == message_path and event == "start_map":
                builder = ObjectBuilder()
                builder.event(event, value)
            elif path == id_path:
                yield from chat.rest()
                chat = ChatParts(str(value))
    yield from chat.rest()


def _message(data: Any) -> ImportedMessage | LeftOut:  # as JSON has it
    if data.get("type") != "message":
        return LeftOut(N_("notices of the messenger"))
    text = _text(data.get("rich_message", data.get("text"))).strip()
    if not text:
        return LeftOut(N_("photos, recordings and other messages without words"))
    at = datetime.fromtimestamp(int(data["date_unixtime"]), UTC)
    source = data.get("forwarded_from")
    text = f"[from {source}] {text}" if isinstance(source, str) and source else text
    return ImportedMessage(text, at, speaker=str(data.get("from") or "") or None)


def _text(value: object) -> str:
    """The words of a text, of a list of its parts, or of the blocks of a rich message."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(_text, value))
    if isinstance(value, dict):
        if isinstance(blocks := value.get("blocks") or value.get("items"), list):
            return "\n".join(map(_text, blocks))
        return _text(value.get("text"))
    return ""
