"""Parsing of Telegram's updates: sender, chat, content, and whether the bot is addressed."""

from __future__ import annotations

import json
import re
from collections.abc import Container
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from telegram import (
    CallbackQuery,
    Message,
    MessageEntity,
    MessageReactionUpdated,
    ReactionTypeEmoji,
    Update,
    User,
)
from telegram.constants import ChatType

from bot.commands.command import parse_command
from bot.telegram import CHANNEL
from bot.telegram.features import is_ephemeral, make_message_key
from bot.telegram.media import Content, clean_name, format_rich_text, get_files, get_origin, get_text, parse_content
from bot.telegram.raw_updates import RawUpdate, get_number, parse_int, read_update
from memory.log.sessions import Address
from memory.media.media import MediaFile
from memory.messages import Passage, Provenance
from pipeline.arrival import Arrival, Channel

MAX_QUOTED_CHARS = 2_000
STOPPED = "stopped_message_generation"
"""Type of the update after a press on Stop under a draft (Bot API 10.3), which the library doesn't know yet."""
# A command at the start of a text, with the bot that it is for, if named.
_COMMAND = re.compile(r"/(?P<name>[a-z0-9_]{1,64})(?:@(?P<bot>[a-z0-9_]+))?(?=\s|$)", re.IGNORECASE)
YES, NO = "\N{THUMBS UP SIGN}", "\N{THUMBS DOWN SIGN}"
ANSWERING_REACTIONS = frozenset({YES, NO})
"""The reactions that stand for a button."""


@dataclass(frozen=True, slots=True)
class Press:
    """A press of a button, or a reaction that means the same.

    Args:
        query: the callback query, which Telegram expects to be answered. None for a reaction.
        keyboard: all buttons of its message, or None if unknown.
        reaction: the emoji.
    """

    query: str | None
    button: str
    keyboard: tuple[str, ...] | None = None
    reaction: str | None = None


@dataclass(frozen=True, slots=True)
class Contact:
    """A user or group, with the name to show to the owner. The name may be empty."""

    number: int
    name: str
    username: str | None = None


@dataclass(frozen=True, slots=True)
class ChosenPeople:
    """The people whom a user has chosen with the button of a request."""

    request: int
    people: tuple[Contact, ...]


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """A user's message, with the data that decides whether it is admitted.

    Args:
        name: the user's name, in a form that is safe to show to others.
        quoted_reply: the id of the bot's message that it replies to.
        press: the button that was pressed instead of writing. The store knows the button's command.
        anonymous: whether it was written in the name of a group or channel, which hides the sender.
        contacts: the sender, and the group in which it was written.
        chosen: the people who were chosen instead of writing.
    """

    arrival: Arrival
    user_id: int
    private: bool
    edited: bool
    name: str = ""
    quoted_reply: str | None = None
    press: Press | None = None
    anonymous: bool = False
    contacts: tuple[Contact, ...] = ()
    chosen: ChosenPeople | None = None


def identify_sender(update: RawUpdate, channel: Channel) -> IncomingMessage | None:
    """Return a message without text that identifies the sender of an unreadable update, or None if that is impossible.

    A button press needs only the id of its query. Its user and chat may be unknown: 0.
    """
    payload = json.loads(update.payload)
    if isinstance(query := payload.get("callback_query"), dict):
        return _parse_raw_press(query, channel)
    message = payload.get("message") or payload.get("edited_message")
    try:
        chat, user = parse_int(message["chat"]["id"]), parse_int(message["from"]["id"])
        private = message["chat"]["type"] == ChatType.PRIVATE
        return IncomingMessage(_create_empty_arrival(chat, channel), user, private, edited=False)
    except (KeyError, TypeError, ValueError):
        return None


def _parse_raw_press(query: dict[str, Any], channel: Channel) -> IncomingMessage | None:
    if not isinstance(query.get("id"), str):
        return None
    sender, message = query.get("from"), query.get("message")
    user, chat = get_number(sender), get_number(message.get("chat") if isinstance(message, dict) else None)
    language = sender.get("language_code") if isinstance(sender, dict) else None
    arrival = replace(_create_empty_arrival(chat, channel), language=language if isinstance(language, str) else None)
    return IncomingMessage(arrival, user, private=user == chat, edited=False, press=Press(query["id"], ""))


def _create_empty_arrival(chat: int, channel: Channel) -> Arrival:
    return Arrival(Address(CHANNEL, str(chat)), "", Provenance.TYPED, datetime.now(UTC), channel)


