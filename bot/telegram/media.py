"""Content of Telegram messages: text, files, and descriptions of everything else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from telegram import (
    Animation,
    Audio,
    Contact,
    Document,
    Game,
    Giveaway,
    GiveawayWinners,
    Invoice,
    LivePhoto,
    Location,
    Message,
    MessageOrigin,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUser,
    PaidMediaInfo,
    PassportData,
    PhotoSize,
    Poll,
    Story,
    TelegramObject,
    Update,
    Video,
    VideoNote,
    Voice,
)
from telegram.ext import filters

from bot.telegram import CHANNEL
from config.texts import N_, shorten_to_line
from memory.media.media import MediaFile, MediaKind

MAX_SIDE_PIXELS = 1600
"""Maximum width and height in pixels of the chosen photo size. Models shrink larger ones."""
MAX_TEXT_CHARS = 300
MAX_NAME_CHARS = 40
"""Maximum length of a name in prompts. Telegram allows 129 characters."""
_NO_NAME = re.compile(r"[^\w\s.,'’&()-]+")
# Content that can't be read
_UNREADABLE: dict[type, str] = {
    Animation: N_("this animation"),
    Video: N_("this video"),
    Story: N_("this story"),
    Game: N_("this game"),
    PaidMediaInfo: N_("this paid post"),
    Invoice: N_("this invoice"),
    Giveaway: N_("this giveaway"),
    GiveawayWinners: N_("this giveaway"),
    PassportData: N_("this passport data"),
}


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a message. `has_words_of_others` means that the sender did not choose the words."""

    text: str
    files: tuple[MediaFile, ...] = ()
    has_words_of_others: bool = False


def parse_content(update: Update) -> Content | None:
    """Return the content of the message in an update, or None for service messages such as a pinned message."""
    message = update.effective_message
    if message is None or message.successful_payment is not None or filters.StatusUpdate.ALL.check_update(update):
        return None
    text, files = get_text(message), get_files(message)
    if text or files:
        return Content(text, files)
    if (described := _describe(message, is_new=update.edited_message is None)) is not None:
        return described
    # An unknown field is probably a new kind of content
    return Content("", (_create_other_file(N_("this kind of message")),)) if message.api_kwargs else None


def get_text(message: Message) -> str:
    return message.text or message.caption or format_rich_text(message)


def get_files(message: Message, *, quoted: bool = False) -> tuple[MediaFile, ...]:
    """Return the files in a message, rarely more than one. They are `quoted` if another message replies to it."""
    attachment = message.effective_attachment or message.giveaway or message.giveaway_winners
    files = [_parse_attachment(part) for part in ([attachment] if attachment is not None else find_rich_media(message))]
    known = [file for file in files if file is not None and not (quoted and file.kind is MediaKind.OTHER)]
    return tuple(replace(file, quoted=quoted) for file in known)


def _parse_attachment(attachment: Any) -> MediaFile | None:
    """Return an attachment or a media block of a rich message as a file, or None if it is neither."""
    match attachment:
        case LivePhoto(photo=photos) if photos:
            return _create_file(MediaKind.PHOTO, _choose_size(photos))
        case [PhotoSize(), *_]:
            return _create_file(MediaKind.PHOTO, _choose_size(attachment))
        case Document():
            return _create_file(MediaKind.DOCUMENT, attachment, attachment.file_name, attachment.mime_type)
        case Voice():
            return _create_file(MediaKind.VOICE, attachment, None, attachment.mime_type)
        case Audio():
            return _create_file(
                MediaKind.AUDIO, attachment, attachment.file_name or attachment.title, attachment.mime_type
            )
        case VideoNote():
            return _create_file(MediaKind.VIDEO_NOTE, attachment, None, "video/mp4")
        case _:
            name = _UNREADABLE.get(type(attachment))
            return _create_other_file(name) if name is not None else None


def clean_name(name: str) -> str:
    """Return a name for prompts, without characters that could imitate another speaker or an instruction."""
    return " ".join(_NO_NAME.sub(" ", name).split())[:MAX_NAME_CHARS].strip() or "Somebody"


