"""The reader for Telegram Desktop's export: result.json with one chat or all chats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from bot.features.imports.items import (
    DELETED_ACCOUNT,
    ITEM_ERRORS,
    MAX_ID_CHARS,
    NO_TEXT,
    SERVICE_MESSAGES,
    UNREADABLE,
    ChatParts,
    ImportedMessage,
    Item,
    SkippedItem,
    parse_timestamp,
    require_plausible,
)
from bot.features.imports.source import ImportSource
from config.json_stream import ValueBuilder

_CHAT_LISTS = ("chats.list.item", "left_chats.list.item")
_ACCOUNT_ID = "personal_information.user_id"
_ACCOUNT_NAMES = ("personal_information.first_name", "personal_information.last_name")
_PRIVATE_KINDS = ("personal_chat", "bot_chat", "private_chat")
_SAVED_MESSAGES = "Saved messages"


@dataclass(slots=True)
class _Account:
    """The owner of a whole account's export. The id and names are empty until the file has stated them."""

    id: str = ""
    names: list[str] = field(default_factory=list)

    @property
    def name(self) -> str | None:
        return " ".join(self.names) or None


@dataclass(slots=True)
class _Chat:
    """The chat that is being read. In the file, its name and id precede its messages."""

    id: str = ""
    name: str = ""
    kind: str = ""
    owners: set[str] = field(default_factory=set)
    """The speakers in a chat of two people who don't have the chat's name."""


class TelegramReader:
    """Reads chats. Contacts, sessions and account data other than the owner's name are skipped."""

    name = "Telegram"

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone

    def find(self, source: ImportSource) -> list[str]:
        return [name for name in source.find_json() if _is_export(source.detect_prefixes(name))]

    def read(self, source: ImportSource, names: Sequence[str]) -> Iterator[Item]:
        for name in names:
            yield from self._read_file(source, name)

    def _read_file(self, source: ImportSource, name: str) -> Iterator[Item]:
        account, chat, parts = _Account(), _Chat(), ChatParts("")
        builder: ValueBuilder | None = None
        prefixes = {f"{chats}.": chats for chats in _CHAT_LISTS} if _is_account(source.detect_prefixes(name)) else {}
        number = 0
        for path, event, value in source.read_events(name):
            if builder is not None:
                builder.add(event, value)
                if event == "end_map" and _is_message(path, prefixes):
                    number += 1
                    item = self._parse_message(builder.value, account, chat, f"{name}, message {number}")
                    builder = None
                    if isinstance(item, SkippedItem):
                        yield item
                        continue
                    _detect_owner(item, account, chat, parts)
                    yield from parts.add(item)
            elif event == "start_map":
                if path in _CHAT_LISTS:
                    chat = _Chat()
                elif _is_message(path, prefixes):
                    builder = ValueBuilder()
                    builder.add(event, value)
            elif event == "start_array" and path.endswith("messages"):
                yield from parts.flush()
                title = chat.name or (_SAVED_MESSAGES if chat.kind == "saved_messages" else "")
                parts = ChatParts(chat.id, title=title, user=account.name)
            elif event in ("string", "number"):
                _record_name(path, str(value)[:MAX_ID_CHARS], account, chat)
        yield from parts.flush()

    def _parse_message(
        self, data: Any, account: _Account, chat: _Chat, place: str
    ) -> ImportedMessage | SkippedItem:  # parsed JSON
        try:
            if data.get("type") != "message":
                return SkippedItem(SERVICE_MESSAGES)
            text = "\n".join(part for part in (_parse_body(data), *_parse_extras(data)) if part)
            if not text:
                return SkippedItem(NO_TEXT)
            is_forwarded = "forwarded_from" in data or "forwarded_from_id" in data
            if is_forwarded:
                text = f"[from {data.get('forwarded_from') or DELETED_ACCOUNT}] {text}"
            return ImportedMessage(
                text,
                self._parse_time(data),
                speaker=_find_speaker(data, account, chat),
                id=str(data.get("id", ""))[:MAX_ID_CHARS],
                is_foreign=is_forwarded,
            )
        except ITEM_ERRORS:
            return SkippedItem(UNREADABLE, place)

    def _parse_time(self, data: Any) -> datetime:  # parsed JSON
        """Parse the time of a message. Exports from before 2021 have only a local time."""
        if data.get("date_unixtime"):
            return parse_timestamp(int(data["date_unixtime"]))
        local = datetime.fromisoformat(data["date"])
        return require_plausible(local if local.tzinfo is not None else local.replace(tzinfo=self._zone))


def _is_export(prefixes: frozenset[str]) -> bool:
    is_chat = "messages.item.type" in prefixes and bool(
        prefixes & {"messages.item.date", "messages.item.date_unixtime"}
    )
    return is_chat or _is_account(prefixes)


def _is_account(prefixes: frozenset[str]) -> bool:
    return _ACCOUNT_ID in prefixes or any(chats in prefixes for chats in _CHAT_LISTS)


def _is_message(path: str, prefixes: dict[str, str]) -> bool:
    if prefixes:
        return any(path == f"{chats}.messages.item" for chats in _CHAT_LISTS)
    return path == "messages.item"


def _record_name(path: str, value: str, account: _Account, chat: _Chat) -> None:
    if path == _ACCOUNT_ID:
        account.id = value
    elif path in _ACCOUNT_NAMES and value:
        account.names.append(value)
    else:
        place, _dot, key = path.rpartition(".")
        if place in ("", *_CHAT_LISTS) and key in ("id", "name", "type"):
            setattr(chat, "kind" if key == "type" else key, value)


def _detect_owner(message: ImportedMessage, account: _Account, chat: _Chat, parts: ChatParts) -> None:
    """Find the owner in the export of a single chat of two people. The chat has the name of the other person."""
    if account.name is None and chat.kind in _PRIVATE_KINDS and message.speaker not in (chat.name, DELETED_ACCOUNT):
        chat.owners.add(message.speaker or "")
        parts.set_user(message.speaker if len(chat.owners) == 1 else None)


def _find_speaker(data: Any, account: _Account, chat: _Chat) -> str:  # parsed JSON
    """Return the name of the sender. Someone with the same name as the account's owner gets an added id."""
    sender = str(data.get("from_id", ""))
    if account.id and sender in (account.id, f"user{account.id}"):
        return account.name or str(data.get("from") or DELETED_ACCOUNT)
    if not (name := data.get("from")):
        return chat.name if sender.startswith("channel") and chat.name else DELETED_ACCOUNT
    return f"{name} ({sender})" if account.id and sender and name == account.name else str(name)


def _parse_body(data: Any) -> str:  # parsed JSON
    return _parse_text(data.get("rich_message", data.get("text"))).strip()


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


def _parse_extras(data: Any) -> Iterator[str]:  # parsed JSON
    """Yield the texts of a poll, a to-do list and a place."""
    for kind, key, title in (("poll", "poll", "question"), ("list", "todo_list", "title")):
        if isinstance(content := data.get(key), dict):
            answers = [_parse_text(answer) for answer in content.get("answers", ()) if isinstance(answer, dict)]
            yield "\n".join((f"[{kind}] {_parse_text(content.get(title))}", *(f"- {answer}" for answer in answers)))
    if isinstance(place := data.get("location_information"), dict):
        named = [str(data[key]) for key in ("place_name", "address") if data.get(key)]
        yield f"[place] {', '.join(named or (str(place.get('latitude')), str(place.get('longitude'))))}"
