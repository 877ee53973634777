"""Where updates come from: long polling, or a webhook. Each is kept before it is confirmed, and no failure ends it."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import structlog
from telegram.error import BadRequest, Conflict, InvalidToken, RetryAfter, TelegramError

from bot.tasks import Backoff
from bot.telegram.calls import explained, reason_of
from bot.telegram.client import ALLOWED_UPDATES, MOST_UPDATES, PAUSE_FOR_GOOD, Unreadable, readable
from bot.telegram.updates import RawUpdate
from bot.web.server import Entrance, Page
from memory.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from telegram import Bot

    from bot.jobs.replication import Replication
    from bot.monitoring import Heartbeat
    from bot.telegram.client import PollingBot, TokenWatch
    from bot.web.server import Pages

log = structlog.get_logger(__name__)

POLL_SECONDS = 30
"""How long Telegram may keep a poll open."""
REQUEST_SECONDS = 45
"""How long a request may take besides: to connect, and until Telegram's answer is read."""
LONGEST_FLOOD = 60.0
"""Seconds at most that an answer to a poll can make us wait, whatever it says: nobody is heard meanwhile."""
SLACK = 20
"""How much later than announced a step may come on a busy machine, in seconds."""
RECEIVE_SECONDS = 120
"""How long it may take to keep a hundred updates on a slow disk and to hand them over."""

SECRET_HEADER = "x-telegram-bot-api-secret-token"  # noqa: S105  # a name
MOST_BYTES = 1_000_000
"""How long an update may be: a message of 4096 characters with its entities and the one it answers takes a tenth."""
LOOK_PAUSE = 60.0
"""Seconds after which Telegram is asked again whether it still sends its updates here."""
LOOK_SECONDS = 120
"""How long that may take, with what it takes to set the webhook anew."""


class Contact:
    """Tells the pulse and the log whether Telegram answers; after each failure in a row it waits longer.

    replication: knows whether another machine has taken over; then a call raises ConfigurationError.
    """

    def __init__(self, pulse: Heartbeat, token: TokenWatch, replication: Replication | None = None) -> None:
        self.pulse = pulse
        self._token = token
        self._replication = replication
        self._backoff = Backoff()

    async def succeeded(self) -> None:
        """What was asked is answered."""
        await self._token.accepted()
        self.pulse.succeeded()
        self._backoff.reset()

    async def rest_after(self, error: TelegramError, remedy: str = "check the network; trying again") -> None:
        """Wait after an error of Telegram's, as long as it asks for where that can be borne."""
        if isinstance(error, InvalidToken):
            reason = self._token.refused()
            await self.rest(reason, PAUSE_FOR_GOOD if self._token.for_good else 0)
            return
        self._token.failed_otherwise()
        if isinstance(error, Conflict):
            log.error("polling_conflict", remedy="another program polls with this token: stop it")
            if self._replication is not None:
                self.pulse.step(within=LOOK_SECONDS)
                await self._replication.check_lease(look=True)
            await self.rest("another program polls with this token")
            return
        log.warning("telegram_unreachable", reason=reason_of(error), remedy=remedy)
        pause = explained(error).pause if isinstance(error, RetryAfter) else 0
        await self.rest(reason_of(error), min(pause, LONGEST_FLOOD))

    async def rest(self, reason: str, at_least: float = 0) -> None:
        """Wait after a failure, at least so many seconds."""
        self.pulse.failed(reason)
        self.pulse.step(within=self._backoff.pause(at_least) + SLACK)
        await self._backoff.wait(at_least)