def get_origin(message: Message) -> str | None:
    return None if message.forward_origin is None else clean_name(_get_origin_name(message.forward_origin))


def _get_origin_name(origin: MessageOrigin) -> str:
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


def _describe(message: Message, *, is_new: bool) -> Content | None:
    if message.sticker is not None:
        return Content(message.sticker.emoji or "[a sticker]")
    if message.dice is not None:
        return Content(f"{message.dice.emoji} {message.dice.value}")
    if message.venue is not None:
        venue = message.venue
        place = f"{shorten_to_line(venue.title, MAX_TEXT_CHARS)}, {shorten_to_line(venue.address, MAX_TEXT_CHARS)}"
        return Content(f"[place: {place}, at {_format_position(venue.location)}]", has_words_of_others=True)
    if message.location is not None:
        # A live location is edited with each move
        return Content(f"[location: {_format_position(message.location)}]" if is_new else "")
    if message.contact is not None:
        return Content(_format_contact(message.contact), has_words_of_others=True)
    if message.poll is not None:
        return Content(_format_poll(message.poll), has_words_of_others=True)
    if message.checklist is not None:
        tasks = "".join(f"\n- {shorten_to_line(task.text, MAX_TEXT_CHARS)}" for task in message.checklist.tasks)
        return Content(
            f"[list: {shorten_to_line(message.checklist.title, MAX_TEXT_CHARS)}]{tasks}", has_words_of_others=True
        )
    return None


def _choose_size(sizes: Sequence[PhotoSize]) -> PhotoSize:
    """Return the largest size within the limit, or the smallest one if all are larger."""
    fitting = [size for size in sizes if max(size.width, size.height) <= MAX_SIDE_PIXELS]
    return max(fitting or sizes, key=lambda size: size.width * size.height * (1 if fitting else -1))


def _create_file(
    kind: MediaKind,
    file: PhotoSize | Document | Voice | Audio | VideoNote,
    name: str | None = None,
    mime_type: str | None = None,
) -> MediaFile:
    return MediaFile(kind, CHANNEL, file.file_id, file.file_unique_id, name, mime_type, file.file_size)


def _create_other_file(name: str) -> MediaFile:
    return MediaFile(MediaKind.OTHER, CHANNEL, "", "", name)


def _format_position(location: Location) -> str:
    return f"{location.latitude:.5f}, {location.longitude:.5f}"


def _format_contact(contact: Contact) -> str:
    name = " ".join(part for part in (contact.first_name, contact.last_name) if part)
    return f"[contact: {clean_name(name)}, {shorten_to_line(contact.phone_number, MAX_TEXT_CHARS)}]"


def _format_poll(poll: Poll) -> str:
    votes = "".join(
        f"\n- {shorten_to_line(option.text, MAX_TEXT_CHARS)} ({option.voter_count})" for option in poll.options
    )
    return f"[poll: {shorten_to_line(poll.question, MAX_TEXT_CHARS)}]{votes}"


MAX_DEPTH = 20
"""Maximum nesting depth of blocks. Telegram's own apps nest far fewer."""
_MARKS = {"bold": "**", "italic": "_", "strikethrough": "~~", "code": "`", "spoiler": "||"}
_MEDIA: dict[str, type[TelegramObject]] = {"animation": Animation, "audio": Audio, "video": Video, "voice_note": Voice}


def format_rich_text(message: Message) -> str:
    """Return a rich message as Markdown, or an empty string for other messages."""
    return "\n\n".join(part for part in _format_blocks(_get_blocks(message)) if part)


def find_rich_media(message: Message) -> Iterator[tuple[PhotoSize, ...] | TelegramObject]:
    """Yield the photos, each in all its sizes, and the files in a rich message in order."""
    yield from _find_media(_get_blocks(message), MAX_DEPTH)


def _get_blocks(message: Message) -> list[Any]:
    rich = message.api_kwargs.get("rich_message")
    blocks = rich.get("blocks") if isinstance(rich, dict) else None
    return blocks if isinstance(blocks, list) else []


