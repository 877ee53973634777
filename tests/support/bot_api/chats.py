"""Chats of the local Telegram: members, messages, and the rules of sending."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from tests.support.bot_api.params import ApiError, JsonObject, create_bad_request
from tests.support.bot_api.text import Entity, FormattedText, entity_from_json

_MAX_BUTTONS = 100
_CONTENT = {"text", "entities", "rich_message", "reply_markup"}
ChatType: TypeAlias = Literal["private", "group", "supergroup"]


@dataclass(frozen=True, slots=True)
class BotMessage:
    """A message of the bot in its latest version."""

    message_id: int
    text: str
    entities: tuple[Entity, ...]
    thread_id: int | None
    reply_to_message_id: int | None
    edited: bool
    reply_markup: JsonObject | None
    caption: str = ""
    file_name: str = ""
    rich: str = ""


@dataclass(slots=True)
class Chat:
    """One chat: its messages in Bot API format, threads and drafts."""

    chat_id: int
    chat_type: ChatType
    name: str
    threads: set[int] = field(default_factory=set)
    topic_names: dict[int, str] = field(default_factory=dict)
    messages: dict[int, JsonObject] = field(default_factory=dict)
    drafts: list[str] = field(default_factory=list)
    stoppable: int | None = None
    last_message_id: int = 0
    moved_to: int | None = None
    reactions: dict[int, str] = field(default_factory=dict)
    takes_reactions: bool = True
    refuses_voice: bool = False
    ephemeral: dict[int, JsonObject] = field(default_factory=dict)
    bot_is_administrator: bool = False
    forbids: str | None = None  # the refusal of what the bot sends
    keyboard: list[JsonObject] = field(default_factory=list)
    is_keyboard_one_time: bool = False

    def as_json(self) -> JsonObject:
        """Return the chat in Bot API format."""
        chat: JsonObject = {"id": self.chat_id, "type": self.chat_type}
        chat["first_name" if self.chat_type == "private" else "title"] = self.name
        if self.chat_type == "supergroup" and self.threads:
            chat["is_forum"] = True
        return chat

    def new_message(self, sender: JsonObject, *, thread_id: int | None = None) -> JsonObject:
        """Return a message without content, with id and date, that is not yet in the chat."""
        message: JsonObject = {
            "message_id": self.last_message_id + 1,
            "date": int(time.time()),
            "chat": self.as_json(),
            "from": sender,
        }
        if thread_id is not None:
            message |= {"message_thread_id": thread_id, "is_topic_message": True}
        return message

    def put(self, message: JsonObject) -> JsonObject:
        """Add the message to the chat, or replace the one with its id."""
        self.last_message_id = max(self.last_message_id, message["message_id"])
        self.messages[message["message_id"]] = message
        return message

    def quote(self, message_id: int) -> JsonObject:
        """Return the message as a reply shows it, without its own replied message."""
        return {key: value for key, value in self.messages[message_id].items() if key != "reply_to_message"}

    def list_bot_messages(self) -> list[BotMessage]:
        """Return the bot's messages that were not deleted, in order."""
        return [_create_bot_message(message) for message in self.messages.values() if message["from"]["is_bot"]]

    def list_ephemeral(self, user: int) -> list[BotMessage]:
        """Return the bot's ephemeral messages in order, by their ids."""
        return [
            replace(_create_bot_message(message), message_id=number)
            for number, message in self.ephemeral.items()
            if message["from"]["is_bot"] and message["receiver_user"]["id"] == user
        ]

    def list_members(self) -> set[int]:
        """Return the people who have written here."""
        said = (*self.messages.values(), *self.ephemeral.values())
        return {message["from"]["id"] for message in said if not message["from"]["is_bot"]}

    def put_ephemeral(self, message: JsonObject, receiver: JsonObject) -> JsonObject:
        """Add an ephemeral message for `receiver`, with a separate kind of id."""
        number = 29_000_000 + len(self.ephemeral)
        told = message | {"message_id": 0, "ephemeral_message_id": number, "receiver_user": receiver}
        self.ephemeral[number] = told
        return told

    def check_thread(self, thread_id: Any) -> int | None:
        """Return the thread to send to, or None without the parameter."""
        if self.forbids is not None:
            raise create_bad_request(self.forbids)
        if thread_id is None:
            return None
        if thread_id not in self.threads:
            raise create_bad_request("message thread not found")
        return int(thread_id)

    def message(self, message_id: Any, purpose: str) -> JsonObject:
        """Return the message that a method refers to."""
        if message_id not in self.messages:
            raise create_bad_request(f"{purpose} not found")
        return self.messages[message_id]


