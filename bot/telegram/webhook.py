"""A webhook: Telegram sends each update to us, and is told that it is received once it is on disk."""

from __future__ import annotations

import asyncio
import hmac
import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import structlog
from telegram.error import BadRequest, TelegramError

from bot.telegram.client import ALLOWED_UPDATES, readable
from bot.telegram.polling import Contact
from bot.telegram.updates import RawUpdate
from bot.web.server import Entrance, Page

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from telegram import Bot

    from bot.monitoring import Heartbeat
    from bot.telegram.client import TokenWatch
    from bot.web.server import Pages

log = structlog.get_logger(__name__)

SECRET_HEADER = "x-telegram-bot-api-secret-token"  # noqa: S105  # a name
MOST_BYTES = 1_000_000
"""How long an update may be: a message of 4096 characters with its entities and the one it answers takes a tenth."""
LOOK_PAUSE = 60.0
"""Seconds after which Telegram is asked again whether it still sends its updates here."""
LOOK_SECONDS = 120
"""How long that may take, with what it takes to set the webhook anew."""


@dataclass(frozen=True, slots=True)
class WebhookConfig:
    """The webhook that the settings mean. url: where Telegram sends to; secret: what it shows there."""

    url: str
    secret: str


class Webhook:
    """Has Telegram send its updates here for as long as it runs.

    `receive` returns only when an update is on disk, so one that a crash loses here is sent again.
    """

    def __init__(
        self,
        bot: Bot,
        receive: Callable[[Sequence[RawUpdate]], Awaitable[None]],
        pulse: Heartbeat,
        pages: Pages,
        config: WebhookConfig,
        token: TokenWatch,
    ) -> None:
        self._bot = bot
        self._receive = receive
        self._pulse = pulse
        self._pages = pages
        self._meant = config
        self._token = token
        self._turn = asyncio.Lock()
        self._received = False

    async def run(self) -> None:
        """Take updates until cancelled."""
        self._pulse.what = "the webhook"
        contact = Contact(self._pulse, self._token)
        is_set = False
        with self._pages.opened(urlsplit(self._meant.url).path, Entrance(self._admits, MOST_BYTES, self._take)):
            while True:
                self._pulse.step(within=LOOK_SECONDS)
                try:
                    with readable():
                        trouble = await self._look(is_set=is_set)
                except TelegramError as error:
                    remedy = "correct TELEGRAM_WEBHOOK_URL" if isinstance(error, BadRequest) else "trying again"
                    await contact.rest_after(error, remedy)
                    continue
                is_set = True
                await contact.succeeded()
                if trouble is not None:
                    self._pulse.failed(trouble)
                self._pulse.step(within=LOOK_PAUSE + LOOK_SECONDS)
                await asyncio.sleep(LOOK_PAUSE)

    async def _look(self, *, is_set: bool) -> str | None:
        """Why no updates come, as Telegram tells it; None where they do. A webhook that was taken away is set anew."""
        received, self._received = self._received, False
        if not is_set:  # always at the start: which secret Telegram shows, it does not tell
            await self._set()
            return None
        info = await self._bot.get_webhook_info()
        if info.url != self._meant.url:
            log.warning("webhook_taken_away", remedy="another program uses this token: have @BotFather revoke it")
            await self._set()
        elif info.pending_update_count and info.last_error_message and not received:
            log.warning("webhook_not_reached", reason=info.last_error_message, waiting=info.pending_update_count)
            return f"Telegram can't send here ({info.last_error_message})"
        return None

    async def _set(self) -> None:
        await self._bot.set_webhook(self._meant.url, secret_token=self._meant.secret, allowed_updates=ALLOWED_UPDATES)
        log.info("webhook_set", host=urlsplit(self._meant.url).hostname)

    def _admits(self, headers: Mapping[str, str]) -> bool:
        return hmac.compare_digest(headers.get(SECRET_HEADER, "").encode(), self._meant.secret.encode())

    async def _take(self, body: bytes) -> Page:
        update = _update_in(body)
        if update is None:
            log.warning("webhook_unreadable", bytes=len(body))
            return Page(HTTPStatus.BAD_REQUEST, b"that is no update\n")
        try:
            async with self._turn:  # as they came: what was sent first is kept first
                await self._receive([update])
        except Exception:
            # a full disk, for one: Telegram sends it again
            log.exception("receiving_failed")
            self._pulse.failed("what was received can't be kept")
            return Page(HTTPStatus.SERVICE_UNAVAILABLE, b"that can't be kept\n")
        self._received = True
        self._pulse.succeeded()
        return Page(HTTPStatus.OK, b"")


def _update_in(body: bytes) -> RawUpdate | None:
    """The update in a request. What can't be read is one as well: refused, it would be sent before all others again."""
    try:
        return RawUpdate.of(json.loads(body))
    except (ValueError, RecursionError, MemoryError):
        return RawUpdate.in_unreadable(body)
