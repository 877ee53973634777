"""What a message of Telegram brings: its words, what stands for the rest of it in words, and its files."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import structlog
from telegram import (
    Animation,
    Audio,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUser,
    Voice,
)
from telegram.ext import filters

from bot.telegram import CHANNEL
from bot.telegram.rich_message import rich_media, rich_text
from config.texts import N_, in_line
from memory.media.media import MediaFile, MediaKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from telegram import (
        Contact,
        Document,
        Location,
        Message,
        MessageOrigin,
        PhotoSize,
        Poll,
        TelegramObject,
        Update,
        VideoNote,
    )


log = structlog.get_logger(__name__)

LONGEST_SIDE = 1600
"""Pixels of the photo that is chosen: what is larger, models make smaller before they look at it."""
LONGEST_TEXT = 300
"""Characters of a text that Telegram passes on from elsewhere, such as the name of a place."""
NAME_CHARACTERS = 40
"""What is shown of a name, which its owner chooses freely and may make 129 characters long."""
_NO_NAME = re.compile(r"[^\w\s.,'’&()-]+")
# What is content of a message and can't be read here, by its field.
_UNREADABLE = {
    "animation": N_("this animation"),
    "video": N_("this video"),
    "story": N_("this story"),
    "game": N_("this game"),
    "paid_media": N_("this paid post"),
    "invoice": N_("this invoice"),
    "giveaway": N_("this giveaway"),
    "giveaway_winners": N_("this giveaway"),
    "passport_data": N_("this passport data"),
}


@dataclass(frozen=True, slots=True)
class Content:
    """What a message brings. worded: whether others than the sender have chosen the words."""

    text: str
    files: tuple[MediaFile, ...] = ()
    worded: bool = False


def content_of(update: Update) -> Content | None:
    """What the message in an update brings; None for what Telegram itself tells in a chat, such as a pin."""
    message = update.effective_message
    if message is None or message.successful_payment is not None or filters.StatusUpdate.ALL.check_update(update):
        return None
    text, files = text_of(message), files_of(message)
    if text or files:
        return Content(text, files)
    if (described := _described(message, is_new=update.edited_message is None)) is not None:
        return described
    # a field that this version does not know is most likely a new kind of content
    return Content("", (_other(N_("this kind of message")),)) if message.api_kwargs else None


def text_of(message: Message) -> str:
    """The words of a message: its text, its caption, or a rich message as Markdown."""
    return message.text or message.caption or rich_text(message)


def files_of(message: Message, *, quoted: bool = False) -> tuple[MediaFile, ...]:
    """The files in a message, seldom more than one. quoted: it is the one that is answered."""
    for field, name in _UNREADABLE.items():
        if getattr(message, field) is not None and getattr(message, field) != ():
            return () if quoted else (_other(name),)
    media_file = _file_of(message)
    media_files = [media_file] if media_file is not None else map(_rich_file, rich_media(message))
    return tuple(replace(media_file, quoted=quoted) for media_file in media_files)


def _file_of(message: Message) -> MediaFile | None:
    live = message.live_photo
    if sizes := message.photo or (live.photo if live is not None else ()):
        return _file(MediaKind.PHOTO, _best(sizes))
    if (document := message.document) is not None:
        return _file(MediaKind.DOCUMENT, document, document.file_name, document.mime_type)
    if (voice := message.voice) is not None:
        return _file(MediaKind.VOICE, voice, None, voice.mime_type)
    if (audio := message.audio) is not None:
        return _file(MediaKind.AUDIO, audio, audio.file_name or audio.title, audio.mime_type)
    if message.video_note is not None:
        return _file(MediaKind.VIDEO_NOTE, message.video_note, None, "video/mp4")
    return None


def _rich_file(media: tuple[PhotoSize, ...] | TelegramObject) -> MediaFile:
    """A photo or a file among the blocks of a rich message."""
    match media:
        case tuple():
            return _file(MediaKind.PHOTO, _best(media))
        case Voice():
            return _file(MediaKind.VOICE, media, None, media.mime_type)
        case Audio():
            return _file(MediaKind.AUDIO, media, media.file_name or media.title, media.mime_type)
        case Animation():
            return _other(_UNREADABLE["animation"])
        case _:
            return _other(_UNREADABLE["video"])


def plain_name(name: str) -> str:
    """A name as a model is told it: nothing in it reads like another speaker or an order."""
    return " ".join(_NO_NAME.sub(" ", name).split())[:NAME_CHARACTERS].strip() or "Somebody"


def origin_of(message: Message) -> str | None:
    """Whom a forwarded message is from; None for one that is not forwarded."""
    return None if message.forward_origin is None else plain_name(_name_of(message.forward_origin))


def _name_of(origin: MessageOrigin) -> str:
    match origin:
        case MessageOriginUser():
            return origin.sender_user.full_name
        case MessageOriginHiddenUser():
            return origin.sender_user_name
        case MessageOriginChat():
            return origin.sender_chat.effective_name or ""
        case MessageOriginChannel():
            return origin.chat.effective_name or ""
        case _:
            return ""


def _described(message: Message, *, is_new: bool) -> Content | None:
    """What stands in words for what is neither text nor a file."""
    if message.sticker is not None:
        return Content(message.sticker.emoji or "[a sticker]")
    if message.dice is not None:
        return Content(f"{message.dice.emoji} {message.dice.value}")
    if message.venue is not None:
        venue = message.venue
        place = f"{in_line(venue.title, LONGEST_TEXT)}, {in_line(venue.address, LONGEST_TEXT)}"
        return Content(f"[place: {place}, at {_position(venue.location)}]", worded=True)
    if message.location is not None:
        # one that is shared live tells each move as an edit
        return Content(f"[location: {_position(message.location)}]" if is_new else "")
    if message.contact is not None:
        return Content(_contact(message.contact), worded=True)
    if message.poll is not None:
        return Content(_poll(message.poll), worded=True)
    if message.checklist is not None:
        tasks = "".join(f"\n- {in_line(task.text, LONGEST_TEXT)}" for task in message.checklist.tasks)
        return Content(f"[list: {in_line(message.checklist.title, LONGEST_TEXT)}]{tasks}", worded=True)
    return None


def _best(sizes: Sequence[PhotoSize]) -> PhotoSize:
    """The largest size that a model looks at as it is; the smallest where all are larger."""
    fitting = [size for size in sizes if max(size.width, size.height) <= LONGEST_SIDE]
    return max(fitting or sizes, key=lambda size: size.width * size.height * (1 if fitting else -1))


def _file(
    kind: MediaKind,
    file: PhotoSize | Document | Voice | Audio | VideoNote,
    name: str | None = None,
    mime_type: str | None = None,
) -> MediaFile:
    return MediaFile(kind, CHANNEL, file.file_id, file.file_unique_id, name, mime_type, file.file_size)


def _other(name: str) -> MediaFile:
    return MediaFile(MediaKind.OTHER, CHANNEL, "", "", name)


def _position(location: Location) -> str:
    return f"{location.latitude:.5f}, {location.longitude:.5f}"


def _contact(contact: Contact) -> str:
    name = " ".join(part for part in (contact.first_name, contact.last_name) if part)
    return f"[contact: {plain_name(name)}, {in_line(contact.phone_number, LONGEST_TEXT)}]"


def _poll(poll: Poll) -> str:
    votes = "".join(f"\n- {in_line(option.text, LONGEST_TEXT)} ({option.voter_count})" for option in poll.options)
    return f"[poll: {in_line(poll.question, LONGEST_TEXT)}]{votes}"
