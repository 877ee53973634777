"""The Bot API: its client, which takes no answer for granted, calls and what their failures mean, and files."""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import httpx
import structlog
from telegram import (
    ForceReply,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputFile,
    LinkPreviewOptions,
    ReplyParameters,
    Update,
    WebAppInfo,
)
from telegram.error import (
    BadRequest,
    ChatMigrated,
    EndPointNotFound,
    Forbidden,
    InvalidToken,
    RetryAfter,
    TelegramError,
)
from telegram.ext import ExtBot
from telegram.request import HTTPXRequest

from bot.telegram.features import edit_ephemeral, for_one, is_ephemeral, message_key
from bot.telegram.rendering import Chunk, File, VoiceNote, unrendered
from bot.telegram.updates import STOPPED, RawUpdate
from config.texts import _, in_line
from config.waiting import Backoff
from pipeline.media.files import MediaUnreadable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from datetime import timedelta

    from telegram import Bot

    from bot.telegram.rendering import Part
    from memory.buttons import PlacedButton, PlacedKeyboard
    from memory.log.sessions import Address
    from memory.media.media import Media

log = structlog.get_logger(__name__)

ALLOWED_UPDATES = [
    Update.MESSAGE,
    Update.EDITED_MESSAGE,
    Update.CALLBACK_QUERY,
    Update.MY_CHAT_MEMBER,
    Update.GUEST_MESSAGE,
    STOPPED,
]
READ_SECONDS = 30
"""How long Telegram's answer to a poll may take once the poll is over."""
MOST_UPDATES = 100
"""Updates in one poll, the most that Telegram gives."""


class Unreadable(TelegramError):
    """An answer that says that all went well can't be read.

    foreign: it is a web page, or says nothing that Telegram does, so something on the way has answered. update: the
    first one in it, as far as that can be told.
    """

    def __init__(self, reason: str, body: bytes = b"", *, foreign: bool = False) -> None:
        super().__init__(f"its answer can't be read ({reason})")
        self.foreign = foreign or body.lstrip().startswith(b"<")
        self.update = RawUpdate.in_unreadable(body)


@contextlib.contextmanager
def readable() -> Iterator[None]:
    """Whatever the library makes of an answer that it does not understand is raised as Unreadable."""
    try:
        yield
    except TelegramError:
        raise
    except Exception as error:
        raise Unreadable(type(error).__name__) from error


class BotApiRequest(HTTPXRequest):
    """The library's way to Telegram. Its own reading logs what it can't read, with what people have said in it."""

    @staticmethod
    def parse_json_payload(payload: bytes) -> dict[str, Any]:
        """The object in an answer. Raises Unreadable."""
        try:
            answer = json.loads(payload.decode("utf-8", "replace"))
        except (ValueError, RecursionError, MemoryError) as error:
            raise Unreadable(type(error).__name__, payload) from None
        if not isinstance(answer, dict) or not ("result" in answer or "description" in answer):
            raise Unreadable("it is not Telegram's", foreign=True)
        return answer


class PollingBot(ExtBot[int]):
    """The library's client with a poll that gives updates as they came.

    Its own reads all of a poll or none, so that one that it can't read would hold up those behind it for ever, and
    logs their text.
    """

    async def poll(self, offset: int | None, seconds: int, most: int = MOST_UPDATES) -> list[RawUpdate]:
        """The updates from `offset` on; waits so many seconds for the first one. Raises TelegramError."""
        parameters = {"offset": offset, "timeout": seconds, "limit": most, "allowed_updates": ALLOWED_UPDATES}
        with readable():
            result = await self._post("getUpdates", parameters, read_timeout=seconds + READ_SECONDS)
        if not isinstance(result, list):
            raise Unreadable("there is no list of updates in it")
        updates = []
        for update in result:
            try:
                updates.append(RawUpdate.of(update))
            except ValueError:
                log.error("update_without_number")  # it can be neither confirmed nor kept
        if result and not updates:
            raise Unreadable("no update in it has a number")
        return updates


FILE_SECONDS = 60.0
"""How long Telegram may take to store a file that it has been sent."""
MOST_INSTEAD = 5
"""Messages at most that stand for a file that a chat does not take."""
LONGEST_FLOOD = 3600.0
"""Seconds at most that an answer can make us wait, whatever it says."""
REASON_CHARACTERS = 200
"""So much is kept of what an answer says that went wrong: it may be a proxy's page."""

LARGEST = 20 * 1024 * 1024
"""Bytes of a file that Telegram lets bots fetch."""
FETCH_SECONDS = 60
"""How long one try may take in all."""
FETCH_TRIES = 3
LONGEST_PAUSE = 10.0
"""Seconds that a fetch waits at the most when Telegram asks for patience."""
AT_ONCE = 4
"""Files that are in memory at the same time."""

