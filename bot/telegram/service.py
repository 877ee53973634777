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

from bot.jobs.scheduled import begin_reminding
from bot.tasks import BackgroundTasks
from bot.telegram import CHANNEL
from bot.telegram.access import AccessControl, ChatMigrations
from bot.telegram.callbacks import CallbackHandler
from bot.telegram.calls import BotApiRequest, PollingBot, TelegramFiles, readable
from bot.telegram.channel import TelegramChannel
from bot.telegram.features import ServerFeatures
from bot.telegram.guest import GuestMode
from bot.telegram.inbox import InboxWorker
from bot.telegram.menu import Menu
from bot.telegram.outbox import OutboxSender
from bot.telegram.receiving import Albums, Receiver
from bot.telegram.sources import Contact, Poller, TokenWatch, Webhook
from bot.telegram.speech import VoiceMessages
from bot.telegram.updates import UpdateParser
from bot.web import page_address
from config.errors import ConfigurationError
from config.process import connections, loading_for_good
from memory.access import AccessList
from memory.capture.capture import captured
from memory.errors import StoreError
from memory.log.speakers import Speakers
from memory.mail.mailbox import Mailbox
from memory.service.menu_cache import MenuCache
from pipeline.models.client import is_on_this_machine, tls_context

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import httpx

    from bot.app import App
    from config.settings import Settings

    OnResponse = Callable[[httpx.Response], Awaitable[None]]

log = structlog.get_logger(__name__)

SEND_TIMEOUT = 30
"""Seconds to wait for Telegram's answer; short ones make deliveries doubtful that in truth arrived."""
START_SECONDS = 300
"""How long one step of the start may take: a few calls, or taking up what an earlier run left."""

# Has the phrases of the languages in Latin letters read; those of others are read at their first word.
_GREETING = "Hello."


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
    # a proxy of the environment can't reach a Bot API server on this machine
    trusts_environment = not is_on_this_machine(url)
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
                    "trust_env": trusts_environment,
                    "event_hooks": {"response": [on_response] if on_response is not None else []},
                },
            ),
            get_updates_request=BotApiRequest(
                read_timeout=SEND_TIMEOUT,
                proxy=proxy,
                httpx_kwargs={"verify": tls_context(), "trust_env": trusts_environment},
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
    published = MenuCache(app.database, CHANNEL)
    token = TokenWatch(published, bot.token)
    contact = Contact(app.health.updates, token, app.replication)
    tasks = BackgroundTasks()

    async def warm() -> None:
        # a turn that needs what is just loaded would load it too, or have the whole event loop wait for it
        with app.runner.places.closed():
            await warm_up()

    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(bot.shutdown)
        stack.push_async_callback(tasks.close)
        tasks.start(warm(), "warming")
        await _until_known(bot, contact, token)
        me = bot.bot
        contact.pulse.step(within=START_SECONDS)
        mailbox = Mailbox(app.database, CHANNEL, app.clock)
        features = ServerFeatures(published, me.id, app.clock)
        await features.start()
        outbox = OutboxSender(bot, mailbox, app.runner.languages, features, app.memory.preferences, app.replication)
        access = AccessList(app.database, CHANNEL, app.clock)
        family = {*await access.owners(), *(user for user in app.settings.telegram_allowed_ids if user > 0)}
        await app.memory.sharing.settle(access.owner_of(user) for user in family)
        moves = ChatMigrations(app.memory.moving, app.runner)
        door = AccessControl(
            bot,
            outbox,
            access,
            moves,
            app.runner.languages,
            app.settings.telegram_allowed_ids,
            app.settings.memory_enabled,
            tasks,
            asks_for_role=app.memory.sharing.enabled,
        )
        voice = VoiceMessages(app.speech, app.memory.preferences, outbox)
        channel = TelegramChannel(bot, mailbox, outbox, door, features, voice, tasks)
        albums, presses = Albums(app.clock), CallbackHandler(bot, mailbox, door, app.runner, tasks)
        letters = UpdateParser(me, channel, app.runner.commands, albums)
        private, remembers = app.database.private, app.settings.guest_memory
        guests = GuestMode(bot, door, app.runner, private, tasks, remembers=remembers)
        receiver = Receiver(
            me.id, channel, mailbox, door, app.runner, albums, letters, presses, guests, app.replication
        )
        speakers = Speakers(app.database)
        inbox = InboxWorker(
            channel,
            mailbox,
            door,
            app.runner,
            albums,
            speakers,
            letters,
            presses,
            app.memory.tasks,
            app.memory.corrections,
            receiver.arrived,
            tasks,
        )
        app.media.serve(CHANNEL, TelegramFiles(bot).fetch)
        await _warn_if_nobody_may_enter(app, access)
        token.tell = door.tell_of_refusals
        if app.replication is not None:
            app.replication.tell = door.tell_of_replica
        menu_page = page_address(app.settings.web_url)
        menu = Menu(bot, published, features, app.runner.commands.values(), menu_page)
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

        begin_reminding(tell, app.jobs.offers, tasks)
        log.info("telegram_ready", bot=f"@{me.username}")
        try:
            await _source(app, bot, receiver, contact).run()
        finally:
            await tasks.close()  # nothing more is taken, told to strangers, reminded of or shown
            await inbox.close()
            await app.runner.close()
            with contextlib.suppress(StoreError):
                await mailbox.take_back_attempts()
            await outbox.close()


async def _until_known(bot: PollingBot, contact: Contact, token: TokenWatch) -> None:
    while True:
        contact.pulse.step(within=START_SECONDS)
        try:
            with readable():
                await bot.initialize()
        except TelegramError as error:
            if isinstance(error, InvalidToken) and await token.is_wrong(bot):
                raise _wrong_token() from error
            await contact.rest_after(error)
        else:
            break
    with contextlib.suppress(StoreError):  # such as a full disk: the next start does it
        await token.keep()


def _source(app: App, bot: PollingBot, receiver: Receiver, contact: Contact) -> Poller | Webhook:
    url, secret = app.settings.telegram_webhook_url, app.settings.telegram_webhook_secret
    if url is None or secret is None:
        return Poller(bot, receiver.receive, contact)
    return Webhook(bot, receiver.receive, contact, app.entrances, str(url), secret.get_secret_value())


async def _warn_if_nobody_may_enter(app: App, access: AccessList) -> None:
    if app.settings.telegram_allowed_ids or await access.has_members():
        return
    if await access.awaits_claim():
        log.info("waiting_to_be_claimed", remedy="open the link that `mneme setup` showed")
    else:
        log.warning("nobody_is_allowed", remedy="run `mneme setup` for a one-time code, or set TELEGRAM_ALLOWED_IDS")


def _wrong_token() -> ConfigurationError:
    return ConfigurationError("Telegram refuses TELEGRAM_BOT_TOKEN: copy it again from @BotFather.")


async def warm_up() -> None:
    """Read the classifier and phrases in a thread: the event loop goes on meanwhile."""
    await asyncio.to_thread(_load)


@cache
def _load() -> None:
    with loading_for_good():
        captured(_GREETING)
