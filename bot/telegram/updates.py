"""Telegram's updates, read: who says what in which chat, and whether it is meant for us."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from telegram import Message, MessageEntity, Update
from telegram.constants import ChatType

from bot.commands.command import parse_command
from bot.telegram import CHANNEL
from bot.telegram.features import is_ephemeral, message_key
from bot.telegram.media import content_of, files_of, origin_of, plain_name, rich_text, text_of
from memory.log.sessions import Address
from memory.messages import Passage, Provenance, storable
from pipeline.arrival import Arrival

if TYPE_CHECKING:
    from collections.abc import Container

    from telegram import Bot, CallbackQuery, User

    from memory.media.media import MediaFile
    from pipeline.arrival import Channel

LARGEST = 2**63 - 1
"""The largest number that SQLite holds."""
# Where numbers stand in an update that can't be read; in what people write there are no such quotation marks.
_UPDATE_ID = re.compile(rb'"update_id"\s*:\s*(\d{1,20})')
_CHAT_ID = re.compile(rb'"chat"\s*:\s*\{\s*"id"\s*:\s*(-?\d{1,18})\b')
_SENDER_ID = re.compile(rb'"from"\s*:\s*\{\s*"id"\s*:\s*(\d{1,18})\b')
QUOTED_CHARACTERS = 2_000
"""What is shown of a message that is answered."""
STOPPED = "stopped_message_generation"
"""The kind of update that says that somebody pressed Stop under a draft (Bot API 10.3); the library has no name yet."""
_KEPT_OF_OURS = {
    "message_id",
    "ephemeral_message_id",
    "message_thread_id",
    "from",
    "chat",
    "date",
    "reply_markup",
}
# A command at the beginning of a text, for us or for the bot that it names.
_COMMAND = re.compile(r"/(?P<name>[a-z0-9_]{1,64})(?:@(?P<bot>[a-z0-9_]+))?(?=\s|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Press:
    """A button that somebody pressed. query: what Telegram waits to have answered.

    beside: the buttons that its message shows, with itself; None where that is not told.
    """

    query: str
    button: str
    beside: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """A message of a person, as far as Mneme reads it, and what decides whether it may come in.

    name: how the person is called, as it may be shown to others.
    quoted_reply: the message of ours that it answers, by Telegram's number. press: the button that was pressed in the
    place of writing; what it says is in the store. anonymous: it was written in the name of a group or a channel, and
    Telegram does not say by whom.
    """

    arrival: Arrival
    user_id: int
    private: bool
    edited: bool
    name: str = ""
    quoted_reply: str | None = None
    press: Press | None = None
    anonymous: bool = False


@dataclass(frozen=True, slots=True)
class RawUpdate:
    """An update as it came: its number, and its JSON text, which the inbox keeps."""

    id: int
    payload: str

    @classmethod
    def of(cls, update: object) -> RawUpdate:
        """The update that Telegram's JSON says. Raises ValueError where it has no number."""
        if not isinstance(update, dict) or not isinstance(number := update.get("update_id"), int):
            raise ValueError("no update without a number")
        try:
            # half of a surrogate pair is good JSON, and nothing that the store or a model takes
            return cls(number, storable(json.dumps(_without_words_of_ours(update), ensure_ascii=False)))
        except (ValueError, RecursionError, MemoryError):
            message = update["message"] if isinstance(update.get("message"), dict) else {}
            return cls(number, _outline(number, _number(message.get("chat")), _number(message.get("from"))))

    @classmethod
    def in_unreadable(cls, body: bytes) -> RawUpdate | None:
        """The first update in JSON that can't be read, with no more in it than who is to be told so."""
        number, chat, sender = (
            0 if match is None else int(match[1])
            for match in (_UPDATE_ID.search(body), _CHAT_ID.search(body), _SENDER_ID.search(body))
        )
        return cls(number, _outline(number, chat, sender)) if number else None


def _without_words_of_ours(update: dict[str, Any]) -> dict[str, Any]:
    """An update without the message that a pressed button stands under: it may be of a private talk."""
    query = update.get("callback_query")
    if not isinstance(query, dict) or not isinstance(message := query.get("message"), dict):
        return update
    kept = {key: value for key, value in message.items() if key in _KEPT_OF_OURS}
    return update | {"callback_query": query | {"message": kept}}


def _outline(number: int, chat: int, sender: int) -> str:
    """The payload of an update that can't be read, with no more in it than who is to be told so; 0: not known."""
    kind = ChatType.PRIVATE if chat == sender else ChatType.SUPERGROUP
    return json.dumps({"update_id": number, "message": {"chat": {"id": chat, "type": kind}, "from": {"id": sender}}})


def read_update(payload: str, bot: Bot) -> Update:
    """The update in a payload. Raises whatever the library does where it can't read it."""
    update: Update = Update.de_json(json.loads(payload, parse_int=_within), bot)
    return update


def _within(number: str | int) -> int:
    """A number that the database can hold. Raises ValueError for others."""
    number = int(number)
    if not -LARGEST <= number <= LARGEST:
        raise ValueError("a number that is too large")
    return number