Markup = InlineKeyboardMarkup | ForceReply | None
"""What may stand under a new message. Under one that is edited only an InlineKeyboardMarkup may."""


class Trouble(StrEnum):
    """Why a message was not confirmed: it did not arrive, it may have arrived, it never will."""

    LATER = "later"
    IN_DOUBT = "in doubt"
    NEVER = "never"


@dataclass(slots=True)  # not frozen: a traceback is to be set on it
class SendFailed(Exception):
    """A message was not confirmed. pause: seconds that Telegram, or prudence, asks to wait.

    blocked: the person has blocked the bot, or the group has removed it. moved_to: the id that the group has now.
    unreadable: Telegram has answered that it arrived, in a form that can't be read.
    """

    trouble: Trouble
    pause: float
    reason: str
    blocked: bool = False
    moved_to: int | None = None
    unreadable: bool = False


def chat_of(address: Address) -> int:
    return int(address.chat_id)


def thread_of(address: Address) -> int | None:
    return int(address.thread_id) if address.thread_id else None


def placed_at(address: Address, reply_to: str | None, markup: Markup, *, silent: bool) -> dict[str, Any]:
    """The parameters of a new message that do not depend on what it holds."""
    where: dict[str, Any] = {
        "chat_id": chat_of(address),
        "message_thread_id": thread_of(address),
        "disable_notification": silent or None,
        "reply_markup": markup,
    }
    if reply_to and not is_ephemeral(reply_to):
        where["reply_parameters"] = ReplyParameters(int(reply_to), allow_sending_without_reply=True)
    return where


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
    """Send one part of a reply, a message or a file; its id. Raises SendFailed. silent: without a sound.

    receiver: who alone is to see it (`for_one`); by its id one can tell whether that is so.
    """
    silent = silent or isinstance(part, VoiceNote)  # its text has had a sound
    where = placed_at(address, None if receiver is not None else reply_to, markup, silent=silent)
    if receiver is not None:
        where["api_kwargs"] = for_one(receiver, reply_to)
    words = part if isinstance(part, Chunk) else part.caption if isinstance(part, File) else Chunk("")

    async def send(what: Chunk) -> str:
        if isinstance(part, Chunk):
            message = await bot.send_message(text=what.text, entities=what.entities, **where)
        elif isinstance(part, VoiceNote):
            message = await bot.send_voice(
                voice=part.content, filename="answer.ogg", read_timeout=FILE_SECONDS, **where
            )
        else:
            message = await bot.send_document(
                document=InputFile(part.content, filename=part.name),
                caption=what.text or None,
                caption_entities=what.entities,
                read_timeout=FILE_SECONDS,
                **where,
            )
        return message_key(message, int(receiver.partition(" ")[0]) if receiver is not None else None)

    try:
        return await entities_or_plain(send, words)
    except SendFailed as failure:
        if not isinstance(part, File) or failure.trouble is not Trouble.NEVER or failure.blocked or failure.moved_to:
            raise
        # a group may let nobody send files: better the beginning as messages than nothing
        log.warning("file_refused", reason=failure.reason)
        chunks = unrendered(part.instead)[:MOST_INSTEAD]
        return [await send_part(bot, address, chunk, receiver=receiver) for chunk in chunks][-1]


async def edit_chunk(
    bot: Bot, address: Address, message_id: str, chunk: Chunk, markup: InlineKeyboardMarkup | None = None
) -> None:
    """Give an earlier message of ours the text of `chunk`, and these buttons or none. Raises SendFailed."""

    async def edit(what: Chunk) -> str:
        if is_ephemeral(message_id):
            no_preview = {"link_preview_options": LinkPreviewOptions(is_disabled=True)}
            shown = no_preview | {"text": what.text, "entities": what.entities, "reply_markup": markup}
            await edit_ephemeral(bot, "Text", chat_of(address), message_id, shown)
        else:
            await bot.edit_message_text(
                what.text,
                chat_id=chat_of(address),
                message_id=int(message_id),
                entities=what.entities,
                reply_markup=markup,
            )
        return message_id

    try:
        await entities_or_plain(edit, chunk)
    except SendFailed as failure:
        if "not modified" not in failure.reason:
            raise


async def edit_markup(bot: Bot, address: Address, message_id: str, markup: InlineKeyboardMarkup | None) -> None:
    """Give an earlier message of ours these buttons or none. Raises TelegramError."""
    if is_ephemeral(message_id):
        await edit_ephemeral(bot, "ReplyMarkup", chat_of(address), message_id, {"reply_markup": markup})
    else:
        await bot.edit_message_reply_markup(chat_of(address), int(message_id), reply_markup=markup)


def in_doubt(error: TelegramError | SendFailed) -> bool:
    """Whether nobody knows if what failed has arrived."""
    failure = error if isinstance(error, SendFailed) else explained(error)
    return failure.trouble is Trouble.IN_DOUBT


