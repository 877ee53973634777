"""The running Telegram bot: client, outbox, channel, inbox, updates, started in this order and stopped in reverse."""

from __future__ import annotations

import asyncio
import contextlib
import os
from functools import cache
from typing import TYPE_CHECKING

import structlog
from telegram import LinkPreviewOptions
from telegram.error import InvalidToken, TelegramError
from telegram.ext import AIORateLimiter, Defaults

from bot.tasks import BackgroundTasks, Backoff
from bot.telegram import CHANNEL
from bot.telegram.access import AccessControl, AccessSettings
from bot.telegram.callbacks import CallbackHandler
from bot.telegram.calls import explained, reason_of
from bot.telegram.channel import TelegramChannel
from bot.telegram.client import PAUSE_FOR_GOOD, BotApiRequest, PollingBot, TokenWatch, readable
from bot.telegram.files import TelegramFiles
from bot.telegram.groups import ChatMigrations
from bot.telegram.inbox import InboxWorker
from bot.telegram.menu import Menu
from bot.telegram.outbox import OutboxSender
from bot.telegram.polling import LONGEST_FLOOD, Poller
from bot.telegram.receiving import Albums, Receiver
from bot.telegram.updates import UpdateParser
from bot.telegram.webhook import Webhook, WebhookConfig
from config.errors import ConfigurationError
from config.process import connections, loading_for_good
from memory.access import AccessList
from memory.capture.capture import captured
from memory.errors import StoreError
from memory.log.speakers import Speakers
from memory.mail.mailbox import Mailbox
from memory.service.menu_cache import MenuCache
from pipeline.models.client import tls_context

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    import httpx
    from telegram import User

    from bot.app import App
    from bot.monitoring import Heartbeat
    from config.settings import Settings

    OnResponse = Callable[[httpx.Response], Awaitable[None]]

log = structlog.get_logger(__name__)

SEND_TIMEOUT = 30
"""Seconds to wait for Telegram's answer; short ones make deliveries doubtful that in truth arrived."""
START_SECONDS = 300
"""How long one step of the start may take: a few calls, or taking up what an earlier run left."""

_GREETING = "Hello."
"""Has the phrases of the languages in Latin letters read; those of others are read at their first word."""


def telegram_bot(
    settings: Settings, patience: float = SEND_TIMEOUT, on_response: OnResponse | None = None
) -> PollingBot:
    """The client for the Bot API. Raises ConfigurationError without a usable token.

    patience: seconds to wait for an answer; on_response is shown each answer to a call.
    """
    if settings.telegram_bot_token is None:
        raise ConfigurationError("TELEGRAM_BOT_TOKEN is missing: get one from @BotFather, or run `mneme setup`.")
    os.environ.setdefault("PTB_TIMEDELTA", "1")  # the library's own switch to its coming return type
    url = str(settings.telegram_api_url).rstrip("/")
    proxy = settings.telegram_proxy
    try:
        return PollingBot(
            settings.telegram_bot_token.get_secret_value(),
            base_url=f"{url}/bot",
            base_file_url=f"{url}/file/bot",
            request=BotApiRequest(
                # those who wait for a connection wait: a request that has none was not sent, and comes again
                connection_pool_size=connections(64),
                pool_timeout=patience,
                read_timeout=patience,
                write_timeout=patience,
                proxy=proxy,
                httpx_kwargs={
                    "verify": tls_context(),
                    "event_hooks": {"response": [on_response] if on_response is not None else []},
                },
            ),
            get_updates_request=BotApiRequest(
                read_timeout=SEND_TIMEOUT, proxy=proxy, httpx_kwargs={"verify": tls_context()}
            ),
            defaults=Defaults(link_preview_options=LinkPreviewOptions(is_disabled=True)),
            # paces requests, but never sleeps through a flood limit: that would freeze every chat for one
            rate_limiter=AIORateLimiter(max_retries=0),
        )
    except InvalidToken as error:
        raise _wrong_token() from error


