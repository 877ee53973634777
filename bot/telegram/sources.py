"""Sources of updates: long polling or a webhook. Updates are stored before they are confirmed. Failures are retried."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from http import HTTPStatus
from urllib.parse import urlsplit

import structlog
from telegram import Bot
from telegram.error import BadRequest, Conflict, InvalidToken, RetryAfter, TelegramError

from bot.monitoring import Heartbeat, Safeguard
from bot.telegram.calls import MAX_UPDATES, PollingBot
from bot.telegram.failures import Unreadable, describe_error, parsing_answer, to_send_failure
from bot.telegram.raw_updates import RawUpdate
from bot.web import InboundRoute
from config.waiting import Backoff
from memory.errors import StoreError
from memory.runtime.menu_cache import MenuCache

log = structlog.get_logger(__name__)

POLL_SECONDS = 30
MAX_REQUEST_SECONDS = 45
"""Maximum duration of a request apart from the long poll: connecting and reading the answer."""
MAX_FLOOD_PAUSE_SECONDS = 60.0
"""Maximum pause after a rate limit on polling. No update arrives during it."""
SLACK_SECONDS = 20
"""Seconds by which a step may be late on a busy machine before it counts as stuck."""
MAX_RECEIVE_SECONDS = 120
"""Maximum duration of storing a hundred updates on a slow disk and passing them on."""

SECRET_HEADER = "x-telegram-bot-api-secret-token"  # noqa: S105  # a name
MAX_UPDATE_BYTES = 1_000_000
"""Maximum size of an update. A message of 4096 characters with entities and a quoted message takes a tenth of it."""
CHECK_INTERVAL_SECONDS = 60.0
MAX_CHECK_SECONDS = 120

CONFLICT_LOG_SECONDS = 3600.0
"""Seconds between two log lines about another program that polls with the same token."""
CONFLICT_OVER_SECONDS = 120.0
"""Seconds without a conflict, after which the other program counts as stopped."""

MAX_TOKEN_ATTEMPTS = 3
"""Number of refused getMe calls in a row that prove a token wrong if it never worked."""
TOKEN_RETRY_SECONDS = 1.0
"""Pause before the second of these calls. Each further pause is one second longer."""
PERMANENT_REFUSAL_SECONDS = 600.0
"""Seconds of refusals only, after which a token that once worked is reported as refused for good."""
MIN_REPORTED_SECONDS = 5.0
"""Minimum duration of refusals that the owner is notified about."""
PERMANENT_REFUSAL_PAUSE_SECONDS = 60.0
"""Seconds between attempts after that. A faulty proxy may be repaired later."""
_CACHE_KEY = "token"


class TokenWatch:
    """Tracks whether the token ever worked, and for how long it has been refused.

    A starting Bot API server or a proxy may answer 404 or 401, as Telegram does for a revoked token. So only a token
    that never worked ends the program.

    Attributes:
        tell: notifies the owner after the token works again.
    """

    def __init__(self, published: MenuCache, token: str, now: Callable[[], float] = time.monotonic) -> None:
        self._published = published
        self._token = token
        self._now = now
        self._first_refused_at: float | None = None
        self._refused_since: float | None = None
        self.tell: Callable[[timedelta], Awaitable[None]] | None = None

    async def is_wrong(self, bot: Bot) -> bool:
        """Return True if a token that was just refused never worked and is refused repeatedly."""
        if await self._published.is_shown(_CACHE_KEY, self._token):
            return False
        for tried in range(MAX_TOKEN_ATTEMPTS):
            await asyncio.sleep(tried * TOKEN_RETRY_SECONDS)
            try:
                with parsing_answer():
                    await bot.get_me()
            except InvalidToken:
                continue
            except TelegramError:
                pass
            return False
        return True

    async def store(self) -> None:
        if not await self._published.is_shown(_CACHE_KEY, self._token):
            await self._published.store(_CACHE_KEY, self._token)

    def record_refusal(self) -> str:
        """Record a refusal. Return a description for the health report."""
        now = self._now()
        self._first_refused_at = now if self._first_refused_at is None else self._first_refused_at
        self._refused_since = now if self._refused_since is None else self._refused_since
        seconds = round(now - self._refused_since)
        if not self.is_permanent:
            log.warning("token_refused", seconds=seconds, remedy="it has worked before; trying again")
            return "the token is refused, which has worked before"
        log.error("token_refused_for_good", seconds=seconds, remedy="copy TELEGRAM_BOT_TOKEN again from @BotFather")
        return f"the token is refused for {seconds // 60} minutes: copy TELEGRAM_BOT_TOKEN again from @BotFather"

    @property
    def is_permanent(self) -> bool:
        """Return True if all requests were refused for so long that someone has to check the token."""
        since = self._refused_since
        return since is not None and self._now() - since >= PERMANENT_REFUSAL_SECONDS

    def record_other_failure(self) -> None:
        self._refused_since = None

    async def record_acceptance(self) -> None:
        """Record that the token works, and notify the owner of long refusals. The next call retries a failed notice."""
        self._refused_since = None
        if self._first_refused_at is None:
            return
        lasted = self._now() - self._first_refused_at
        if lasted >= MIN_REPORTED_SECONDS and self.tell is not None:
            try:
                await self.tell(timedelta(seconds=round(lasted)))
            except StoreError as error:
                log.warning("refusal_not_told", reason=error.loggable)
                return
        log.info("token_accepted_again", seconds=round(lasted))
        self._first_refused_at = None


class ConflictLog:
    """Logs that another program polls with the same token: at once, every hour, and when it is over."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._since: float | None = None
        self._last_at = self._logged_at = -math.inf

    def record_conflict(self) -> None:
        now = self._now()
        self._since = now if self._since is None else self._since
        self._last_at = now
        if now - self._logged_at >= CONFLICT_LOG_SECONDS:
            self._logged_at = now
            log.error("polling_conflict", remedy="another program polls with this token: stop it")

    def record_success(self) -> None:
        """Record a poll that succeeded, as single ones do between two conflicts."""
        now = self._now()
        if self._since is not None and now - self._last_at >= CONFLICT_OVER_SECONDS:
            log.info("polling_conflict_over", seconds=round(now - self._since))
            self._since, self._logged_at = None, -math.inf


