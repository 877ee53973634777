"""Long polling: updates are kept before they are confirmed, and nothing that goes wrong ends it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import structlog
from telegram import Update
from telegram.error import Conflict, InvalidToken, RetryAfter, TelegramError
from telegram.ext import ExtBot

from bot.telegram.calls import Backoff, explained, token_is_refused
from bot.telegram.updates import RawUpdate
from memory.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from bot.monitoring.health import Pulse

log = structlog.get_logger(__name__)

POLL_SECONDS = 30
"""How long Telegram may keep a poll open."""
REQUEST_SECONDS = 45
"""How long a request may take besides: to connect, and until Telegram's answer is read."""
LONGEST_PAUSE = 10
"""Seconds at most between two polls that fail: whoever writes after an outage is not to wait for a minute."""
READ_SECONDS = 30
"""How long Telegram's answer to a poll may take once the poll is over."""
SLACK = 20
"""How much later than announced a step may come on a busy machine, in seconds."""
RECEIVE_SECONDS = 120
"""How long it may take to keep a hundred updates on a slow disk and to hand them over."""
ALLOWED_UPDATES = [Update.MESSAGE, Update.EDITED_MESSAGE, Update.CALLBACK_QUERY, Update.MY_CHAT_MEMBER]


class PollingBot(ExtBot[int]):
    """The library's client with a poll that gives updates as they came.

    Its own reads all of a poll or none, so that one that it can't read would hold up those behind it for ever, and
    logs their text.
    """

    async def poll(self, offset: int | None, seconds: int) -> list[RawUpdate]:
        """The updates from `offset` on; waits so many seconds for the first one. Raises TelegramError."""
        wanted = {"offset": offset, "timeout": seconds, "allowed_updates": ALLOWED_UPDATES}
        found = await self._post("getUpdates", wanted, read_timeout=seconds + READ_SECONDS)
        updates = found if isinstance(found, list) else []
        return [RawUpdate.of(update) for update in updates]


class Poller:
    """Fetches updates for as long as it runs.

    Each poll confirms the updates of the one before. `receive` returns only when those are on disk, so an
    update that a crash loses here comes again.
    """

    def __init__(
        self, bot: PollingBot, receive: Callable[[Sequence[RawUpdate]], Awaitable[None]], pulse: Pulse
    ) -> None:
        self._bot = bot
        self._receive = receive
        self._pulse = pulse

    async def run(self) -> None:
        """Poll until cancelled. Raises InvalidToken when Telegram no longer knows the bot."""
        offset: int | None = None
        backoff = Backoff(LONGEST_PAUSE)
        self._pulse.step(within=REQUEST_SECONDS + SLACK)
        with contextlib.suppress(TelegramError):
            # a poll while a webhook is set fails for ever, so an old webhook goes; pending updates stay
            await self._bot.delete_webhook(drop_pending_updates=False)
        while True:
            # the first one, and the first after trouble, comes back at once: so it is soon known that polling works
            patience = POLL_SECONDS if self._pulse.trouble is None else 0
            try:
                self._pulse.step(within=patience + REQUEST_SECONDS + SLACK)
                updates = await self._bot.poll(offset, patience)
                if updates:
                    self._pulse.step(within=RECEIVE_SECONDS)
                    await self._receive(updates)
                    offset = updates[-1].id + 1
            except InvalidToken as error:
                if await token_is_refused(self._bot):
                    raise
                await self._rest(backoff, str(error))
            except RetryAfter as error:
                await self._rest(backoff, str(error), at_least=explained(error).pause)
            except Conflict:
                log.error("polling_conflict", remedy="another program polls with this token: stop it")
                await self._rest(backoff, "another program polls with this token")
            except TelegramError as error:
                log.warning("polling_failed", reason=str(error))
                await self._rest(backoff, str(error))
            except Exception as error:
                # a full disk, for one: the updates were not confirmed and come again
                log.error("receiving_failed", exc_info=not isinstance(error, StoreError))
                await self._rest(backoff, "what was received can't be kept")
            else:
                self._pulse.succeeded()
                backoff.reset()

    async def _rest(self, backoff: Backoff, reason: str, at_least: float = 0) -> None:
        self._pulse.failed(reason)
        self._pulse.step(within=backoff.pause(at_least) + SLACK)
        await backoff.wait(at_least)
