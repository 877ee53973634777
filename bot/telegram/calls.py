"""The Bot API client: calls, their errors, and files."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import structlog
from telegram import (
    Bot,
    ForceReply,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputFile,
    KeyboardButton,
    KeyboardButtonRequestUsers,
    LinkPreviewOptions,
    ReplyKeyboardMarkup,
    ReplyKeyboardRemove,
    ReplyParameters,
    Update,
    WebAppInfo,
)
from telegram.error import (
    BadRequest,
    InvalidToken,
    RetryAfter,
    TelegramError,
)
from telegram.ext import ExtBot
from telegram.request import HTTPXRequest

from bot.telegram.failures import SendFailed, Trouble, Unreadable, parsing_answer, to_send_failure
from bot.telegram.features import build_ephemeral_parameters, edit_ephemeral, is_ephemeral, make_message_key
from bot.telegram.raw_updates import RawUpdate
from bot.telegram.reminder_times import has_times
from bot.telegram.rendering import Chunk, File, Part, VoiceNote, split_plain
from bot.telegram.updates import STOPPED
from config.texts import _
from config.waiting import Backoff
from memory.buttons import PEOPLE, PlacedButton, PlacedKeyboard
from memory.log.sessions import Address
from memory.mail.outbox import OutboxItem
from memory.media.media import Media
from memory.store.button_rows import compute_request
from pipeline.media.files import MediaUnreadable

log = structlog.get_logger(__name__)

UPDATE_KINDS = (
    Update.MESSAGE,
    Update.EDITED_MESSAGE,
    Update.CALLBACK_QUERY,
    Update.MY_CHAT_MEMBER,
    Update.MESSAGE_REACTION,
    STOPPED,
)
"""The types of updates that the channel itself handles."""
READ_TIMEOUT_SECONDS = 30
MAX_UPDATES = 100


class BotApiRequest(HTTPXRequest):
    """The library's HTTP client, with a parser that doesn't log unreadable answers, which contain message texts."""

    @staticmethod
    def parse_json_payload(payload: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(payload.decode("utf-8", "replace"))
        except (ValueError, RecursionError, MemoryError) as error:
            raise Unreadable(type(error).__name__, payload) from None
        if not isinstance(answer, dict) or not ("result" in answer or "description" in answer):
            raise Unreadable("it is not Telegram's", foreign=True)
        return answer


class PollingBot(ExtBot[int]):
    """The library's client with a poll that returns raw updates.

    The library's own poll fails as a whole, so that one unreadable update blocks all later ones, and logs its text.
    """

    async def poll(
        self, offset: int | None, seconds: int, kinds: Sequence[str], limit: int = MAX_UPDATES
    ) -> list[RawUpdate]:
        """Return the updates of these kinds from `offset` on, after at most `seconds`. Raises TelegramError."""
        parameters = {"offset": offset, "timeout": seconds, "limit": limit, "allowed_updates": kinds}
        with parsing_answer():
            result = await self._post("getUpdates", parameters, read_timeout=seconds + READ_TIMEOUT_SECONDS)
        if not isinstance(result, list):
            raise Unreadable("there is no list of updates in it")
        updates = []
        for update in result:
            try:
                updates.append(RawUpdate.from_json(update))
            except ValueError:
                log.error("update_without_number")  # It can neither be confirmed nor stored
        if result and not updates:
            raise Unreadable("no update in it has a number")
        return updates


UPLOAD_TIMEOUT_SECONDS = 60.0
MAX_REPLACEMENT_MESSAGES = 5
"""Maximum number of messages that replace a file if the chat accepts none."""

MAX_FILE_BYTES = 20 * 1024 * 1024
"""Maximum size of a file that bots may download (Bot API)."""
FETCH_TIMEOUT_SECONDS = 60
MAX_FETCH_ATTEMPTS = 3
MAX_FETCH_PAUSE_SECONDS = 10.0
MAX_CONCURRENT_FILES = 4

MAX_CHOSEN_PEOPLE = 10
"""Maximum number of people whom a user can choose at once (Bot API)."""

Markup = InlineKeyboardMarkup | ReplyKeyboardMarkup | ReplyKeyboardRemove | ForceReply | None
"""Markup of a new message. An edited message accepts only InlineKeyboardMarkup."""


def get_chat_id(address: Address) -> int:
    return int(address.chat_id)


def get_thread_id(address: Address) -> int | None:
    return int(address.thread_id) if address.thread_id else None


def build_message_parameters(address: Address, reply_to: str | None, markup: Markup, *, silent: bool) -> dict[str, Any]:
    parameters: dict[str, Any] = {
        "chat_id": get_chat_id(address),
        "message_thread_id": get_thread_id(address),
        "disable_notification": silent or None,
        "reply_markup": markup,
    }
    if reply_to and not is_ephemeral(reply_to):
        parameters["reply_parameters"] = ReplyParameters(int(reply_to), allow_sending_without_reply=True)
    return parameters


async def send_part(
    bot: Bot,
    address: Address,
    part: Part,
    reply_to: str | None = None,
    markup: Markup = None,
    *,
    silent: bool = False,
    receiver: str | None = None,
) -> str:
    """Send one part of a reply. Return the id of the message. Raises SendFailed.

    Args:
        receiver: the only user who may see it, as for `build_ephemeral_parameters`. The id shows whether that worked.
    """
    silent = silent or isinstance(part, VoiceNote)  # Its text already made a sound
    parameters = build_message_parameters(address, None if receiver is not None else reply_to, markup, silent=silent)
    if receiver is not None:
        parameters["api_kwargs"] = build_ephemeral_parameters(receiver, reply_to)
    caption = part if isinstance(part, Chunk) else part.caption if isinstance(part, File) else Chunk("")

    async def send(what: Chunk) -> str:
        if isinstance(part, Chunk):
            message = await bot.send_message(text=what.text, entities=what.entities, **parameters)
        elif isinstance(part, VoiceNote):
            message = await bot.send_voice(
                voice=part.content, filename="answer.ogg", read_timeout=UPLOAD_TIMEOUT_SECONDS, **parameters
            )
        elif part.is_photo:
            message = await bot.send_photo(
                photo=InputFile(part.content, filename=part.name),
                caption=what.text or None,
                caption_entities=what.entities,
                read_timeout=UPLOAD_TIMEOUT_SECONDS,
                **parameters,
            )
        else:
            message = await bot.send_document(
                document=InputFile(part.content, filename=part.name),
                caption=what.text or None,
                caption_entities=what.entities,
                read_timeout=UPLOAD_TIMEOUT_SECONDS,
                **parameters,
            )
        return make_message_key(message, int(receiver.partition(" ")[0]) if receiver is not None else None)

    try:
        return await call_with_entities(send, caption)
    except SendFailed as failure:
        if not isinstance(part, File) or failure.trouble is not Trouble.NEVER or failure.blocked or failure.moved_to:
            raise
        if part.is_photo:  # For example, its proportions are extreme
            log.info("photo_refused", reason=failure.reason)
            document = replace(part, is_photo=False)
            return await send_part(bot, address, document, reply_to, markup, silent=silent, receiver=receiver)
        # The group may forbid files, so send the beginning as messages
        log.warning("file_refused", reason=failure.reason)
        chunks = split_plain(part.instead)[:MAX_REPLACEMENT_MESSAGES]
        return [await send_part(bot, address, chunk, receiver=receiver) for chunk in chunks][-1]


async def edit_chunk(
    bot: Bot, address: Address, message_id: str, chunk: Chunk, markup: InlineKeyboardMarkup | None = None
) -> None:
    """Replace text and buttons of a sent message. Raises SendFailed."""

    async def edit(what: Chunk) -> str:
        if is_ephemeral(message_id):
            no_preview = {"link_preview_options": LinkPreviewOptions(is_disabled=True)}
            shown = no_preview | {"text": what.text, "entities": what.entities, "reply_markup": markup}
            await edit_ephemeral(bot, "Text", get_chat_id(address), message_id, shown)
        else:
            await bot.edit_message_text(
                what.text,
                chat_id=get_chat_id(address),
                message_id=int(message_id),
                entities=what.entities,
                reply_markup=markup,
            )
        return message_id

    try:
        await call_with_entities(edit, chunk)
    except SendFailed as failure:
        if "not modified" not in failure.reason:
            raise


async def edit_markup(bot: Bot, address: Address, message_id: str, markup: InlineKeyboardMarkup | None) -> None:
    if is_ephemeral(message_id):
        await edit_ephemeral(bot, "ReplyMarkup", get_chat_id(address), message_id, {"reply_markup": markup})
    else:
        await bot.edit_message_reply_markup(get_chat_id(address), int(message_id), reply_markup=markup)


async def call_with_entities(call: Callable[[Chunk], Awaitable[str]], chunk: Chunk) -> str:
    """Run a call, with plain text if Telegram rejects the entities. Raises SendFailed, also if it rejects times."""
    try:
        with parsing_answer():
            try:
                return await call(chunk)
            except BadRequest as error:
                if not chunk.entities or has_times(chunk) or "entit" not in error.message.lower():
                    raise
                log.warning("entities_refused", reason=error.message)
                return await call(Chunk(chunk.text))
    except TelegramError as error:
        raise to_send_failure(error) from error


def build_markup(keyboard: PlacedKeyboard) -> InlineKeyboardMarkup | None:
    rows = [[_build_button(button) for button in row if not is_for_people(button)] for row in keyboard]
    rows = [row for row in rows if row]
    return InlineKeyboardMarkup(rows) if rows else None


def _build_button(button: PlacedButton) -> InlineKeyboardButton:
    if button.opens is not None:
        return InlineKeyboardButton(button.label, web_app=WebAppInfo(button.opens))
    return InlineKeyboardButton(button.label, callback_data=button.id)


def build_people_keyboard(keyboard: PlacedKeyboard) -> ReplyKeyboardMarkup | None:
    """Return a keyboard with which a user chooses people, or None if no button is for that."""
    rows = [[_build_people_button(button) for button in row if is_for_people(button)] for row in keyboard]
    rows = [row for row in rows if row]
    return ReplyKeyboardMarkup(rows, resize_keyboard=True, one_time_keyboard=True) if rows else None


def choose_markup(item: OutboxItem, buttons: InlineKeyboardMarkup | None) -> Markup:
    """Return the markup of the last message of a reply, which may have only one."""
    if item.asks is not None:
        return build_force_reply(item.asks)
    if item.hides_keyboard and buttons is None:
        return ReplyKeyboardRemove()
    return build_people_keyboard(item.keyboard) or buttons


def is_for_people(button: PlacedButton) -> bool:
    return button.opens is not None and button.opens.startswith(PEOPLE)


def _build_people_button(button: PlacedButton) -> KeyboardButton:
    request = KeyboardButtonRequestUsers(
        compute_request(button.id),
        user_is_bot=False,
        max_quantity=MAX_CHOSEN_PEOPLE,
        request_name=True,
        request_username=True,
    )
    return KeyboardButton(button.label, request_users=request)


def build_force_reply(label: str) -> ForceReply:
    """Return markup that opens a reply in the app of the addressed user, with `label` as placeholder."""
    return ForceReply(selective=True, input_field_placeholder=label)


class TelegramFiles:
    def __init__(self, bot: Bot) -> None:
        self._bot = bot
        self._free = asyncio.Semaphore(MAX_CONCURRENT_FILES)

    async def fetch(self, media: Media) -> bytes:
        if (media.file.size or 0) > MAX_FILE_BYTES:
            raise _create_too_large_error(media)
        backoff = Backoff(MAX_FETCH_PAUSE_SECONDS)
        async with self._free:
            for attempt in range(1, MAX_FETCH_ATTEMPTS + 1):
                try:
                    async with asyncio.timeout(FETCH_TIMEOUT_SECONDS):
                        return await self._download(media)
                except BadRequest as error:
                    log.warning("file_refused", kind=media.file.kind, reason=error.message)
                    if "too big" in error.message.lower():
                        raise _create_too_large_error(media) from None
                    raise MediaUnreadable(
                        _("Telegram no longer has {name}: send it again.", name=_(media.name))
                    ) from None
                except (TelegramError, TimeoutError, OSError) as error:
                    # Not the text of the error: it may contain the address with the token
                    log.warning("file_not_fetched", kind=media.file.kind, error=type(error).__name__, tried=attempt)
                    if attempt == MAX_FETCH_ATTEMPTS or isinstance(error, InvalidToken):
                        break
                    pause = to_send_failure(error).pause if isinstance(error, RetryAfter) else 0
                    await backoff.wait(at_least=min(pause, MAX_FETCH_PAUSE_SECONDS))
        raise MediaUnreadable(
            _("I couldn't download {name} from Telegram: send /retry in a moment.", name=_(media.name)), can_retry=True
        )

    async def _download(self, media: Media) -> bytes:
        file = await self._bot.get_file(media.file.file_id)
        if (file.file_size or 0) > MAX_FILE_BYTES:
            raise _create_too_large_error(media)
        return bytes(await file.download_as_bytearray())


def _create_too_large_error(media: Media) -> MediaUnreadable:
    size = f" ({media.file.size / 1024 / 1024:.0f} MB)" if media.file.size else ""
    return MediaUnreadable(
        _(
            "{name} is larger than the 20 MB that Telegram lets bots download: send a smaller file, or a part of it.",
            name=f"{_(media.name)}{size}",
        )
    )
