"""Checks of services: Telegram (and with it the clock) and models."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Collection
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from telegram.error import Forbidden, InvalidToken, TelegramError

from bot.doctor.finding import (
    DoctorContext,
    Finding,
    create_failed,
    create_failed_from_error,
    create_note,
    create_ok,
    create_warning,
    split_remedy,
)
from bot.models import NO_MODEL, describe_uncounted_cost, find_endpoint_and_model
from bot.telegram.service import create_bot
from config.errors import ConfigurationError
from config.models import ModelCatalogue, load_catalogue
from config.settings import Settings
from memory.clock import Clock
from memory.errors import StoreError
from memory.runtime.endpoints import EndpointStore
from memory.store.database import Database
from pipeline.models.capabilities import EndpointCapabilities, Part
from pipeline.models.chat_completions import parse_tool_name
from pipeline.models.model import ModelError
from pipeline.models.probe import ProbeResult, Trial, probe

if TYPE_CHECKING:
    import httpx
    from telegram import WebhookInfo
    from telegram.ext import ExtBot

TELEGRAM_TIMEOUT_SECONDS = 10.0
MAX_CLOCK_OFFSET_SECONDS = 60
"""Maximum difference of this machine's clock. A minute already affects dates and times."""
NO_TOKEN = "Run `mneme setup` to connect the bot to Telegram."  # noqa: S105  # a sentence
WRONG_TOKEN = "Copy TELEGRAM_BOT_TOKEN again from @BotFather, or run `mneme setup`."  # noqa: S105  # a sentence
UNREACHABLE = "Check this machine's network, TELEGRAM_PROXY and TELEGRAM_API_URL."
TAKE_BACK = (
    "Restart the bot, which removes the webhook. If it comes back, another program uses this token: "
    "revoke it with @BotFather."
)
START_IT = "Start the bot, which sets the webhook."
TAKE_IT = (
    "Restart the bot, which sets its webhook. If it is lost again, another program uses this token: "
    "revoke it with @BotFather."
)
LET_IN = "Forward TELEGRAM_WEBHOOK_URL in the web server to 127.0.0.1 at METRICS_PORT, and start the bot."
SET_CLOCK = "Set the clock; on a server, run `timedatectl set-ntp true`."

BUSY_TIMEOUT_SECONDS = 0.5
"""Timeout for another process that writes. After that the findings are not stored for the bot."""
MODEL_TIMEOUT_SECONDS = 60.0
"""Timeout for a model's first answer. Local models have to be loaded first."""
MIN_WINDOW_TOKENS = 8192
"""Minimum context window. In a smaller one, prompt, tools and memories leave little room for the conversation."""
STREAMLESS = "Use a server that streams chat completions, or upgrade it."
NO_TOOLS = "Set LLM_MODEL to a model with tools: without them it changes the memory only after conversations."
LARGER_WINDOW = "Load the model with a larger context in its server; in Ollama, set OLLAMA_CONTEXT_LENGTH."
CHOOSE_ANOTHER = "Try again later, or choose another model with `mneme setup`."


class _ClockCheck:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.ahead: float | None = None

    async def read(self, response: httpx.Response) -> None:
        try:
            moment = parsedate_to_datetime(response.headers["date"])
        except (KeyError, ValueError):
            return
        self.ahead = (self._clock() - moment).total_seconds()

    def finding(self) -> Finding:
        if self.ahead is None:
            return create_note("clock", "Not checked, because no server answered")
        off = f"It is {abs(self.ahead):.0f} seconds {'ahead' if self.ahead > 0 else 'behind'}"
        if abs(self.ahead) > MAX_CLOCK_OFFSET_SECONDS:
            return create_warning("clock", off, SET_CLOCK)
        return create_ok("clock", off)


async def check_telegram(context: DoctorContext) -> list[Finding]:
    if context.settings.telegram_bot_token is None:
        return [create_note("token", "There is no token, so the bot works only in the terminal", NO_TOKEN)]
    watch = _ClockCheck(context.clock)
    try:
        bot = create_bot(context.settings, timeout=TELEGRAM_TIMEOUT_SECONDS, on_response=watch.read)
        async with bot:
            findings = [
                create_ok("token", f"Telegram knows the bot as @{bot.username}"),
                await _webhook(bot, context.settings),
            ]
    except (InvalidToken, Forbidden):
        findings = [create_failed("token", "Telegram rejects TELEGRAM_BOT_TOKEN", WRONG_TOKEN)]
    except ConfigurationError as error:
        findings = [create_failed_from_error("token", error)]
    except TelegramError as error:
        findings = [create_failed("token", f"Telegram can't be reached ({error.message})", UNREACHABLE)]
    return [*findings, watch.finding()]


async def _webhook(bot: ExtBot[int], settings: Settings) -> Finding:
    info = await bot.get_webhook_info()
    if settings.telegram_webhook_url is not None:
        return _configured_webhook(info, str(settings.telegram_webhook_url))
    if info.url:
        return create_failed(
            "webhook", f"Telegram sends the bot's messages to {_host(info.url)} and refuses polling", TAKE_BACK
        )
    waiting = f"; {info.pending_update_count} messages are waiting" if info.pending_update_count else ""
    return create_ok("webhook", f"There is no webhook, so polling works{waiting}")


