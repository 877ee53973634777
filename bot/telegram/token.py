"""A token that Telegram has taken before and refuses now: nearly always something on the way, and over in a moment."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog
from telegram.error import InvalidToken, TelegramError

from bot.telegram.client import readable
from memory.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from telegram import Bot

    from memory.service.published import Published

log = structlog.get_logger(__name__)

TRIES = 3
"""How often in a row getMe has to be refused before a token that never worked is taken for a wrong one."""
FOR_GOOD = 600.0
"""Seconds of nothing but refusals after which a token that worked is said to be refused for good."""
TOLD_FROM = 5.0
"""Seconds that refusals have to last for the owner to read of them."""
PAUSE_FOR_GOOD = 60.0
"""Seconds between two tries then: a proxy that was wrong for a night is found mended, too."""
_KEPT_AS = "token"


class TokenWatch:
    """Knows whether the token has ever worked, and for how long it has been refused.

    A Bot API server of one's own that starts, and a proxy's own pages, say 404 or 401 as Telegram does for a token
    that was revoked. So only a token that never worked ends the program. tell: what the owner is told when it is over.
    """

    def __init__(self, published: Published, token: str, now: Callable[[], float] = time.monotonic) -> None:
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
            await asyncio.sleep(tried)
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
        """Remember that the token works, also over a restart."""
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