class Chats:
    """The chats that the bot knows."""

    def __init__(self) -> None:
        self._chats: dict[int, Chat] = {}

    def get(self, chat_id: int) -> Chat | None:
        """Return the chat if the bot knows it."""
        return self._chats.get(chat_id)

    def get_known(self, chat_id: int) -> Chat:
        """Return a chat that the bot knows. Raises KeyError."""
        return self._chats[chat_id]

    def register(self, chat_id: int, chat_type: ChatType, name: str) -> Chat:
        """Return the chat, and make it known if needed. Its type never changes."""
        if (chat_type == "private") != (chat_id > 0):
            message = "private chats have positive numbers, groups negative ones"
            raise ValueError(message)
        chat = self._chats.setdefault(chat_id, Chat(chat_id, chat_type, name))
        if chat.chat_type != chat_type:
            message = f"chat {chat_id} is a {chat.chat_type}"
            raise ValueError(message)
        return chat

    def get_named(self, params: JsonObject) -> Chat:
        """Return the chat of a request."""
        chat_id = params.get("chat_id", "")
        if chat_id == "":
            raise create_bad_request("chat_id is empty")
        chat = self._chats.get(chat_id) if isinstance(chat_id, int) else None
        if chat is None:
            raise create_bad_request("chat not found")
        if chat.moved_to is not None:
            words = "Bad Request: group chat was upgraded to a supergroup chat"
            raise ApiError(400, words, moved_to=chat.moved_to)
        return chat


def check_markup(markup: Any) -> JsonObject | None:
    """Return the reply markup of a request, or refuse invalid markup."""
    if markup is None or markup == {}:
        return None
    if not isinstance(markup, dict):
        raise create_bad_request("object expected as reply markup")
    if "force_reply" in markup and not 1 <= len(markup.get("input_field_placeholder", "x")) <= 64:
        raise create_bad_request("BUTTON_TEXT_INVALID")
    rows = markup.get("inline_keyboard", [])
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise create_bad_request('field "inline_keyboard" must be of type Array')
    buttons = [button for row in rows for button in row]
    if len(buttons) > _MAX_BUTTONS:
        raise create_bad_request("REPLY_MARKUP_TOO_LONG")
    for button in buttons:
        _check_button(button)
    return markup if rows or "inline_keyboard" not in markup else None


def fill_text(message: JsonObject, formatted: FormattedText, markup: JsonObject | None) -> JsonObject:
    """Return the message with this text, entities and buttons."""
    bare = {key: value for key, value in message.items() if key not in _CONTENT}
    bare["text"] = formatted.text
    if formatted.entities:
        bare["entities"] = [entity.as_json() for entity in formatted.entities]
    return fill_markup(bare, markup)


def fill_rich(message: JsonObject, markdown: str, markup: JsonObject | None) -> JsonObject:
    """Return the message as a rich one, which is stored as Markdown."""
    bare = {key: value for key, value in message.items() if key not in _CONTENT}
    return fill_markup(bare | {"rich_message": {"blocks": [{"type": "paragraph", "text": markdown}]}}, markup)


def fill_markup(message: JsonObject, markup: JsonObject | None) -> JsonObject:
    """Return the message with these buttons. Only inline keyboards are shown, and Mini Apps only in private chats."""
    buttons = [button for row in (markup or {}).get("inline_keyboard", []) for button in row]
    if message["chat"]["type"] != "private" and any("web_app" in button for button in buttons):
        raise create_bad_request("BUTTON_TYPE_INVALID")
    bare = {key: value for key, value in message.items() if key != "reply_markup"}
    if markup is not None and "inline_keyboard" in markup:
        bare["reply_markup"] = markup
    return bare


def _check_button(button: Any) -> None:
    if not isinstance(button, dict) or not isinstance(button.get("text"), str) or not button["text"]:
        raise create_bad_request('can\'t parse inline keyboard button: field "text" must be a non-empty String')
    if set(button) <= {"text", "style", "icon_custom_emoji_id"}:
        raise create_bad_request(
            "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard"
        )
    if "callback_data" in button and not isinstance(button["callback_data"], str):
        raise create_bad_request('can\'t parse inline keyboard button: field "callback_data" must be of type String')
    if "callback_data" in button and not 1 <= len(button["callback_data"].encode()) <= 64:
        raise create_bad_request("BUTTON_DATA_INVALID")


def _create_bot_message(message: JsonObject) -> BotMessage:
    reply = message.get("reply_to_message")
    return BotMessage(
        message_id=message["message_id"],
        text=message.get("text", ""),
        entities=tuple(entity_from_json(entity) for entity in message.get("entities", [])),
        thread_id=message.get("message_thread_id"),
        reply_to_message_id=reply["message_id"] if reply else None,
        edited="edit_date" in message,
        reply_markup=message.get("reply_markup"),
        caption=message.get("caption", ""),
        file_name=message.get("document", {}).get("file_name", ""),
        rich=message.get("rich_message", {"blocks": [{"text": ""}]})["blocks"][0]["text"],
    )
