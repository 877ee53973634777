"""The running Telegram bot. Client, outbox, channel, inbox and receiver start in this order and stop in reverse."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

import structlog
from telegram import LinkPreviewOptions
from telegram.error import InvalidToken, TelegramError
from telegram.ext import AIORateLimiter, Defaults

from bot.jobs.due import start_checks
from bot.kernel import App
from bot.tasks import BackgroundTasks
from bot.telegram import CHANNEL
from bot.telegram.access import AccessControl
from bot.telegram.callbacks import CallbackHandler
from bot.telegram.calls import UPDATE_KINDS, BotApiRequest, PollingBot, TelegramFiles
from bot.telegram.channel import TelegramChannel
from bot.telegram.chat_migrations import ChatMigrations
from bot.telegram.failures import parsing_answer
from bot.telegram.features import ServerFeatures
from bot.telegram.inbox import InboxWorker
from bot.telegram.menu import Menu
from bot.telegram.outbox import OutboxSender
from bot.telegram.part import Connection
from bot.telegram.receiving import Albums, Receiver
from bot.telegram.sources import Contact, Poller, TokenWatch, Webhook
from bot.telegram.topics import TopicNames
from bot.telegram.updates import UpdateParser
from bot.web import get_page_address
from config.errors import ConfigurationError
from config.process import limit_connections
from config.settings import Settings
from memory.access import AccessList
from memory.errors import StoreError
from memory.log.speakers import Speakers
from memory.mail.mailbox import Mailbox
from memory.runtime.menu_cache import MenuCache
from pipeline.models.endpoint import get_tls_context, is_on_this_machine

if TYPE_CHECKING:
    import httpx

    OnResponse = Callable[[httpx.Response], Awaitable[None]]

log = structlog.get_logger(__name__)

SEND_TIMEOUT_SECONDS = 30
"""Seconds to wait for Telegram's answer. A shorter timeout puts deliveries in doubt that did arrive."""
START_SECONDS = 300
"""Maximum duration of one step of the start: a few calls, or loading the work that an earlier run left."""


def create_bot(
    settings: Settings, timeout: float = SEND_TIMEOUT_SECONDS, on_response: OnResponse | None = None
) -> PollingBot:
    """Create the client for the Bot API. Raises ConfigurationError without a usable token.

    Args:
        timeout: seconds to wait for an answer.
        on_response: called with every HTTP response.
    """
    if settings.telegram_bot_token is None:
        raise ConfigurationError("TELEGRAM_BOT_TOKEN is missing: get one from @BotFather, or run `mneme setup`.")
    os.environ.setdefault("PTB_TIMEDELTA", "1")  # Opt in to the library's future return type
    url = str(settings.telegram_api_url).rstrip("/")
    proxy = settings.telegram_proxy
    # A proxy from the environment can't reach a Bot API server on this machine
    trusts_environment = not is_on_this_machine(url)
    try:
        return PollingBot(
            settings.telegram_bot_token.get_secret_value(),
            base_url=f"{url}/bot",
            base_file_url=f"{url}/file/bot",
            request=BotApiRequest(
                # Requests wait for a free connection. Those that time out were not sent, and are tried again
                connection_pool_size=limit_connections(64),
                pool_timeout=timeout,
                read_timeout=timeout,
                write_timeout=timeout,
                proxy=proxy,
                httpx_kwargs={
                    "verify": get_tls_context(),
                    "trust_env": trusts_environment,
                    "event_hooks": {"response": [on_response] if on_response is not None else []},
                },
            ),
            get_updates_request=BotApiRequest(
                read_timeout=SEND_TIMEOUT_SECONDS,
                proxy=proxy,
                httpx_kwargs={"verify": get_tls_context(), "trust_env": trusts_environment},
            ),
            defaults=Defaults(link_preview_options=LinkPreviewOptions(is_disabled=True)),
            # Paces requests but never sleeps through a flood limit, which would block all chats because of one
            rate_limiter=AIORateLimiter(max_retries=0),
        )
    except InvalidToken as error:
        raise _create_wrong_token_error() from error


