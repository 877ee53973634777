"""Telegram's updates, read: who says what in which chat, and whether it is meant for us."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from telegram import MessageEntity, Update
from telegram.constants import ChatType

from memory.log.sessions import Address
from memory.messages import Provenance
from pipeline.arrival import Arrival

if TYPE_CHECKING:
    from telegram import Bot, Message, User

    from pipeline.arrival import Channel

CHANNEL = "telegram"


@dataclass(frozen=True, slots=True)
class Letter:
    """A message of a person, as far as Mneme reads it, and what decides whether it may come in."""

    arrival: Arrival
    user_id: int
    private: bool
    edited: bool


@dataclass(frozen=True, slots=True)
class RawUpdate:
    """An update as it came: its number, and its JSON text, which the inbox keeps."""

    id: int
    payload: str


def read_update(payload: str, bot: Bot) -> Update:
    """The update in a payload. Raises whatever the library does where it can't read it."""
    update: Update = Update.de_json(json.loads(payload), bot)
    return update


def as_new(payload: str) -> str:
    """The payload of an edit as if its message had been written like that."""
    update = json.loads(payload)
    update["message"] = update.pop("edited_message")
    return json.dumps(update, ensure_ascii=False)


def sender_of(update: RawUpdate, channel: Channel) -> Letter | None:
    """An empty letter that tells whose message an unreadable update is; None where not even that can be read."""
    said = json.loads(update.payload)
    message = said.get("message") or said.get("edited_message")
    try:
        chat, sender = message["chat"], message["from"]
        address = Address(CHANNEL, str(int(chat["id"])))
        arrival = Arrival(address, "", Provenance.TYPED, datetime.now(UTC), channel)
        return Letter(arrival, int(sender["id"]), chat["type"] == ChatType.PRIVATE, edited=False)
    except (KeyError, TypeError, ValueError):
        return None


def letter_of(update: Update, me: User, channel: Channel) -> Letter | None:
    """The letter in an update; None for what is not meant for us: other kinds of update, talk among others.

    In a group only what mentions the bot, answers one of its messages or is a command counts.
    """
    message = update.message or update.edited_message
    if message is None or message.from_user is None or message.from_user.is_bot:
        return None
    private = message.chat.type == ChatType.PRIVATE
    text = message.text or message.caption or ""
    if not private and not _meant_for(message, me):
        return None
    topic = message.message_thread_id if message.is_topic_message else None
    arrival = Arrival(
        address=Address(CHANNEL, str(message.chat.id), str(topic) if topic else None),
        text=_without_mention(text, me) if not private else _own_command(text, me),
        provenance=_provenance(message),
        received_at=message.date,
        channel=channel,
        speaker=None if private else message.from_user.full_name,
        message_id=str(message.message_id),
    )
    return Letter(arrival, message.from_user.id, private, edited=update.message is None)


def _provenance(message: Message) -> Provenance:
    if message.forward_origin is not None:
        return Provenance.FORWARDED
    if message.via_bot is not None:
        return Provenance.WEB  # the person chose it, another bot worded it
    return Provenance.TYPED


def _meant_for(message: Message, me: User) -> bool:
    answered = message.reply_to_message.from_user if message.reply_to_message else None
    if answered is not None and answered.id == me.id:
        return True
    handle = f"@{me.username}".lower()
    entities = {**message.parse_entities(), **message.parse_caption_entities()}
    for entity, said in entities.items():
        if entity.type == MessageEntity.MENTION and said.lower() == handle:
            return True
        if entity.type == MessageEntity.TEXT_MENTION and entity.user and entity.user.id == me.id:
            return True
        if entity.type == MessageEntity.BOT_COMMAND and entity.offset == 0:
            return "@" not in said or said.lower().endswith(handle)
    return False


def _without_mention(text: str, me: User) -> str:
    own = _own_command(text, me)
    at = own.lower().find(f"@{me.username}".lower())
    if at < 0:
        return own
    rest = own[at + len(me.username or "") + 1 :].lstrip(" ,:")
    return f"{own[:at].rstrip()} {rest}".strip()


def _own_command(text: str, me: User) -> str:
    """`text` with `/name@us` as `/name`."""
    head, space, rest = text.partition(" ")
    suffix = f"@{me.username}".lower()
    if head.startswith("/") and head.lower().endswith(suffix):
        return head[: -len(suffix)] + space + rest
    return text
