"""Calls to the Bot API and what their failures mean."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import httpx
import structlog
from telegram import InputFile, ReplyParameters
from telegram.error import BadRequest, ChatMigrated, Forbidden, InvalidToken, RetryAfter, TelegramError

from bot.telegram.rendering import Chunk, plain, unrendered

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import timedelta

    from telegram import Bot, InlineKeyboardMarkup

    from bot.telegram.keyboards import Markup
    from bot.telegram.layout import Part
    from memory.log.sessions import Address

log = structlog.get_logger(__name__)


FILE_SECONDS = 60.0
"""How long Telegram may take to store a file that it has been sent."""
MOST_INSTEAD = 5
"""Messages at most that stand for a file that a chat does not take."""


class Trouble(StrEnum):
    """Why a message was not confirmed: it did not arrive, it may have arrived, it never will."""

    LATER = "later"
    IN_DOUBT = "in doubt"
    NEVER = "never"


@dataclass(slots=True)  # not frozen: a traceback is to be set on it
class SendFailed(Exception):
    """A message was not confirmed. pause: seconds that Telegram, or prudence, asks to wait.

    blocked: the person has blocked the bot, or the group has removed it. moved_to: the id that the group has now.
    """

    trouble: Trouble
    pause: float
    reason: str
    blocked: bool = False
    moved_to: int | None = None


def chat_of(address: Address) -> int:
    """The chat as the Bot API names it."""
    return int(address.chat_id)


def thread_of(address: Address) -> int | None:
    """The forum topic as the Bot API names it."""
    return int(address.thread_id) if address.thread_id else None


async def send_part(
    bot: Bot,
    address: Address,
    part: Part,
    reply_to: str | None = None,
    markup: Markup = None,
    *,
    silent: bool = False,
) -> str:
    """Send one part of a reply, a message or a file; its id. Raises SendFailed. silent: without a sound."""
    if isinstance(part, Chunk):
        return await send_chunk(bot, address, part, reply_to, markup, silent=silent)

    async def send(caption: Chunk) -> str:
        message = await bot.send_document(
            chat_of(address),
            InputFile(part.content, filename=part.name),
            disable_notification=silent or None,
            caption=caption.text or None,
            caption_entities=caption.entities,
            message_thread_id=thread_of(address),
            reply_parameters=_reply(reply_to),
            reply_markup=markup,
            read_timeout=FILE_SECONDS,
        )
        return str(message.message_id)

    try:
        return await _entities_or_plain(send, part.caption)
    except BadRequest as error:
        # a group may let nobody send files: better the beginning as messages than nothing
        log.warning("file_refused", reason=error.message)
        return [await send_chunk(bot, address, chunk) for chunk in unrendered(part.instead)[:MOST_INSTEAD]][-1]
    except TelegramError as error:
        raise explained(error) from error


async def send_chunk(
    bot: Bot,
    address: Address,
    chunk: Chunk,
    reply_to: str | None = None,
    markup: Markup = None,
    *,
    silent: bool = False,
) -> str:
    """Send one message; its id. Plain text where Telegram can't parse the entities. Raises SendFailed."""

    async def send(what: Chunk) -> str:
        message = await bot.send_message(
            chat_of(address),
            what.text,
            entities=what.entities,
            disable_notification=silent or None,
            message_thread_id=thread_of(address),
            reply_parameters=_reply(reply_to),
            reply_markup=markup,
        )
        return str(message.message_id)

    try:
        return await _entities_or_plain(send, chunk)
    except TelegramError as error:
        raise explained(error) from error


async def edit_chunk(
    bot: Bot, address: Address, message_id: str, chunk: Chunk, markup: InlineKeyboardMarkup | None = None
) -> None:
    """Give an earlier message of ours the text of `chunk`, and these buttons or none. Raises SendFailed."""

    async def edit(what: Chunk) -> str:
        await bot.edit_message_text(
            what.text,
            chat_id=chat_of(address),
            message_id=int(message_id),
            entities=what.entities,
            reply_markup=markup,
        )
        return message_id

    try:
        await _entities_or_plain(edit, chunk)
    except BadRequest as error:
        if "not modified" not in error.message:
            raise explained(error) from error
    except TelegramError as error:
        raise explained(error) from error


def in_doubt(error: TelegramError | SendFailed) -> bool:
    """Whether nobody knows if what failed has arrived."""
    failure = error if isinstance(error, SendFailed) else explained(error)
    return failure.trouble is Trouble.IN_DOUBT


def explained(error: TelegramError) -> SendFailed:
    """What to do about an error of the Bot API."""
    reason = str(error)
    if isinstance(error, RetryAfter):
        return SendFailed(Trouble.LATER, _seconds(error.retry_after), reason)
    if isinstance(error, ChatMigrated):
        return SendFailed(Trouble.NEVER, 0, reason, moved_to=error.new_chat_id)
    if isinstance(error, BadRequest | Forbidden):
        return SendFailed(Trouble.NEVER, 0, reason, blocked=isinstance(error, Forbidden))
    return SendFailed(Trouble.IN_DOUBT if _unanswered(error) else Trouble.LATER, 1, reason)


def _unanswered(error: TelegramError) -> bool:
    """Whether a request may have been received and no answer to it was: an error that came back is an answer.

    What happened on the way is known of the transport's own error, which the library keeps as the cause of its own.
    """
    cause = error.__cause__
    return isinstance(cause, httpx.HTTPError) and not isinstance(
        cause, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout
    )


async def _entities_or_plain(call: Callable[[Chunk], Awaitable[str]], chunk: Chunk) -> str:
    try:
        return await call(chunk)
    except BadRequest as error:
        if not chunk.entities or "entit" not in error.message.lower():
            raise
        log.warning("entities_refused", reason=error.message)
        return await call(plain(chunk))


def _reply(message_id: str | None) -> ReplyParameters | None:
    return ReplyParameters(int(message_id), allow_sending_without_reply=True) if message_id else None


def _seconds(pause: int | timedelta) -> float:
    return float(pause) if isinstance(pause, int) else pause.total_seconds()


TOKEN_TRIES = 3
"""How often in a row getMe has to be refused before a token is taken for a wrong one."""


async def token_is_refused(bot: Bot) -> bool:
    """Whether Telegram refuses the token for good.

    A Bot API server of one's own says for a moment, while it starts, that it knows no bot at all.
    """
    for tried in range(TOKEN_TRIES):
        await asyncio.sleep(tried)
        try:
            await bot.get_me()
        except InvalidToken:
            continue
        except TelegramError:
            return False
        else:
            return False
    return True


class Backoff:
    """Growing pauses between tries: 1 s, doubled each time up to `longest`; back to 1 s after a success."""

    def __init__(self, longest: float = 60) -> None:
        self._longest = longest
        self._next = 1.0

    def pause(self, at_least: float = 0) -> float:
        """How long the next wait will be, in seconds."""
        return max(at_least, self._next)

    def lengthen(self) -> None:
        """Make the next pause longer."""
        self._next = min(self._longest, self._next * 2)

    async def wait(self, at_least: float = 0) -> None:
        """Pause, and make the next pause longer."""
        pause = self.pause(at_least)
        self.lengthen()
        await asyncio.sleep(pause)

    def reset(self) -> None:
        """Begin again with a short pause."""
        self._next = 1.0