def as_new(payload: str) -> str:
    """The payload of an edit as if its message had been written like that."""
    update = json.loads(payload)
    update["message"] = update.pop("edited_message")
    return json.dumps(update, ensure_ascii=False)


def sender_of(update: RawUpdate, channel: Channel) -> IncomingMessage | None:
    """An empty letter that tells whose an unreadable update is; None where not even that can be read.

    A press can be answered as soon as its number can be read; whose it is, or where, may then be unknown: 0.
    """
    payload = json.loads(update.payload)
    if isinstance(query := payload.get("callback_query"), dict):
        return _press_of(query, channel)
    message = payload.get("message") or payload.get("edited_message")
    try:
        chat, user = _within(message["chat"]["id"]), _within(message["from"]["id"])
        private = message["chat"]["type"] == ChatType.PRIVATE
        return IncomingMessage(_unread(chat, channel), user, private, edited=False)
    except (KeyError, TypeError, ValueError):
        return None


def _press_of(query: dict[str, Any], channel: Channel) -> IncomingMessage | None:
    if not isinstance(query.get("id"), str):
        return None
    sender, message = query.get("from"), query.get("message")
    user, chat = _number(sender), _number(message.get("chat") if isinstance(message, dict) else None)
    language = sender.get("language_code") if isinstance(sender, dict) else None
    arrival = replace(_unread(chat, channel), language=language if isinstance(language, str) else None)
    return IncomingMessage(arrival, user, private=user == chat, edited=False, press=Press(query["id"], ""))


def _unread(chat: int, channel: Channel) -> Arrival:
    return Arrival(Address(CHANNEL, str(chat)), "", Provenance.TYPED, datetime.now(UTC), channel)


def _number(of: object) -> int:
    """The id of a chat or of a person in Telegram's JSON; 0 where there is none."""
    number = of.get("id") if isinstance(of, dict) else None
    return number if isinstance(number, int) and abs(number) <= LARGEST else 0


def _stopped(stopped: dict[str, Any], channel: Channel) -> IncomingMessage:
    """The /stop of who has pressed Stop under a draft, which only private chats have."""
    user, topic = _within(stopped["chat"]["id"]), stopped.get("message_thread_id")
    address = Address(CHANNEL, str(user), str(topic) if topic else None)
    arrival = Arrival(address, "/stop", Provenance.TYPED, datetime.now(UTC), channel, speaker_id=str(user))
    return IncomingMessage(arrival, user, private=True, edited=False)


def _pressed(query: CallbackQuery, channel: Channel) -> IncomingMessage | None:
    """The letter of who presses a button, still without what that says; it is about the message with the button."""
    message = query.message
    if message is None or query.data is None:  # a game, or a message that is not ours
        return None
    private = message.chat.type == ChatType.PRIVATE
    known = message if isinstance(message, Message) else None  # and not one that is too old to be told of
    key = message_key(known, query.from_user.id) if known is not None else str(message.message_id)
    arrival = Arrival(
        address=Address(CHANNEL, str(message.chat.id)),  # the topic stands with the button
        text="",
        provenance=Provenance.TYPED,
        received_at=datetime.now(UTC),  # Telegram does not say when
        channel=channel,
        speaker=None if private else plain_name(query.from_user.full_name),
        speaker_id=str(query.from_user.id),
        sender=plain_name(query.from_user.full_name),
        message_id=key,
        pressed=query.id,
        alone=is_ephemeral(key),
        language=query.from_user.language_code,
    )
    beside = None
    if known is not None:
        rows = known.reply_markup.inline_keyboard if known.reply_markup is not None else ()
        beside = tuple(str(button.callback_data) for row in rows for button in row)
    return IncomingMessage(
        arrival, query.from_user.id, private, edited=False, press=Press(query.id, query.data, beside)
    )


def _quoted(message: Message, me: User) -> Passage | None:
    """The message that this one answers, or the part of it that was chosen; None where there is no text in it."""
    replied = message.reply_to_message
    whole = text_of(replied) if replied is not None else None
    wording = message.quote.text if message.quote is not None else whole
    if not wording:
        return None
    text = wording[:QUOTED_CHARACTERS]
    if replied is None or replied.from_user is None:  # of another chat, or of a channel
        return Passage(text, Provenance.FORWARDED)
    if _is_by(replied, me):
        return Passage(f"Assistant: {text}", Provenance.FOREIGN)  # what it was made of is in the store
    own = message.from_user is not None and replied.from_user.id == message.from_user.id
    provenance = _provenance(replied) if own else Provenance.FORWARDED
    return Passage(f"{plain_name(replied.from_user.full_name)}: {text}", provenance)


def _quoted_files(message: Message, me: User) -> tuple[MediaFile, ...]:
    """The files of the message that this one answers; what we sent ourselves, the model has written."""
    replied = message.reply_to_message
    if replied is None or _is_by(replied, me) or message.media_group_id is not None:
        return ()
    return files_of(replied, quoted=True)


def _is_by(message: Message, user: User) -> bool:
    return message.from_user is not None and message.from_user.id == user.id