@dataclass(eq=False)
class Poller:
    """Fetches updates for as long as it runs.

    Each poll confirms the updates of the one before. `receive` returns only when those are on disk, so an
    update that a crash loses here comes again.
    """

    bot: PollingBot
    receive: Callable[[Sequence[RawUpdate]], Awaitable[None]]
    contact: Contact
    _offset: int | None = field(default=None, init=False)
    _one_by_one: bool = field(default=False, init=False)

    async def run(self) -> None:
        self.contact.pulse.step(within=REQUEST_SECONDS + SLACK)
        with contextlib.suppress(TelegramError), readable():
            # a poll while a webhook is set fails for ever, so an old webhook goes; pending updates stay
            await self.bot.delete_webhook(drop_pending_updates=False)
        while True:
            try:
                await self._poll()
            except TelegramError as error:
                await self.contact.rest_after(error)
            except Exception as error:
                # a full disk, for one: the updates were not confirmed and come again
                log.error("receiving_failed", exc_info=not isinstance(error, StoreError))
                await self.contact.rest("what was received can't be kept")
            else:
                await self.contact.succeeded()

    async def _poll(self) -> None:
        # the first one, and the first after trouble, comes back at once: so it is soon known that polling works
        patience = POLL_SECONDS if self.contact.pulse.trouble is None else 0
        self.contact.pulse.step(within=patience + REQUEST_SECONDS + SLACK)
        try:
            updates = await self.bot.poll(self._offset, patience, 1 if self._one_by_one else MOST_UPDATES)
        except Unreadable as error:
            if error.update is None:
                raise
            # each alone then, so that what can't be read takes nothing with it
            updates = [error.update] if self._one_by_one else []
            self._one_by_one = not self._one_by_one
            if self._one_by_one:
                return
            log.error("update_unreadable", update=error.update.id, error=error.message)
        else:
            self._one_by_one = self._one_by_one and bool(updates)
        if updates:
            self.contact.pulse.step(within=RECEIVE_SECONDS)
            await self.receive(updates)
        # said once it is confirmed; said for ever, it would hide what Telegram counts from a lower number on
        self._offset = max(update.id for update in updates) + 1 if updates else None


@dataclass(eq=False)
class Webhook:
    """Has Telegram send its updates here for as long as it runs.

    `receive` returns only when an update is on disk, so one that a crash loses here is sent again. url: where Telegram
    sends to; secret: what it shows there.
    """

    bot: Bot
    receive: Callable[[Sequence[RawUpdate]], Awaitable[None]]
    contact: Contact
    pages: Pages
    url: str
    secret: str
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _received: bool = field(default=False, init=False)

    async def run(self) -> None:
        self.contact.pulse.what = "the webhook"
        is_set = False
        with self.pages.opened(urlsplit(self.url).path, Entrance(self._admits, MOST_BYTES, self._take)):
            while True:
                self.contact.pulse.step(within=LOOK_SECONDS)
                try:
                    with readable():
                        trouble = await self._look(is_set=is_set)
                except TelegramError as error:
                    remedy = "correct TELEGRAM_WEBHOOK_URL" if isinstance(error, BadRequest) else "trying again"
                    await self.contact.rest_after(error, remedy)
                    continue
                is_set = True
                await self.contact.succeeded()
                if trouble is not None:
                    self.contact.pulse.failed(trouble)
                self.contact.pulse.step(within=LOOK_PAUSE + LOOK_SECONDS)
                await asyncio.sleep(LOOK_PAUSE)

    async def _look(self, *, is_set: bool) -> str | None:
        """Why no updates come, as Telegram tells it; None where they do. A webhook that was taken away is set anew."""
        received, self._received = self._received, False
        if not is_set:  # always at the start: which secret Telegram shows, it does not tell
            await self._set()
            return None
        info = await self.bot.get_webhook_info()
        if info.url != self.url:
            log.warning("webhook_taken_away", remedy="another program uses this token: have @BotFather revoke it")
            await self._set()
        elif info.pending_update_count and info.last_error_message and not received:
            log.warning("webhook_not_reached", reason=info.last_error_message, waiting=info.pending_update_count)
            return f"Telegram can't send here ({info.last_error_message})"
        return None

    async def _set(self) -> None:
        await self.bot.set_webhook(self.url, secret_token=self.secret, allowed_updates=ALLOWED_UPDATES)
        log.info("webhook_set", host=urlsplit(self.url).hostname)

    def _admits(self, headers: Mapping[str, str]) -> bool:
        return hmac.compare_digest(headers.get(SECRET_HEADER, "").encode(), self.secret.encode())

    async def _take(self, body: bytes) -> Page:
        update = _update_in(body)
        if update is None:
            log.warning("webhook_unreadable", bytes=len(body))
            return Page(HTTPStatus.BAD_REQUEST, b"that is no update\n")
        try:
            async with self._turn:  # as they came: what was sent first is kept first
                await self.receive([update])
        except Exception:
            # a full disk, for one: Telegram sends it again
            log.exception("receiving_failed")
            self.contact.pulse.failed("what was received can't be kept")
            return Page(HTTPStatus.SERVICE_UNAVAILABLE, b"that can't be kept\n")
        self._received = True
        self.contact.pulse.succeeded()
        return Page(HTTPStatus.OK, b"")


def _update_in(body: bytes) -> RawUpdate | None:
    """The update in a request. What can't be read is one as well: refused, it would be sent before all others again."""
    try:
        return RawUpdate.of(json.loads(body))
    except (ValueError, RecursionError, MemoryError):
        return RawUpdate.in_unreadable(body)
