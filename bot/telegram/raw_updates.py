"""Updates as they are received and stored: JSON with a number, of which only parts may be readable."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from telegram import Bot, Update
from telegram.constants import ChatType

from memory.messages import make_storable

MAX_INTEGER = 2**63 - 1
"""The largest integer that SQLite stores."""
# Find ids in an update that can't be parsed. In text by users the quotation marks are escaped.
_UPDATE_ID = re.compile(rb'"update_id"\s*:\s*(\d{1,20})')
_CHAT_ID = re.compile(rb'"chat"\s*:\s*\{\s*"id"\s*:\s*(-?\d{1,18})\b')
_SENDER_ID = re.compile(rb'"from"\s*:\s*\{\s*"id"\s*:\s*(\d{1,18})\b')
_STORED_FIELDS = {
    "message_id",
    "ephemeral_message_id",
    "message_thread_id",
    "from",
    "chat",
    "date",
    "reply_markup",
}


@dataclass(frozen=True, slots=True)
class RawUpdate:
    """An update as it was received: its number, and the JSON text for the inbox.

    Args:
        pressed: the message under which a button was pressed. Its text isn't stored, see `_drop_button_text`.
    """

    id: int
    payload: str
    pressed: dict[str, Any] | None = field(default=None, compare=False, repr=False)

    @classmethod
    def from_json(cls, update: object) -> RawUpdate:
        """Create an update from Telegram's JSON. Raises ValueError if it has no number."""
        if not isinstance(update, dict) or not isinstance(number := update.get("update_id"), int):
            raise ValueError("no update without a number")
        try:
            # JSON may contain lone surrogates, which neither the store nor models accept
            payload = make_storable(json.dumps(_drop_button_text(update), ensure_ascii=False))
            return cls(number, payload, _find_pressed_message(update))
        except (ValueError, RecursionError, MemoryError):
            message = update["message"] if isinstance(update.get("message"), dict) else {}
            return cls(number, _build_outline(number, get_number(message.get("chat")), get_number(message.get("from"))))

    @classmethod
    def find_in_invalid_json(cls, body: bytes) -> RawUpdate | None:
        """Return the first update in invalid JSON, reduced to the ids that are needed to notify the sender."""
        number, chat, sender = (
            0 if match is None else int(match[1])
            for match in (_UPDATE_ID.search(body), _CHAT_ID.search(body), _SENDER_ID.search(body))
        )
        return cls(number, _build_outline(number, chat, sender)) if number else None


def _drop_button_text(update: dict[str, Any]) -> dict[str, Any]:
    """Drop the text of the message under which a button was pressed: it may belong to a private talk."""
    message = _find_pressed_message(update)
    if message is None:
        return update
    kept = {key: value for key, value in message.items() if key in _STORED_FIELDS}
    return update | {"callback_query": update["callback_query"] | {"message": kept}}


def _find_pressed_message(update: dict[str, Any]) -> dict[str, Any] | None:
    query = update.get("callback_query")
    message = query.get("message") if isinstance(query, dict) else None
    return message if isinstance(message, dict) else None


def _build_outline(number: int, chat: int, sender: int) -> str:
    """Return a payload for an update that can't be parsed, with just the ids. Unknown ids are 0."""
    kind = ChatType.PRIVATE if chat == sender else ChatType.SUPERGROUP
    return json.dumps({"update_id": number, "message": {"chat": {"id": chat, "type": kind}, "from": {"id": sender}}})


def read_update(payload: str, bot: Bot) -> Update:
    """Parse a payload. Raises many types of exception if the library can't read it."""
    update: Update = Update.de_json(json.loads(payload, parse_int=parse_int), bot)
    return update


def parse_int(number: str | int) -> int:
    number = int(number)
    if not -MAX_INTEGER <= number <= MAX_INTEGER:
        raise ValueError("a number that is too large")
    return number


def convert_edit(payload: str) -> str:
    """Return the payload of an edit as if it was a new message."""
    update = json.loads(payload)
    update["message"] = update.pop("edited_message")
    return json.dumps(update, ensure_ascii=False)


def get_number(container: object) -> int:
    """Return the id of a chat or user in Telegram's JSON, or 0 if it is missing."""
    number = container.get("id") if isinstance(container, dict) else None
    return number if isinstance(number, int) and abs(number) <= MAX_INTEGER else 0