def _provenance(message: Message) -> Provenance:
    if message.forward_origin is not None:
        return Provenance.FORWARDED
    if message.via_bot is not None:
        return Provenance.WEB  # the person chose it, another bot worded it
    return Provenance.TYPED


def _is_our_command(text: str, me: User, commands: Container[str]) -> bool | None:
    """Whether a text is a command of ours, and no other bot's; None for what is no command."""
    command = _COMMAND.match(text.strip())
    if command is None:
        return None
    if not command["bot"]:
        return parse_command(text)[0] in commands
    return str(command["bot"]).lower() == (me.username or "").lower()


def _is_addressed(message: Message, me: User) -> bool:
    if message.reply_to_message is not None and _is_by(message.reply_to_message, me):
        return True
    handle = f"@{me.username}".lower()
    entities = {**message.parse_entities(), **message.parse_caption_entities()}
    for entity, text in entities.items():
        if entity.type == MessageEntity.MENTION and text.lower() == handle:
            return True
        if entity.type == MessageEntity.TEXT_MENTION and entity.user and entity.user.id == me.id:
            return True
    return message.text is None and handle in _words(rich_text(message))  # which has no entities


def _words(text: str) -> list[str]:
    return [word.strip("*_~|`.,:;!?()").lower() for word in text.split()]


def _without_mention(text: str, me: User) -> str:
    """`text` without our name, be it behind a command or anywhere else."""
    at = text.lower().find(f"@{me.username}".lower())
    if at < 0:
        return text
    rest = text[at + len(me.username or "") + 1 :].lstrip(" ,:")
    return f"{text[:at].rstrip()} {rest}".strip()


class UpdateParser:
    """Reads updates: when they come, and again when they are taken from the inbox.

    commands: the names of our commands. albums: those that are meant for us.
    """

    def __init__(self, me: User, channel: Channel, commands: Container[str], albums: Container[str]) -> None:
        self._me = me
        self._bot = me.get_bot()
        self._channel = channel
        self._commands = commands
        self._albums = albums

    def read(self, update: RawUpdate) -> tuple[Update, IncomingMessage | None]:
        """An update and the letter in it, if there is any. Raises whatever the library does where it can't read it."""
        read = read_update(update.payload, self._bot)
        return read, self.parse(read)

    def kept(self, payload: str) -> IncomingMessage | None:
        """The letter in an update that was found to be meant for us when it came."""
        return self.parse(read_update(payload, self._bot), kept=True)

    def parse(self, update: Update, *, kept: bool = False) -> IncomingMessage | None:
        """The letter in an update; None for what is not meant for us: other kinds of update, talk among others.

        In a group only what mentions the bot, answers one of its messages or is a command counts, and an album of which
        that is true of one message. What Telegram itself passes on from a linked channel is said to nobody, and what it
        tells in a chat by itself neither. A guest message always mentions the bot, and is called as its
        query is. kept: the update is meant for us, or is looked at as if it were.
        """
        if update.callback_query is not None:
            return _pressed(update.callback_query, self._channel)
        if isinstance(stopped := update.api_kwargs.get(STOPPED), dict):
            return _stopped(stopped, self._channel)
        guest = update.guest_message
        message = update.message or update.edited_message or guest
        if message is None or message.from_user is None or message.is_automatic_forward:
            return None
        # bots of Telegram's own stand for whoever writes in the name of a chat
        anonymous = message.sender_chat is not None
        if message.from_user.is_bot and not anonymous:
            return None
        content = content_of(update)
        if content is None:
            return None
        private = message.chat.type == ChatType.PRIVATE
        text, provenance = content.text, _provenance(message)
        if content.worded and provenance is Provenance.TYPED:
            provenance = Provenance.FILE
        if guest is None and not private and not kept and message.media_group_id not in self._albums:
            ours = _is_our_command(text, self._me, self._commands)
            meant = _is_addressed(message, self._me) if ours is None else ours and provenance is Provenance.TYPED
            if not meant:
                return None
        topic = message.message_thread_id if message.is_topic_message else None
        key = message_key(message)
        arrival = Arrival(
            address=Address(CHANNEL, str(message.chat.id), str(topic) if topic else None),
            text=text if private and guest is None else _without_mention(text, self._me),
            provenance=provenance,
            received_at=message.date,
            channel=self._channel,
            speaker=None if private or guest is not None else plain_name(message.from_user.full_name),
            speaker_id=str(message.from_user.id),
            sender=plain_name(message.from_user.full_name),
            message_id=message.guest_query_id if guest is not None else key,
            alone=is_ephemeral(key),
            quoted=_quoted(message, self._me),
            files=(*_quoted_files(message, self._me), *content.files),
            album=message.media_group_id,
            origin=origin_of(message),
            language=message.from_user.language_code,
        )
        replied = message.reply_to_message
        answers = message_key(replied) if replied is not None and _is_by(replied, self._me) else None
        name, edited = plain_name(message.from_user.full_name), update.edited_message is not None
        user = message.from_user.id
        return IncomingMessage(
            arrival, user, private, edited=edited, name=name, quoted_reply=answers, anonymous=anonymous
        )