def _format_blocks(blocks: object, depth: int = MAX_DEPTH) -> Iterator[str]:
    if isinstance(blocks, list) and depth:
        for block in blocks:
            if isinstance(block, dict):
                yield _format_block(block, depth - 1)


def _format_block(block: dict[str, Any], depth: int) -> str:
    text = _format_text(block.get("text", ""), depth).strip()
    match block.get("type"):
        case "heading":
            size = block.get("size")
            return f"{'#' * min(size if isinstance(size, int) and size > 0 else 2, 6)} {text}" if text else ""
        case "pre":
            return f"```{block.get('language') or ''}\n{text}\n```"
        case "divider":
            return "---"
        case "mathematical_expression":
            return str(block.get("expression", ""))
        case "list":
            return "\n".join(_format_items(block.get("items"), depth))
        case "table":
            return "\n".join(
                [*_format_rows(block.get("cells"), depth), _format_text(block.get("caption", ""), depth)]
            ).strip()
        case "blockquote":
            return _format_quote("\n".join(_format_blocks(block.get("blocks"), depth)), block, depth)
        case "pullquote":
            return _format_quote(text, block, depth)
        case _:
            # Paragraphs, footers, captions, details and unknown blocks
            parts = [text, *(_format_text(block.get(name, ""), depth) for name in ("summary", "caption"))]
            return "\n".join(part for part in (*parts, *_format_blocks(block.get("blocks"), depth)) if part)


def _format_quote(text: str, block: dict[str, Any], depth: int) -> str:
    lines = [*text.splitlines(), _format_text(block.get("credit", ""), depth)]
    return "\n".join(f"> {line}" for line in lines if line)


def _format_items(items: object, depth: int) -> Iterator[str]:
    for item in items if isinstance(items, list) else []:
        if not isinstance(item, dict):
            continue
        label = str(item.get("label") or "-").strip()
        mark = label if label[:-1].isalnum() and label[-1] in ".)" else "-"
        box = ("[x] " if item.get("is_checked") else "[ ] ") if item.get("has_checkbox") else ""
        content = "\n".join(_format_blocks(item.get("blocks"), depth)).replace("\n", "\n  ")
        yield f"{mark} {box}{content}"


def _format_rows(rows: object, depth: int) -> Iterator[str]:
    for number, row in enumerate(rows if isinstance(rows, list) else []):
        cells = [cell for cell in row if isinstance(cell, dict)] if isinstance(row, list) else []
        yield "| " + " | ".join(_format_text(cell.get("text", ""), depth) for cell in cells) + " |"
        if number == 0:
            yield "|" + " --- |" * len(cells)


def _format_text(text: object, depth: int) -> str:
    """Render a rich text, which is a string, a list of texts or an object, as Markdown."""
    if isinstance(text, str):
        return text
    if depth <= 0:
        return ""
    if isinstance(text, list):
        return "".join(_format_text(part, depth - 1) for part in text)
    if not isinstance(text, dict):
        return ""
    inner = _format_text(text.get("text", ""), depth - 1)
    mark = _MARKS.get(str(text.get("type")), "")
    if text.get("type") == "url" and isinstance(url := text.get("url"), str) and url != inner:
        return f"[{inner}]({url})"
    if not inner:  # Custom emoji or formula
        return next(
            (value for name in ("alternative_text", "expression") if isinstance(value := text.get(name), str)), ""
        )
    return f"{mark}{inner}{mark}"


def _find_media(blocks: object, depth: int) -> Iterator[tuple[PhotoSize, ...] | TelegramObject]:
    for block in blocks if isinstance(blocks, list) and depth else []:
        if not isinstance(block, dict):
            continue
        if block.get("type") == "photo" and isinstance(sizes := block.get("photo"), list) and sizes:
            yield tuple(PhotoSize.de_json(size, None) for size in sizes)
        elif (kind := _MEDIA.get(str(block.get("type")))) and isinstance(file := block.get(str(block["type"])), dict):
            yield kind.de_json(file, None)
        yield from _find_media(block.get("blocks"), depth - 1)
        for item in items if isinstance(items := block.get("items"), list) else []:
            yield from _find_media(item.get("blocks") if isinstance(item, dict) else None, depth - 1)