async def run_telegram(app: App) -> None:
    """Serve Telegram until cancelled. Raises ConfigurationError if Telegram refuses a token that never worked."""
    bot = create_bot(app.settings)
    published = MenuCache(app.database, CHANNEL)
    token = TokenWatch(published, bot.token)
    contact = Contact(app.health.updates, token, app.safeguards)
    tasks = BackgroundTasks()

    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(bot.shutdown)
        stack.push_async_callback(tasks.close)
        await _wait_until_token_works(bot, contact, token)
        me = bot.bot
        contact.pulse.report_step(within=START_SECONDS)
        mailbox = Mailbox(app.database, CHANNEL, app.clock)
        features = ServerFeatures(published, me.id, app.clock)
        await features.start()
        outbox = OutboxSender(bot, mailbox, app.runner.languages, features, app.safeguards)
        access_list = AccessList(app.database, CHANNEL, app.clock)
        family = {
            *await access_list.list_owner_ids(),
            *(user for user in app.settings.telegram_allowed_ids if user > 0),
        }
        await app.memory.sharing.settle(access_list.get_owner(user) for user in family)
        migrations = ChatMigrations(app.memory.moving, app.runner)
        access = AccessControl(
            bot,
            outbox,
            access_list,
            migrations,
            app.runner.languages,
            app.settings.telegram_allowed_ids,
            app.settings.memory_enabled,
            tasks,
            asks_for_role=app.memory.sharing.enabled,
        )
        connection = Connection(app, bot, access, features, tasks)
        parts = [create(connection) for create in app.telegram]
        handlers = [handler for part in parts for handler in part.handlers]
        attachments = [attachment for part in parts for attachment in part.attachments]
        topics = TopicNames(bot, published, features)
        channel = TelegramChannel(bot, mailbox, outbox, access, features, attachments, topics, tasks)
        albums, callbacks = Albums(app.clock), CallbackHandler(bot, mailbox, access, app.runner, tasks)
        parser = UpdateParser(me, channel, app.runner.commands, albums)
        receiver = Receiver(
            me.id, channel, mailbox, access, app.runner, albums, parser, callbacks, handlers, topics, app.safeguards
        )
        speakers = Speakers(app.database)
        inbox = InboxWorker(
            channel,
            mailbox,
            access,
            app.runner,
            albums,
            speakers,
            parser,
            callbacks,
            app.due,
            app.memory.entries,
            receiver.arrived,
            tasks,
        )
        app.media.serve(CHANNEL, TelegramFiles(bot).fetch)
        await _warn_if_nobody_may_enter(app, access_list)
        token.tell = access.notify_of_refusals
        menu_page = get_page_address(app.settings.web_url)
        menu = Menu(bot, published, features, app.runner.commands.values(), menu_page)
        # In the background: nothing has to wait for the menu
        tasks.start(menu.publish(), "menu")
        await migrations.start()
        await outbox.start(
            access.follow, access.notify_of_silence, [answer_format for part in parts for answer_format in part.formats]
        )
        await channel.start()
        await inbox.start()
        app.start_background_work()

        async def tell() -> None:
            for session_id in await app.due.deliver(CHANNEL, access.serves):
                outbox.kick(session_id)
            if await app.due.enqueue(f"{CHANNEL}:", access.serves):
                receiver.arrived.set()

        start_checks(tell, app.jobs.periodic, tasks)
        log.info("telegram_ready", bot=f"@{me.username}")
        try:
            kinds = [*UPDATE_KINDS, *(kind for handler in handlers for kind in handler.kinds)]
            await _create_source(app, bot, receiver, contact, kinds).run()
        finally:
            await tasks.close()  # No more updates, notices to strangers, due messages or previews
            await inbox.close()
            await app.runner.close()
            with contextlib.suppress(StoreError):
                await mailbox.inbox.take_back_attempts()
            await outbox.close()


async def _wait_until_token_works(bot: PollingBot, contact: Contact, token: TokenWatch) -> None:
    while True:
        contact.pulse.report_step(within=START_SECONDS)
        try:
            with parsing_answer():
                await bot.initialize()
        except TelegramError as error:
            if isinstance(error, InvalidToken) and await token.is_wrong(bot):
                raise _create_wrong_token_error() from error
            await contact.wait_after(error)
        else:
            break
    with contextlib.suppress(StoreError):  # The disk may be full. The next start retries
        await token.store()


def _create_source(
    app: App, bot: PollingBot, receiver: Receiver, contact: Contact, kinds: Sequence[str]
) -> Poller | Webhook:
    url, secret = app.settings.telegram_webhook_url, app.settings.telegram_webhook_secret
    if url is None or secret is None:
        return Poller(bot, receiver.receive, contact, kinds)
    return Webhook(bot, receiver.receive, contact, kinds, app.inbound_routes, str(url), secret.get_secret_value())


async def _warn_if_nobody_may_enter(app: App, access_list: AccessList) -> None:
    if app.settings.telegram_allowed_ids or await access_list.has_members():
        return
    if await access_list.awaits_claim():
        log.info("waiting_to_be_claimed", remedy="open the link that `mneme setup` showed")
    else:
        log.warning("nobody_is_allowed", remedy="run `mneme setup` for a one-time code, or set TELEGRAM_ALLOWED_IDS")


def _create_wrong_token_error() -> ConfigurationError:
    return ConfigurationError("Telegram refuses TELEGRAM_BOT_TOKEN: copy it again from @BotFather.")
