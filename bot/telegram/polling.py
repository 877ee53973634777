"""Long polling: updates are kept before they are confirmed, and nothing that goes wrong ends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from telegram import Update
from telegram.error import Conflict, InvalidToken, RetryAfter, TelegramError

from bot.telegram.calls import Backoff, explained

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from telegram import Bot

log = structlog.get_logger(__name__)

POLL_SECONDS = 30
"""How long Telegram may keep a poll open."""
ALLOWED_UPDATES = [Update.MESSAGE, Update.EDITED_MESSAGE]


class Poller:
    """Fetches updates for as long as it runs.

    Each poll confirms the updates of the one before. `receive` returns only when those are on disk, so an
    update that a crash loses here comes again.
    """

    def __init__(self, bot: Bot, receive: Callable[[Sequence[Update]], Awaitable[None]]) -> None:
        self._bot = bot
        self._receive = receive

    async def run(self) -> None:
        """Poll until cancelled. Raises InvalidToken when Telegram no longer knows the bot."""
        offset: int | None = None
        backoff = Backoff()
        while True:
            try:
                updates = await self._bot.get_updates(
                    offset=offset, timeout=POLL_SECONDS, allowed_updates=ALLOWED_UPDATES
                )
                if updates:
                    await self._receive(updates)
                    offset = updates[-1].update_id + 1
            except InvalidToken:
                raise
            except RetryAfter as error:
                await backoff.wait(at_least=explained(error).pause)
            except Conflict:
                log.error("polling_conflict", remedy="another program polls with this token: stop it")
                await backoff.wait()
            except TelegramError as error:
                log.warning("polling_failed", reason=str(error))
                await backoff.wait()
            except Exception:
                # a full disk, for one: the updates were not confirmed and come again
                log.exception("receiving_failed")
                await backoff.wait()
            else:
                backoff.reset()