class Contact:
    """Reports to heartbeat and log whether Telegram answers, with growing pauses after failures.

    Calls raise ConfigurationError if another machine has taken over.
    """

    def __init__(self, pulse: Heartbeat, token: TokenWatch, safeguards: Sequence[Safeguard] = ()) -> None:
        self.pulse = pulse
        self._token = token
        self._safeguards = safeguards
        self._backoff = Backoff()
        self._conflicts = ConflictLog()

    async def record_success(self) -> None:
        self._conflicts.record_success()
        await self._token.record_acceptance()
        self.pulse.report_success()
        self._backoff.reset()

    async def wait_after(self, error: TelegramError, remedy: str = "check the network; trying again") -> None:
        """Wait after an error, for a rate limit as long as Telegram asks, within bounds."""
        if isinstance(error, InvalidToken):
            reason = self._token.record_refusal()
            await self.wait(reason, PERMANENT_REFUSAL_PAUSE_SECONDS if self._token.is_permanent else 0)
            return
        self._token.record_other_failure()
        if isinstance(error, Conflict):
            self._conflicts.record_conflict()
            for safeguard in self._safeguards:
                self.pulse.report_step(within=MAX_CHECK_SECONDS)
                await safeguard.require_place()
            await self.wait("another program polls with this token")
            return
        log.warning("telegram_unreachable", reason=describe_error(error), remedy=remedy)
        pause = to_send_failure(error).pause if isinstance(error, RetryAfter) else 0
        await self.wait(describe_error(error), min(pause, MAX_FLOOD_PAUSE_SECONDS))

    async def wait(self, reason: str, at_least: float = 0) -> None:
        self.pulse.report_failure(reason)
        self.pulse.report_step(within=self._backoff.pause(at_least) + SLACK_SECONDS)
        await self._backoff.wait(at_least)