async def run_telegram(app: App) -> None:
    """Serve Telegram until cancelled. Raises ConfigurationError when Telegram refuses a token that never worked."""
    bot = telegram_bot(app.settings)
    pulse = app.health.updates
    published = MenuCache(app.database, CHANNEL)
    token = TokenWatch(published, bot.token)
    tasks = BackgroundTasks()
    tasks.start(_warm_up(app), "warming")
    async with _introduced(bot, pulse, token) as me:
        pulse.step(within=START_SECONDS)
        mailbox = Mailbox(app.database, CHANNEL, app.clock)
        outbox = OutboxSender(bot, mailbox, app.runner.languages)
        access = AccessList(app.database, CHANNEL, app.clock)
        house = AccessSettings(app.settings.telegram_allowed_ids, app.settings.memory_enabled)
        moves = ChatMigrations(app.memory.moving, app.runner)
        door = AccessControl(bot, outbox, access, house, moves, app.runner.languages)
        channel = TelegramChannel(bot, mailbox, outbox, door)
        albums, presses = Albums(app.clock), CallbackHandler(bot, mailbox, door, app.runner)
        letters = UpdateParser(me, channel, app.runner.commands, albums)
        receiver = Receiver(me.id, channel, mailbox, door, app.runner, albums, letters, presses)
        speakers = Speakers(app.database)
        inbox = InboxWorker(
            channel, mailbox, door, app.runner, albums, speakers, letters, presses, app.memory.tasks, receiver.arrived
        )
        app.media.serve(CHANNEL, TelegramFiles(bot).fetch)
        await _warn_if_nobody_may_enter(app, access)
        token.tell = door.tell_of_refusals
        menu = Menu(bot, published, app.runner.commands.values())
        # beside the rest: nobody is to wait for what is only shown
        tasks.start(menu.publish(), "menu")
        await moves.start()
        await outbox.start(door.follow)
        await channel.start()
        await inbox.start()
        app.begin_background_work()

        async def tell() -> None:
            for session_id in await app.memory.telling.put_out(CHANNEL, door.serves):
                outbox.kick(session_id)
            if await app.memory.tasks.put_in(f"{CHANNEL}:", door.serves):
                receiver.arrived.set()

        app.jobs.reminders.start(tell)
        log.info("telegram_ready", bot=f"@{me.username}")
        try:
            await _source(app, bot, receiver, token).run()
        finally:
            await tasks.close()
            await app.jobs.reminders.close()
            await inbox.close()
            await door.close()
            await app.runner.close()
            with contextlib.suppress(StoreError):
                await mailbox.take_back_attempts()
            await channel.close()
            await outbox.close()


@contextlib.asynccontextmanager
async def _introduced(bot: PollingBot, pulse: Heartbeat, token: TokenWatch) -> AsyncIterator[User]:
    """The bot's own account, as soon as Telegram can be reached."""
    try:
        await _until_known(bot, pulse, token)
        yield bot.bot
    finally:
        await bot.shutdown()


async def _until_known(bot: PollingBot, pulse: Heartbeat, token: TokenWatch) -> None:
    backoff = Backoff()
    while True:
        pulse.step(within=START_SECONDS)
        at_least = 0.0
        try:
            with readable():
                await bot.initialize()
        except InvalidToken as error:
            if await token.is_wrong(bot):
                raise _wrong_token() from error
            reason = token.refused()
            at_least = PAUSE_FOR_GOOD if token.for_good else 0
        except TelegramError as error:
            token.failed_otherwise()
            reason, at_least = reason_of(error), min(explained(error).pause, LONGEST_FLOOD)
            log.warning("telegram_unreachable", reason=reason, remedy="check the network; trying again")
        else:
            break
        pulse.failed(reason)
        pulse.step(within=backoff.pause(at_least) + START_SECONDS)
        await backoff.wait(at_least)
    with contextlib.suppress(StoreError):  # such as a full disk: the next start does it
        await token.keep()


def _source(app: App, bot: PollingBot, receiver: Receiver, token: TokenWatch) -> Poller | Webhook:
    """What brings the updates, by the settings."""
    url, secret = app.settings.telegram_webhook_url, app.settings.telegram_webhook_secret
    if url is None or secret is None:
        return Poller(bot, receiver.receive, app.health.updates, token)
    config = WebhookConfig(str(url), secret.get_secret_value())
    return Webhook(bot, receiver.receive, app.health.updates, app.pages, config, token)


async def _warn_if_nobody_may_enter(app: App, access: AccessList) -> None:
    if app.settings.telegram_allowed_ids or await access.has_members():
        return
    if await access.awaits_claim():
        log.info("waiting_to_be_claimed", remedy="open the link that `mneme setup` showed")
    else:
        log.warning("nobody_is_allowed", remedy="run `mneme setup` for a one-time code, or set TELEGRAM_ALLOWED_IDS")


def _wrong_token() -> ConfigurationError:
    return ConfigurationError("Telegram refuses TELEGRAM_BOT_TOKEN: copy it again from @BotFather.")


async def _warm_up(app: App) -> None:
    # a turn that needs what is just loaded would load it too, or have the whole event loop wait for it
    with app.runner.places.closed():
        await warm_up()


async def warm_up() -> None:
    """Read the classifier and phrases in a thread: the event loop goes on meanwhile."""
    await asyncio.to_thread(_load)


@cache
def _load() -> None:
    """Once in a process."""
    with loading_for_good():
        captured(_GREETING)
