"""Where updates come from: long polling, or a webhook. Each is kept before it is confirmed, and no failure ends it."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import time
from dataclasses import dataclass, field
from datetime import timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import structlog
from telegram.error import BadRequest, Conflict, InvalidToken, RetryAfter, TelegramError

from bot.telegram.calls import ALLOWED_UPDATES, MOST_UPDATES, Unreadable, explained, readable, reason_of
from bot.telegram.updates import RawUpdate
from bot.web import Entrance
from config.waiting import Backoff
from memory.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from telegram import Bot

    from bot.jobs.replication import Replication
    from bot.monitoring import Heartbeat
    from bot.telegram.calls import PollingBot
    from memory.service.menu_cache import MenuCache

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
                pass
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
    entrances: dict[str, Entrance]
    url: str
    secret: str
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _received: bool = field(default=False, init=False)

    async def run(self) -> None:
        self.contact.pulse.what = "the webhook"
        path = urlsplit(self.url).path
        self.entrances[path] = Entrance(self._admits, MOST_BYTES, self._take)
        try:
            await self._keep_set()
        finally:
            del self.entrances[path]

    async def _keep_set(self) -> None:
        is_set = False
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

    async def _take(self, body: bytes) -> tuple[int, str]:
        update = _update_in(body)
        if update is None:
            log.warning("webhook_unreadable", bytes=len(body))
            return HTTPStatus.BAD_REQUEST, "that is no update\n"
        try:
            async with self._turn:  # as they came: what was sent first is kept first
                await self.receive([update])
        except Exception:
            # a full disk, for one: Telegram sends it again
            log.exception("receiving_failed")
            self.contact.pulse.failed("what was received can't be kept")
            return HTTPStatus.SERVICE_UNAVAILABLE, "that can't be kept\n"
        self._received = True
        self.contact.pulse.succeeded()
        return HTTPStatus.OK, ""


def _update_in(body: bytes) -> RawUpdate | None:
    """The update in a request. What can't be read is one as well: refused, it would be sent before all others again."""
    try:
        return RawUpdate.of(json.loads(body))
    except (ValueError, RecursionError, MemoryError):
        return RawUpdate.in_unreadable(body)
