"""Checks of Telegram: the token, the webhook that is meant or was left over, and by Telegram's clock this machine's."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from telegram.error import Forbidden, InvalidToken, TelegramError

from bot.doctor.finding import Finding, failed, failed_as_said, note, ok, warning
from bot.telegram.service import telegram_bot
from config.errors import ConfigurationError

if TYPE_CHECKING:
    import httpx
    from telegram import WebhookInfo
    from telegram.ext import ExtBot

    from bot.doctor.finding import DoctorContext
    from config.settings import Settings
    from memory.clock import Clock

PATIENCE = 10.0
"""Seconds to wait for Telegram."""
CLOCK_SECONDS = 60
"""How far this machine's clock may be off: a minute shows in what is said of days and times."""
NO_TOKEN = "Run `mneme setup` to have the bot in Telegram."  # noqa: S105  # a sentence
WRONG_TOKEN = "Copy TELEGRAM_BOT_TOKEN again from @BotFather, or run `mneme setup`."  # noqa: S105  # a sentence
UNREACHABLE = "Check this machine's network, TELEGRAM_PROXY and TELEGRAM_API_URL."
TAKE_BACK = (
    "Restart the bot, whose start removes the webhook; if it comes back, another program uses this token: "
    "have @BotFather revoke it."
)
START_IT = "Start the bot, whose start sets the webhook."
TAKE_IT = (
    "Restart the bot, whose start sets its webhook; if it is lost again, another program uses this token: "
    "have @BotFather revoke it."
)
LET_IN = "Have the web server in front pass TELEGRAM_WEBHOOK_URL on to 127.0.0.1 at METRICS_PORT, and start the bot."
SET_CLOCK = "Set the clock, on a server with `timedatectl set-ntp true`."


class _Watch:
    """Reads the time in answers that come anyway."""

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
            return note("clock", "Nothing answered that could tell the time")
        off = f"It is {abs(self.ahead):.0f} seconds {'ahead' if self.ahead > 0 else 'behind'}"
        if abs(self.ahead) > CLOCK_SECONDS:
            return warning("clock", off, SET_CLOCK)
        return ok("clock", off)


async def telegram(patient: DoctorContext) -> list[Finding]:
    """Whether Telegram knows the bot and sends it its messages."""
    if patient.settings.telegram_bot_token is None:
        return [note("token", "There is none, so the bot can be had at the terminal only", NO_TOKEN)]
    watch = _Watch(patient.clock)
    try:
        bot = telegram_bot(patient.settings, patience=PATIENCE, on_response=watch.read)
        async with bot:  # introduces itself, so that its name is known
            findings = [
                ok("token", f"Telegram knows the bot as @{bot.username}"),
                await _webhook(bot, patient.settings),
            ]
    except (InvalidToken, Forbidden):
        findings = [failed("token", "Telegram refuses TELEGRAM_BOT_TOKEN", WRONG_TOKEN)]
    except ConfigurationError as error:
        findings = [failed_as_said("token", error)]
    except TelegramError as error:
        findings = [failed("token", f"Telegram can't be reached ({error.message})", UNREACHABLE)]
    return [*findings, watch.finding()]


async def _webhook(bot: ExtBot[int], settings: Settings) -> Finding:
    info = await bot.get_webhook_info()
    if settings.telegram_webhook_url is not None:
        return _meant_webhook(info, str(settings.telegram_webhook_url))
    if info.url:
        return failed(
            "webhook", f"Telegram sends the bot's messages to {_host(info.url)} and refuses polling", TAKE_BACK
        )
    waiting = f"; {info.pending_update_count} messages wait to be fetched" if info.pending_update_count else ""
    return ok("webhook", f"There is none, so polling works{waiting}")


def _meant_webhook(info: WebhookInfo, url: str) -> Finding:
    host = _host(url)
    if not info.url:
        return warning("webhook", f"Telegram sends nothing to {host} yet", START_IT)
    if info.url != url:
        there = "another path there" if _host(info.url) == host else _host(info.url)
        return failed("webhook", f"Telegram sends the bot's messages to {there}, not to TELEGRAM_WEBHOOK_URL", TAKE_IT)
    waiting = info.pending_update_count
    if waiting and info.last_error_message:
        text = f"Telegram can't send to {host} ({info.last_error_message}); {waiting} messages wait"
        return failed("webhook", text, LET_IN)
    return ok("webhook", f"Telegram sends the bot's messages to {host}")


def _host(url: str) -> str:
    """The host alone: a path often holds a secret."""
    return urlsplit(url).hostname or "another address"
