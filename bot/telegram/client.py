"""The client for the Bot API: the library's, which takes no answer for granted, whoever gave it."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import structlog
from telegram import Update
from telegram.error import TelegramError
from telegram.ext import ExtBot
from telegram.request import HTTPXRequest

from bot.telegram.updates import RawUpdate

if TYPE_CHECKING:
    from collections.abc import Iterator

log = structlog.get_logger(__name__)

ALLOWED_UPDATES = [Update.MESSAGE, Update.EDITED_MESSAGE, Update.CALLBACK_QUERY, Update.MY_CHAT_MEMBER]
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
        wanted = {"offset": offset, "timeout": seconds, "limit": most, "allowed_updates": ALLOWED_UPDATES}
        with readable():
            found = await self._post("getUpdates", wanted, read_timeout=seconds + READ_SECONDS)
        if not isinstance(found, list):
            raise Unreadable("there is no list of updates in it")
        updates = []
        for update in found:
            try:
                updates.append(RawUpdate.of(update))
            except ValueError:
                log.error("update_without_number")  # it can be neither confirmed nor kept
        if found and not updates:
            raise Unreadable("no update in it has a number")
        return updates
