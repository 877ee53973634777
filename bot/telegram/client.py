"""The client for the Bot API: the library's, which takes no answer for granted, whoever gave it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import structlog
from telegram import Update
from telegram.error import InvalidToken, TelegramError
from telegram.ext import ExtBot
from telegram.request import HTTPXRequest

from bot.telegram.updates import STOPPED, RawUpdate
from memory.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from telegram import Bot

    from memory.service.menu_cache import MenuCache

log = structlog.get_logger(__name__)

ALLOWED_UPDATES = [Update.MESSAGE, Update.EDITED_MESSAGE, Update.CALLBACK_QUERY, Update.MY_CHAT_MEMBER, STOPPED]
READ_SECONDS = 30
"""How long Telegram's answer to a poll may take once the poll is over."""
MOST_UPDATES = 100
"""Updates in one poll, the most that Telegram gives."""

TRIES = 3
"""How often in a row getMe has to be refused before a token that never worked is taken for a wrong one."""
TRY_PAUSE = 1.0
"""Seconds before the second of them; before the third it is twice as long."""
FOR_GOOD = 600.0
"""Seconds of nothing but refusals after which a token that worked is said to be refused for good."""
TOLD_FROM = 5.0
"""Seconds that refusals have to last for the owner to read of them."""
PAUSE_FOR_GOOD = 60.0
"""Seconds between two tries then: a proxy that was wrong for a night is found mended, too."""
_KEPT_AS = "token"


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


class TokenWatch:
    """Knows whether the token has ever worked, and for how long it has been refused.

    A Bot API server of one's own that starts, and a proxy's own pages, say 404 or 401 as Telegram does for a token
    that was revoked. So only a token that never worked ends the program. tell: what the owner is told when it is over.
    """

    def __init__(self, published: MenuCache, token: str, now: Callable[[], float] = time.monotonic) -> None:
        self._published = published
        self._token = token
        self._now = now
        self._began: float | None = None
        self._nothing_else_since: float | None = None
        self.tell: Callable[[timedelta], Awaitable[None]] | None = None

    async def is_wrong(self, bot: Bot) -> bool:
        """Whether a token that was just refused never worked, and is refused again and again."""
        if await self._published.is_shown(_KEPT_AS, self._token):
            return False
        for tried in range(TRIES):
            await asyncio.sleep(tried * TRY_PAUSE)
            try:
                with readable():
                    await bot.get_me()
            except InvalidToken:
                continue
            except TelegramError:
                return False
            else:
                return False
        return True

    async def keep(self) -> None:
        if not await self._published.is_shown(_KEPT_AS, self._token):
            await self._published.keep(_KEPT_AS, self._token)

    def refused(self) -> str:
        """Telegram has refused the token; how that is to be said."""
        now = self._now()
        self._began = now if self._began is None else self._began
        self._nothing_else_since = now if self._nothing_else_since is None else self._nothing_else_since
        seconds = round(now - self._nothing_else_since)
        if not self.for_good:
            log.warning("token_refused", seconds=seconds, remedy="it has worked before; trying again")
            return "the token is refused, which has worked before"
        log.error("token_refused_for_good", seconds=seconds, remedy="copy TELEGRAM_BOT_TOKEN again from @BotFather")
        return f"the token is refused for {seconds // 60} minutes: copy TELEGRAM_BOT_TOKEN again from @BotFather"

    @property
    def for_good(self) -> bool:
        """Whether there was nothing but refusals for so long that somebody has to look after the token."""
        return self._nothing_else_since is not None and self._now() - self._nothing_else_since >= FOR_GOOD

    def failed_otherwise(self) -> None:
        """What Telegram answers is no refusal, but nothing that works either."""
        self._nothing_else_since = None

    async def accepted(self) -> None:
        """The token works. The owner is told of refusals that lasted; where that can't be kept, the next time."""
        self._nothing_else_since = None
        if self._began is None:
            return
        lasted = self._now() - self._began
        if lasted >= TOLD_FROM and self.tell is not None:
            try:
                await self.tell(timedelta(seconds=round(lasted)))
            except StoreError as error:
                log.warning("refusal_not_told", reason=error.loggable)
                return
        log.info("token_accepted_again", seconds=round(lasted))
        self._began = None