def _configured_webhook(info: WebhookInfo, url: str) -> Finding:
    host = _host(url)
    if not info.url:
        return create_warning("webhook", f"Telegram doesn't send anything to {host} yet", START_IT)
    if info.url != url:
        target = "another path there" if _host(info.url) == host else _host(info.url)
        return create_failed(
            "webhook", f"Telegram sends the bot's messages to {target}, not to TELEGRAM_WEBHOOK_URL", TAKE_IT
        )
    waiting = info.pending_update_count
    if waiting and info.last_error_message:
        text = f"Telegram can't send to {host} ({info.last_error_message}); {waiting} messages are waiting"
        return create_failed("webhook", text, LET_IN)
    return create_ok("webhook", f"Telegram sends the bot's messages to {host}")


def _host(url: str) -> str:
    """Return only the host, since paths often contain secrets."""
    return urlsplit(url).hostname or "another address"


async def check_models(context: DoctorContext) -> list[Finding]:
    settings, catalogue = context.settings, load_catalogue()
    if not settings.has_endpoint:
        return [create_failed_from_error("model", ConfigurationError(NO_MODEL))]
    parts = {
        "model": settings.llm_model,
        "fast model": settings.llm_fast_model,
        "fallback model": settings.llm_fallback_model,
        **{f"model {name}": name for name in settings.llm_models},
    }
    named: dict[str, str] = {}
    for part, name in parts.items():
        # A model with several roles is tested once
        if name is not None and name not in named.values():
            named[part] = name
    async with _endpoint_store(context) as store:
        groups = [await _check_endpoint(context, part, name, catalogue, store) for part, name in named.items()]
    findings = [finding for findings in groups for finding in findings]
    if (trouble := describe_uncounted_cost(settings, catalogue)) is not None:
        findings.append(create_warning("cost limit", *split_remedy(trouble)))
    return findings


@contextlib.asynccontextmanager
async def _endpoint_store(context: DoctorContext) -> AsyncIterator[EndpointStore | None]:
    """Open the store of findings about endpoints. Yield None if the database is not usable."""
    opened = None
    if context.state.is_usable:
        with contextlib.suppress(StoreError):  # For example, the disk is full, which is another finding
            opened = await Database.open(context.database, busy_timeout=BUSY_TIMEOUT_SECONDS)
    try:
        yield EndpointStore(opened, context.clock) if opened is not None else None
    finally:
        if opened is not None:
            await opened.close()


async def _check_endpoint(
    context: DoctorContext, part: str, name: str, catalogue: ModelCatalogue, store: EndpointStore | None
) -> list[Finding]:
    settings = context.settings
    endpoint, served_name = find_endpoint_and_model(settings, name)
    window = catalogue.get_window(served_name)
    patience = min(settings.llm_timeout, MODEL_TIMEOUT_SECONDS)
    asks = settings.llm_context_tokens is None
    # Before the probe, which deletes these findings to test them again
    known = EndpointCapabilities(served_name, store)
    await known.load_facts(endpoint)
    tools = [parse_tool_name(key) for key in known.adjustments.bad_tools]
    try:
        probed = await probe(endpoint, served_name, window, patience, store, asks=asks)
    except ModelError as error:
        finding = create_failed_from_error(part, error)
        # A remedy with a chat command is no help in a shell
        return [create_failed(part, finding.found, CHOOSE_ANOTHER) if "/" in finding.remedy else finding]
    judged = _report_model(part, name, probed, settings.llm_context_tokens, tools)
    return [judged, *(_report_trial(part, trial) for trial in probed.trials)]


def _report_trial(part: str, trial: Trial) -> Finding:
    found = str(trial).partition(": ")[2]
    return create_ok(f"{part}: {trial.name}", found) if trial.works else create_note(f"{part}: {trial.name}", found)


def _report_model(
    part: str, name: str, probed: ProbeResult, configured: int | None, refused_tools: Collection[str]
) -> Finding:
    tokens = configured or probed.window.max_input_tokens
    source = (
        "as configured"
        if configured
        else "according to the server"
        if probed.has_stated_window
        else "judging by its name"
    )
    text = f"{name} answers in {probed.seconds:.1f} s and reads {tokens:,} tokens, {source}"
    refused = sorted(probed.refused - {Part.SECOND_LOOK})
    if refused:
        text += f"; it rejects {', '.join(refused)}"
    if refused_tools:
        text += f"; its server rejects the tools {', '.join(sorted(refused_tools))}, which are left out"
    if Part.SECOND_LOOK in probed.refused:
        text += "; it can't verify facts well, so the bot remembers only your own sentences"
    if not probed.streams:
        return create_failed(part, f"{name} does not stream its answers", STREAMLESS)
    if Part.TOOLS in probed.refused:
        return create_warning(part, text, NO_TOOLS)
    if tokens < MIN_WINDOW_TOKENS:
        return create_warning(part, text, LARGER_WINDOW)
    return create_ok(part, text)