def _parse_stop(stopped: dict[str, Any], channel: Channel) -> IncomingMessage:
    """Return a /stop message for a press on Stop under a draft. Only private chats have drafts."""
    user, topic = parse_int(stopped["chat"]["id"]), stopped.get("message_thread_id")
    address = Address(CHANNEL, str(user), str(topic) if topic else None)
    arrival = Arrival(address, "/stop", Provenance.TYPED, datetime.now(UTC), channel, speaker_id=str(user))
    return IncomingMessage(arrival, user, private=True, edited=False)


def _parse_press(query: CallbackQuery, channel: Channel) -> IncomingMessage | None:
    """Return a message for a press of a button, without the button's command."""
    message = query.message
    if message is None or query.data is None:  # A game, or an inline message
        return None
    private = message.chat.type == ChatType.PRIVATE
    known = message if isinstance(message, Message) else None  # Telegram hides the content of very old messages
    key = make_message_key(known, query.from_user.id) if known is not None else str(message.message_id)
    arrival = Arrival(
        address=Address(CHANNEL, str(message.chat.id)),  # The stored button knows the topic
        text="",
        provenance=Provenance.TYPED,
        received_at=datetime.now(UTC),  # Callback queries have no date
        channel=channel,
        speaker=None if private else clean_name(query.from_user.full_name),
        speaker_id=str(query.from_user.id),
        sender=clean_name(query.from_user.full_name),
        message_id=key,
        pressed=query.id,
        alone=is_ephemeral(key),
        language=query.from_user.language_code,
    )
    keyboard = None
    if known is not None:
        rows = known.reply_markup.inline_keyboard if known.reply_markup is not None else ()
        keyboard = tuple(str(button.callback_data) for row in rows for button in row)
    return IncomingMessage(
        arrival, query.from_user.id, private, edited=False, press=Press(query.id, query.data, keyboard)
    )


def _parse_reaction(changed: MessageReactionUpdated, channel: Channel) -> IncomingMessage | None:
    """Return a message for a new reaction that answers something. Return None for others, and anonymous ones."""
    former = {reaction.emoji for reaction in changed.old_reaction if isinstance(reaction, ReactionTypeEmoji)}
    new = {reaction.emoji for reaction in changed.new_reaction if isinstance(reaction, ReactionTypeEmoji)}
    answers = (new - former) & ANSWERING_REACTIONS
    if changed.user is None or len(answers) != 1:
        return None
    private = changed.chat.type == ChatType.PRIVATE
    arrival = Arrival(
        address=Address(CHANNEL, str(changed.chat.id)),
        text="",
        provenance=Provenance.TYPED,
        received_at=changed.date,
        channel=channel,
        speaker=None if private else clean_name(changed.user.full_name),
        speaker_id=str(changed.user.id),
        sender=clean_name(changed.user.full_name),
        message_id=str(changed.message_id),
        pressed=f"reaction {changed.message_id}",
        language=changed.user.language_code,
    )
    press = Press(None, "", reaction=answers.pop())
    return IncomingMessage(arrival, changed.user.id, private, edited=False, press=press)


def _parse_chosen(message: Message) -> ChosenPeople | None:
    shared = message.users_shared
    if shared is None or message.chat.type != ChatType.PRIVATE:
        return None
    people = [
        Contact(user.user_id, _join_names(user.first_name, user.last_name), user.username) for user in shared.users
    ]
    return ChosenPeople(shared.request_id, tuple(people))


def _join_names(first: str | None, last: str | None) -> str:
    name = f"{first or ''} {last or ''}".strip()
    return clean_name(name) if name else ""


def _list_contacts(message: Message) -> tuple[Contact, ...]:
    sender, chat = message.from_user, message.chat
    found = [] if sender is None or sender.is_bot else [get_contact(sender)]
    if chat.title is not None:
        found.append(Contact(chat.id, clean_name(chat.title)))
    return tuple(found)


def get_contact(user: User) -> Contact:
    return Contact(user.id, clean_name(user.full_name), user.username)


def _parse_quote(message: Message, me: User) -> Passage | None:
    """Return the message that is replied to, or the quoted part of it. Return None if it has no text."""
    replied = message.reply_to_message
    whole_text = get_text(replied) if replied is not None else None
    quoted = message.quote.text if message.quote is not None else whole_text
    if not quoted:
        return None
    text = quoted[:MAX_QUOTED_CHARS]
    if replied is None or replied.from_user is None:
        return Passage(text, Provenance.FORWARDED)
    if _is_by(replied, me):
        return Passage(f"Assistant: {text}", Provenance.FOREIGN)  # The store knows its provenance
    own = message.from_user is not None and replied.from_user.id == message.from_user.id
    provenance = _get_provenance(replied) if own else Provenance.FORWARDED
    return Passage(f"{clean_name(replied.from_user.full_name)}: {text}", provenance)


def _get_quoted_files(message: Message, me: User) -> tuple[MediaFile, ...]:
    """Return the files of the message that is replied to, unless the bot sent it."""
    replied = message.reply_to_message
    if replied is None or _is_by(replied, me) or message.media_group_id is not None:
        return ()
    return get_files(replied, quoted=True)


