"""Calls to the Bot API and what their failures mean."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import structlog
from telegram import ReplyParameters
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
    TimedOut,
)

from bot.telegram.rendering import Chunk, plain

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import timedelta

    from telegram import Bot

    from memory.log.sessions import Address

log = structlog.get_logger(__name__)


class Trouble(StrEnum):
    """Why a message was not confirmed."""

    LATER = "later"
    IN_DOUBT = "in doubt"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class SendFailed(Exception):
    """A message was not confirmed. pause: seconds that Telegram, or prudence, asks to wait.

    blocked: the person has blocked the bot, or the group has removed it.
    """

    trouble: Trouble
    pause: float
    reason: str
    blocked: bool = False


def chat_of(address: Address) -> int:
    """The chat as the Bot API names it."""
    return int(address.chat_id)


def thread_of(address: Address) -> int | None:
    """The forum topic as the Bot API names it."""
    return int(address.thread_id) if address.thread_id else None


async def send_chunk(bot: Bot, address: Address, chunk: Chunk, reply_to: str | None = None) -> str:
    """Send one message; its id. Plain text where Telegram can't parse the entities. Raises SendFailed."""

    async def send(what: Chunk) -> str:
        message = await bot.send_message(
            chat_of(address),
            what.text,
            entities=what.entities,
            message_thread_id=thread_of(address),
            reply_parameters=_reply(reply_to),
        )
        return str(message.message_id)

    try:
        return await _entities_or_plain(send, chunk)
    except TelegramError as error:
        raise explained(error) from error


async def edit_chunk(bot: Bot, address: Address, message_id: str, chunk: Chunk) -> None:
    """Give an earlier message of ours the text of `chunk`. Raises SendFailed."""

    async def edit(what: Chunk) -> str:
        await bot.edit_message_text(
            what.text, chat_id=chat_of(address), message_id=int(message_id), entities=what.entities
        )
        return message_id

    try:
        await _entities_or_plain(edit, chunk)
    except BadRequest as error:
        if "not modified" not in error.message:
            raise explained(error) from error
    except TelegramError as error:
        raise explained(error) from error


def explained(error: TelegramError) -> SendFailed:
    """What to do about an error of the Bot API."""
    reason = str(error)
    if isinstance(error, RetryAfter):
        return SendFailed(Trouble.LATER, _seconds(error.retry_after), reason)
    if isinstance(error, BadRequest | ChatMigrated | Forbidden | InvalidToken):
        return SendFailed(Trouble.NEVER, 0, reason, blocked=isinstance(error, Forbidden))
    if isinstance(error, TimedOut):
        return SendFailed(Trouble.IN_DOUBT, 1, reason)
    if isinstance(error, NetworkError):
        # PTB wraps every transport error; only one that never got a connection is certain not to have arrived
        unsent = "ConnectError" in reason
        return SendFailed(Trouble.LATER if unsent else Trouble.IN_DOUBT, 1, reason)
    return SendFailed(Trouble.LATER, 1, reason)


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


class Backoff:
    """Growing pauses between tries: 1 s, doubled each time up to `longest`; back to 1 s after a success."""

    def __init__(self, longest: float = 60) -> None:
        self._longest = longest
        self._next = 1.0

    def pause(self, at_least: float = 0) -> float:
        """How long the next wait will be, in seconds."""
        return max(at_least, self._next)

    async def wait(self, at_least: float = 0) -> None:
        """Pause, and make the next pause longer."""
        pause = self.pause(at_least)
        self._next = min(self._longest, self._next * 2)
        await asyncio.sleep(pause)

    def reset(self) -> None:
        """Begin again with a short pause."""
        self._next = 1.0
