"""`mneme setup`: asks for what is missing, checks it live, writes `.env`, shows how to claim the bot.

Nothing is written before it has been checked, and what belongs together is written at once: whoever leaves halfway
has settings that work. Questions are asked outside of the event loop, or Ctrl-C would not end them.
"""

from __future__ import annotations

import asyncio
import io
import re
import sys
from typing import TYPE_CHECKING

import typer
from pydantic import SecretStr
from rich.console import Console
from rich.text import Text

from bot.cli.mcp import add_server, how_to_try, what_is_missing
from bot.cli.start import settings_with_logging
from bot.setup.questions import ask_secret, say, write_settings
from bot.setup.setup_model import set_up_model
from config.settings import Settings, load_settings, settings_file
from memory.access import CODE_LIFETIME, AccessList
from memory.clock import system_clock
from memory.errors import MnemeError
from memory.store.database import Database
from pipeline.tools.mcp.config import PRESETS, read_config

if TYPE_CHECKING:
    from pathlib import Path

OFFERED = ("search", "pages")
"""The presets of tools that need nothing more to be known."""
# The file with the settings of a bot that deploy/install.sh has installed, by the bot's name.
_SERVER = re.compile(r"/etc/mneme/([a-z][a-z0-9-]*)\.env")
_TOKEN = re.compile(r"[0-9]{5,}:[A-Za-z0-9_-]{20,}")


class NotAccepted(MnemeError):
    """Telegram does not know the token."""


class NotReached(MnemeError):
    """Telegram can't be asked."""


def run_setup() -> None:
    """Lead a person to a bot that runs. Raises typer's Abort where they leave."""
    settings_with_logging(quiet=True)  # the log stays out of the questions
    env_file = settings_file()
    say(f"Each answer is checked before it is kept in {env_file}. Ctrl-C leaves; what was kept stays.\n")
    bot = _telegram(env_file)
    set_up_model(env_file)
    _tools(env_file)
    say(f"\nThe settings are in {env_file}." if env_file.exists() else "\nNothing had to be kept.")
    if bot is None:
        server = _bot_on_server(env_file)
        command = "mneme chat" if server is None else f"sudo mneme {'' if server == 'mneme' else f'@{server} '}chat"
        say(f"Talk with `{command}`.")
    else:
        asyncio.run(_show_claim(load_settings(env_file), bot, _bot_on_server(env_file)))


def _tools(env_file: Path) -> None:
    """Offer the servers of tools that need no key, once: whoever has any knows where they are."""
    settings = load_settings(env_file)
    path = settings.mcp_file
    # the embedded model has its hands full with the tools of memory
    if not settings.has_endpoint or not sys.stdin.isatty() or not read_config(path).is_empty:
        return
    say("The model may have tools: " + ", ".join(f"{name} to {PRESETS[name].wish}" for name in OFFERED) + ".")
    while True:
        name = str(typer.prompt("Tool (empty: none)", default="", show_default=False)).strip()
        if not name:
            return
        if name in OFFERED:
            add_server(path, name, PRESETS[name].entry(()))
            say(" ".join([f"{name} is in {path}.", *what_is_missing(PRESETS[name]), how_to_try(name)]))
            return
        say(f"{' or '.join(OFFERED)} is needed, or nothing.")


def _telegram(env_file: Path) -> str | None:
    """Have a token that Telegram accepts; the bot's name. None without one: then there is the console."""
    settings = load_settings(env_file)
    token_before = settings.telegram_bot_token.get_secret_value() if settings.telegram_bot_token else ""
    token = token_before
    while True:
        if not token:
            token = ask_secret("Telegram bot token from @BotFather (not shown; empty: only the console)")
        if not token:
            return None
        try:
            name = asyncio.run(_bot_name(settings, token))
        except NotReached as error:
            say(str(error))
            if not typer.confirm("Try again?", default=True):
                return None
        except NotAccepted as error:
            say(str(error))
            token = ""
        else:
            if token != token_before:
                write_settings(env_file, TELEGRAM_BOT_TOKEN=token)
            say(f"Telegram knows the bot as @{name}.")
            return name


async def _bot_name(settings: Settings, token: str) -> str:
    from telegram.error import Forbidden, InvalidToken, NetworkError, TelegramError

    from bot.telegram.service import telegram_bot

    if not _TOKEN.fullmatch(token):
        raise NotAccepted("That is no bot token: it is a number, a colon and 35 letters, such as 123456789:AAE...")
    try:
        async with telegram_bot(settings.model_copy(update={"telegram_bot_token": SecretStr(token)})) as bot:
            return bot.username
    except (InvalidToken, Forbidden) as error:
        raise NotAccepted("Telegram does not know this token: copy it again from @BotFather.") from error
    except NetworkError as error:
        raise NotReached(f"Telegram can't be reached ({error}): check the network, or TELEGRAM_PROXY.") from error
    except TelegramError as error:
        raise NotReached(f"Telegram does not say who the bot is ({error}).") from error


def _bot_on_server(env_file: Path) -> str | None:
    """The name of the bot that is set up on a server; None at a checkout."""
    server = _SERVER.fullmatch(str(env_file))
    return server[1] if server is not None else None


async def _show_claim(settings: Settings, bot: str, server: str | None) -> None:
    from bot.telegram import CHANNEL

    database = await Database.open(settings.database_file)
    try:
        code = await AccessList(database, CHANNEL, system_clock).new_claim_code()
    finally:
        await database.close()
    link = claim_link(bot, code)
    hours = int(CODE_LIFETIME.total_seconds() // 3600)
    unit = "mneme" if server == "mneme" else f"mneme@{server}"
    command = "mneme run" if server is None else f"sudo systemctl restart {unit}"
    say(f"Start the bot with `{command}`. To make it yours, open this within {hours} hours:\n")
    typer.echo(f"    {link}\n")  # a link must not be broken
    console = Console()
    picture = qr_code(link)
    if console.is_terminal and console.width >= len(picture[0]):
        # its own colours: on a light terminal it would otherwise be a negative
        console.print(Text("\n".join(picture), style="bright_white on black"))
    say(f"\nOr send @{bot}: /start {code}")


def claim_link(bot: str, code: str) -> str:
    """Where Telegram opens `bot` (its name without @) and sends it `/start CODE`.

    Of a code Telegram takes up to 64 of the characters A-Z, a-z, 0-9, `_` and `-`.
    """
    return f"https://t.me/{bot}?start={code}"


def qr_code(text: str) -> list[str]:
    """`text` as a QR code, in lines of half blocks with the quiet zone that cameras need around it."""
    import segno

    picture = io.StringIO()
    segno.make_qr(text, error="l").terminal(picture, compact=True)
    return picture.getvalue().splitlines()