def _is_by(message: Message, user: User) -> bool:
    return message.from_user is not None and message.from_user.id == user.id


def _get_provenance(message: Message) -> Provenance:
    if message.forward_origin is not None:
        return Provenance.FORWARDED
    if message.via_bot is not None:
        return Provenance.WEB  # Another bot wrote it
    return Provenance.TYPED


def _is_our_command(text: str, me: User, commands: Container[str]) -> bool | None:
    """Return whether a text is a command for this bot, or None if it is no command."""
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
    return message.text is None and handle in _split_words(format_rich_text(message))  # Rich messages have no entities


def _split_words(text: str) -> list[str]:
    return [word.strip("*_~|`.,:;!?()").lower() for word in text.split()]


def remove_mention(text: str, me: User) -> str:
    at = text.lower().find(f"@{me.username}".lower())
    if at < 0:
        return text
    rest = text[at + len(me.username or "") + 1 :].lstrip(" ,:")
    return f"{text[:at].rstrip()} {rest}".strip()


class UpdateParser:
    """Parses updates, both received and stored ones.

    Args:
        commands: the names of all commands.
        albums: the albums that are addressed to the bot.
    """

    def __init__(self, me: User, channel: Channel, commands: Container[str], albums: Container[str]) -> None:
        self._me = me
        self._bot = me.get_bot()
        self._channel = channel
        self._commands = commands
        self._albums = albums

    def read(self, update: RawUpdate) -> tuple[Update, IncomingMessage | None]:
        read = read_update(update.payload, self._bot)
        return read, self.parse(read)

    def parse_stored(self, payload: str) -> IncomingMessage | None:
        """Return the message in a stored update, which is known to be addressed to the bot."""
        return self.parse(read_update(payload, self._bot), kept=True)

    def parse(self, update: Update, *, kept: bool = False) -> IncomingMessage | None:
        """Return the message in an update. Return None for other kinds of update and for messages to others.

        In a group a message is for the bot if it mentions the bot, replies to it, is a command, or belongs to an album
        with such a message. Automatic forwards from a linked channel and service messages never are.

        Args:
            kept: whether to treat the update as addressed to the bot.
        """
        if update.callback_query is not None:
            return _parse_press(update.callback_query, self._channel)
        if update.message_reaction is not None:
            return _parse_reaction(update.message_reaction, self._channel)
        if isinstance(stopped := update.api_kwargs.get(STOPPED), dict):
            return _parse_stop(stopped, self._channel)
        message = update.message or update.edited_message
        if message is None or message.from_user is None or message.is_automatic_forward:
            return None
        # Messages in the name of a chat come from one of Telegram's own bots
        anonymous = message.sender_chat is not None
        if message.from_user.is_bot and not anonymous:
            return None
        chosen = _parse_chosen(message) if update.message is not None else None
        content = parse_content(update) if chosen is None else Content("")
        if content is None:
            return None
        private = message.chat.type == ChatType.PRIVATE
        text, provenance = content.text, _get_provenance(message)
        if content.has_words_of_others and provenance is Provenance.TYPED:
            provenance = Provenance.FILE
        if not private and not kept and message.media_group_id not in self._albums:
            is_command = _is_our_command(text, self._me, self._commands)
            is_addressed = (
                _is_addressed(message, self._me)
                if is_command is None
                else is_command and provenance is Provenance.TYPED
            )
            if not is_addressed:
                return None
        topic = message.message_thread_id if message.is_topic_message else None
        key = make_message_key(message)
        arrival = Arrival(
            address=Address(CHANNEL, str(message.chat.id), str(topic) if topic else None),
            text=text if private else remove_mention(text, self._me),
            provenance=provenance,
            received_at=message.date,
            channel=self._channel,
            speaker=None if private else clean_name(message.from_user.full_name),
            speaker_id=str(message.from_user.id),
            sender=clean_name(message.from_user.full_name),
            message_id=key,
            alone=is_ephemeral(key),
            quoted=_parse_quote(message, self._me),
            files=(*_get_quoted_files(message, self._me), *content.files),
            album=message.media_group_id,
            origin=get_origin(message),
            language=message.from_user.language_code,
        )
        replied = message.reply_to_message
        answers = make_message_key(replied) if replied is not None and _is_by(replied, self._me) else None
        name, edited = clean_name(message.from_user.full_name), update.edited_message is not None
        user = message.from_user.id
        return IncomingMessage(
            arrival,
            user,
            private,
            edited=edited,
            name=name,
            quoted_reply=answers,
            anonymous=anonymous,
            contacts=_list_contacts(message),
            chosen=chosen,
        )
