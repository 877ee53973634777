"""Errors of the Bot API, and how to proceed after them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

import httpx
from telegram.error import (
    BadRequest,
    ChatMigrated,
    EndPointNotFound,
    Forbidden,
    InvalidToken,
    RetryAfter,
    TelegramError,
)

from bot.telegram.raw_updates import RawUpdate
from config.texts import shorten_to_line


class Unreadable(TelegramError):
    """A successful answer could not be parsed.

    Args:
        foreign: whether the answer isn't Telegram's, but for example a proxy's web page.

    Attributes:
        update: the first update in it, if that can be determined.
    """

    def __init__(self, reason: str, body: bytes = b"", *, foreign: bool = False) -> None:
        super().__init__(f"its answer can't be read ({reason})")
        self.foreign = foreign or body.lstrip().startswith(b"<")
        self.update = RawUpdate.find_in_invalid_json(body)


@contextlib.contextmanager
def parsing_answer() -> Iterator[None]:
    """Convert unexpected exceptions of the library to Unreadable."""
    try:
        yield
    except TelegramError:
        raise
    except Exception as error:
        raise Unreadable(type(error).__name__) from error


MAX_FLOOD_PAUSE_SECONDS = 3600.0
"""Maximum pause after a rate limit, even if Telegram asks for more."""
MAX_REASON_CHARS = 200
"""Maximum length of an error text. It may be a proxy's page."""
# Descriptions of errors of the Bot API, which has no codes for them
_TOPIC_GONE = re.compile(r"message thread not found|topic[ _](?:deleted|not[ _]found|id[ _]invalid)", re.IGNORECASE)
_NOT_ALLOWED = re.compile(
    r"topic_closed|chat_(?:write|send_plain)_forbidden|chat_(?:guest_send|restricted)|have no rights to send"
    r"|not enough rights to send text|need administrator rights",
    re.IGNORECASE,
)


class Trouble(StrEnum):
    """Result of a failed delivery: it did not arrive, it may have arrived, or it never will."""

    LATER = "later"
    IN_DOUBT = "in doubt"
    NEVER = "never"


@dataclass(slots=True)  # Not frozen, since Python sets the traceback
class SendFailed(Exception):
    """Telegram did not confirm a message.

    Args:
        pause: seconds to wait before the next attempt.
        blocked: whether the user has blocked the bot, or the group has removed it.
        moved_to: the new id of the group.
        unreadable: whether Telegram's answer reports success but can't be parsed.
        topic_gone: whether the topic of the group no longer exists.
        forbidden: whether the bot may not write there now: it is muted, the topic is closed, or it lacks a right.
        entities_refused: whether the server doesn't accept the formatting.
    """

    trouble: Trouble
    pause: float
    reason: str
    blocked: bool = False
    moved_to: int | None = None
    unreadable: bool = False
    topic_gone: bool = False
    forbidden: bool = False
    entities_refused: bool = False


def is_doubtful(error: TelegramError | SendFailed) -> bool:
    failure = error if isinstance(error, SendFailed) else to_send_failure(error)
    return failure.trouble is Trouble.IN_DOUBT


def to_send_failure(error: TelegramError) -> SendFailed:
    """Convert an error of the Bot API to SendFailed, which says how to proceed."""
    reason = describe_error(error)
    if isinstance(error, RetryAfter):
        return SendFailed(Trouble.LATER, min(_to_seconds(error.retry_after), MAX_FLOOD_PAUSE_SECONDS), reason)
    if isinstance(error, Unreadable):
        return SendFailed(Trouble.IN_DOUBT, 1, reason, unreadable=not error.foreign)
    if isinstance(error, ChatMigrated):
        return SendFailed(Trouble.NEVER, 0, reason, moved_to=error.new_chat_id)
    if isinstance(error, BadRequest | Forbidden | EndPointNotFound):
        return SendFailed(
            Trouble.NEVER,
            0,
            reason,
            blocked=isinstance(error, Forbidden),
            topic_gone=_TOPIC_GONE.search(reason) is not None,
            forbidden=isinstance(error, BadRequest) and _NOT_ALLOWED.search(reason) is not None,
            entities_refused=isinstance(error, BadRequest) and "entit" in reason.lower(),
        )
    return SendFailed(Trouble.IN_DOUBT if _may_have_arrived(error) else Trouble.LATER, 1, reason)


def describe_error(error: TelegramError) -> str:
    """Return the text of an error in one line and without the token, for log and user."""
    if isinstance(error, InvalidToken):
        return "the token is refused"
    return shorten_to_line(str(error), MAX_REASON_CHARS)


def _may_have_arrived(error: TelegramError) -> bool:
    """Return True if the request may have been received but wasn't answered. An HTTP error is an answer.

    The library raises its own error from the transport error.
    """
    transport_error = error.__cause__
    return isinstance(transport_error, httpx.HTTPError) and not isinstance(
        transport_error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout
    )


def _to_seconds(pause: int | timedelta) -> float:
    return float(pause) if isinstance(pause, int) else pause.total_seconds()