def explained(error: TelegramError) -> SendFailed:
    """What to do about an error of the Bot API."""
    reason = reason_of(error)
    if isinstance(error, RetryAfter):
        return SendFailed(Trouble.LATER, min(_seconds(error.retry_after), LONGEST_FLOOD), reason)
    if isinstance(error, Unreadable):
        return SendFailed(Trouble.IN_DOUBT, 1, reason, unreadable=not error.foreign)
    if isinstance(error, ChatMigrated):
        return SendFailed(Trouble.NEVER, 0, reason, moved_to=error.new_chat_id)
    if isinstance(error, BadRequest | Forbidden | EndPointNotFound):
        return SendFailed(Trouble.NEVER, 0, reason, blocked=isinstance(error, Forbidden))
    return SendFailed(Trouble.IN_DOUBT if _unanswered(error) else Trouble.LATER, 1, reason)


def reason_of(error: TelegramError) -> str:
    """What an error says, as it may be logged and shown: in one line, and the token is in none of it."""
    if isinstance(error, InvalidToken):
        return "the token is refused"
    return in_line(str(error), REASON_CHARACTERS)


def _unanswered(error: TelegramError) -> bool:
    """Whether a request may have been received and no answer to it was: an error that came back is an answer.

    What happened on the way is known of the transport's own error, which the library keeps as the cause of its own.
    """
    cause = error.__cause__
    return isinstance(cause, httpx.HTTPError) and not isinstance(
        cause, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout
    )


async def entities_or_plain(call: Callable[[Chunk], Awaitable[str]], chunk: Chunk) -> str:
    """What a call gives; it is called with plain text where Telegram can't parse the entities. Raises SendFailed."""
    try:
        with readable():
            try:
                return await call(chunk)
            except BadRequest as error:
                if not chunk.entities or "entit" not in error.message.lower():
                    raise
                log.warning("entities_refused", reason=error.message)
                return await call(Chunk(chunk.text))
    except TelegramError as error:
        raise explained(error) from error


def _seconds(pause: int | timedelta) -> float:
    return float(pause) if isinstance(pause, int) else pause.total_seconds()


def markup_of(keyboard: PlacedKeyboard) -> InlineKeyboardMarkup | None:
    """The buttons under a message; None where there are none."""
    rows = [[_button(button) for button in row] for row in keyboard]
    return InlineKeyboardMarkup(rows) if rows else None


def _button(button: PlacedButton) -> InlineKeyboardButton:
    if button.page is not None:
        return InlineKeyboardButton(button.label, web_app=WebAppInfo(button.page))
    return InlineKeyboardButton(button.label, callback_data=button.id)


def asking(label: str) -> ForceReply:
    """Has the clients of whom a message is for open a reply to it, with `label` where it is written."""
    return ForceReply(selective=True, input_field_placeholder=label)


class TelegramFiles:
    """Fetches what was sent over Telegram."""

    def __init__(self, bot: Bot) -> None:
        self._bot = bot
        self._free = asyncio.Semaphore(AT_ONCE)

    async def fetch(self, media: Media) -> bytes:
        if (media.file.size or 0) > LARGEST:
            raise _too_large(media)
        backoff = Backoff(LONGEST_PAUSE)
        async with self._free:
            for tried in range(1, FETCH_TRIES + 1):
                try:
                    async with asyncio.timeout(FETCH_SECONDS):
                        return await self._download(media)
                except BadRequest as error:
                    log.warning("file_refused", kind=media.file.kind, reason=error.message)
                    if "too big" in error.message.lower():
                        raise _too_large(media) from None
                    raise MediaUnreadable(
                        _("Telegram no longer has {name}: send it again.", name=_(media.name))
                    ) from None
                except (TelegramError, TimeoutError, OSError) as error:
                    # not the error's words: they may hold the address, which has the token in it
                    log.warning("file_not_fetched", kind=media.file.kind, error=type(error).__name__, tried=tried)
                    if tried == FETCH_TRIES or isinstance(error, InvalidToken):
                        break
                    pause = explained(error).pause if isinstance(error, RetryAfter) else 0
                    await backoff.wait(at_least=min(pause, LONGEST_PAUSE))
        raise MediaUnreadable(_("I could not fetch {name} from Telegram: send /retry in a moment.", name=_(media.name)))

    async def _download(self, media: Media) -> bytes:
        file = await self._bot.get_file(media.file.file_id)
        if (file.file_size or 0) > LARGEST:
            raise _too_large(media)
        return bytes(await file.download_as_bytearray())


def _too_large(media: Media) -> MediaUnreadable:
    size = f" ({media.file.size / 1024 / 1024:.0f} MB)" if media.file.size else ""
    return MediaUnreadable(
        _(
            "{name} is larger than the 20 MB that Telegram lets bots fetch: send a smaller one, or a part.",
            name=f"{_(media.name)}{size}",
        )
    )