@dataclass(eq=False)
class Poller:
    """Polls for updates until it is cancelled.

    Each poll confirms the updates of the one before. `receive` returns after they are on disk, so Telegram sends an
    update again if a crash loses it.

    Args:
        kinds: the types of updates to request.
    """

    bot: PollingBot
    receive: Callable[[Sequence[RawUpdate]], Awaitable[None]]
    contact: Contact
    kinds: Sequence[str]
    _offset: int | None = field(default=None, init=False)
    _one_by_one: bool = field(default=False, init=False)

    async def run(self) -> None:
        self.contact.pulse.report_step(within=MAX_REQUEST_SECONDS + SLACK_SECONDS)
        with contextlib.suppress(TelegramError), parsing_answer():
            # Polling fails as long as a webhook is set. Pending updates stay on the server
            await self.bot.delete_webhook(drop_pending_updates=False)
        while True:
            try:
                await self._poll()
            except TelegramError as error:
                await self.contact.wait_after(error)
            except Exception as error:
                # For example, the disk is full. The updates were not confirmed, so Telegram sends them again
                log.error("receiving_failed", exc_info=not isinstance(error, StoreError))
                await self.contact.wait("what was received can't be kept")
            else:
                await self.contact.record_success()

    async def _poll(self) -> None:
        # The first poll, and the first one after a failure, returns at once to show quickly that polling works
        patience = POLL_SECONDS if self.contact.pulse.trouble is None else 0
        self.contact.pulse.report_step(within=patience + MAX_REQUEST_SECONDS + SLACK_SECONDS)
        try:
            updates = await self.bot.poll(self._offset, patience, self.kinds, 1 if self._one_by_one else MAX_UPDATES)
        except Unreadable as error:
            if error.update is None:
                raise
            # Fetch the updates one by one, so that only the unreadable update is lost
            updates = [error.update] if self._one_by_one else []
            self._one_by_one = not self._one_by_one
            if self._one_by_one:
                return
            log.error("update_unreadable", update=error.update.id, error=error.message)
        else:
            self._one_by_one = self._one_by_one and bool(updates)
        if updates:
            self.contact.pulse.report_step(within=MAX_RECEIVE_SECONDS)
            await self.receive(updates)
        # Without new updates no offset is sent, since it would hide updates if Telegram starts its numbers again
        self._offset = max(update.id for update in updates) + 1 if updates else None


@dataclass(eq=False)
class Webhook:
    """Receives updates by a webhook until it is cancelled.

    `receive` returns after an update is on disk, so Telegram sends an update again if a crash loses it.

    Args:
        kinds: the types of updates to request.
        url: the public address.
        secret: the token that Telegram sends in a header.
    """

    bot: Bot
    receive: Callable[[Sequence[RawUpdate]], Awaitable[None]]
    contact: Contact
    kinds: Sequence[str]
    inbound_routes: dict[str, InboundRoute]
    url: str
    secret: str
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _received: bool = field(default=False, init=False)

    async def run(self) -> None:
        self.contact.pulse.what = "the webhook"
        path = urlsplit(self.url).path
        self.inbound_routes[path] = InboundRoute(self._admits, MAX_UPDATE_BYTES, self._take)
        try:
            await self._keep_set()
        finally:
            del self.inbound_routes[path]

    async def _keep_set(self) -> None:
        is_set = False
        while True:
            self.contact.pulse.report_step(within=MAX_CHECK_SECONDS)
            try:
                with parsing_answer():
                    trouble = await self._check(is_set=is_set)
            except TelegramError as error:
                remedy = "correct TELEGRAM_WEBHOOK_URL" if isinstance(error, BadRequest) else "trying again"
                await self.contact.wait_after(error, remedy)
                continue
            is_set = True
            await self.contact.record_success()
            if trouble is not None:
                self.contact.pulse.report_failure(trouble)
            self.contact.pulse.report_step(within=CHECK_INTERVAL_SECONDS + MAX_CHECK_SECONDS)
            await asyncio.sleep(CHECK_INTERVAL_SECONDS)

    async def _check(self, *, is_set: bool) -> str | None:
        """Check the webhook, and set it again if it was removed. Return the reason if no updates arrive."""
        received, self._received = self._received, False
        if not is_set:  # Always set it at start, since Telegram doesn't reveal its secret
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
        await self.bot.set_webhook(self.url, secret_token=self.secret, allowed_updates=self.kinds)
        log.info("webhook_set", host=urlsplit(self.url).hostname)

    def _admits(self, headers: Mapping[str, str]) -> bool:
        return hmac.compare_digest(headers.get(SECRET_HEADER, "").encode(), self.secret.encode())

    async def _take(self, body: bytes) -> tuple[int, str]:
        update = _parse_update(body)
        if update is None:
            log.warning("webhook_unreadable", bytes=len(body))
            return HTTPStatus.BAD_REQUEST, "that is no update\n"
        try:
            async with self._lock:  # In order of arrival
                await self.receive([update])
        except Exception:
            # For example, the disk is full. Telegram sends it again
            log.exception("receiving_failed")
            self.contact.pulse.report_failure("what was received can't be kept")
            return HTTPStatus.SERVICE_UNAVAILABLE, "that can't be kept\n"
        self._received = True
        self.contact.pulse.report_success()
        return HTTPStatus.OK, ""


def _parse_update(body: bytes) -> RawUpdate | None:
    """Parse the update in a request. Accept unreadable updates too, since Telegram repeats refused ones for ever."""
    try:
        return RawUpdate.from_json(json.loads(body))
    except (ValueError, RecursionError, MemoryError):
        return RawUpdate.find_in_invalid_json(body)
