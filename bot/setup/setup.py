"""`mneme setup`: asks for missing settings, tests them, writes `.env`, and shows how to claim the bot.

Settings are written only after a successful test, and related ones together, so that leaving halfway keeps a working
configuration. Questions are asked outside of the event loop, which would swallow Ctrl-C.
"""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Sequence
from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones

import typer
from pydantic import SecretStr
from rich.console import Console
from rich.text import Text

from bot.cli.start import load_settings_with_logging
from bot.feature import Feature
from bot.setup.model import set_up_model
from bot.setup.program import find_program, find_server_bot
from bot.setup.questions import ask_number, ask_secret, can_change_answers, say, write_settings
from config.loading import find_settings_file, load_settings
from config.settings import MemoryScope, Settings, find_system_zone
from memory.access import CODE_LIFETIME, AccessList
from memory.clock import system_clock
from memory.errors import MnemeError
from memory.store.database import Database

_TOKEN = re.compile(r"[0-9]{5,}:[A-Za-z0-9_-]{20,}")


class NotAccepted(MnemeError):
    """Telegram rejected the token."""


class NotReached(MnemeError):
    """Telegram could not be reached."""


def run_setup(features: Sequence[Feature]) -> None:
    """Configure a bot interactively. Raises typer's Abort if the user leaves."""
    load_settings_with_logging(quiet=True)  # Keep the log out of the questions
    env_file = find_settings_file()
    say(f"Each answer is tested before it is saved in {env_file}. Press Ctrl-C to quit; saved answers are kept.")
    if env_file.exists() and can_change_answers():
        say("Enter keeps the present answer.")
    say("")
    bot = _set_up_telegram(env_file)
    calls_tools = set_up_model(env_file, features)
    set_up_time_zone(env_file)
    if bot is not None:
        set_up_people(env_file)
        _set_up_switches(env_file)
    for feature in features:
        if calls_tools or not feature.sets_up_tools:
            feature.set_up(env_file)
    say(f"\nThe settings are in {env_file}." if env_file.exists() else "\nThere was nothing to save.")
    program = find_program(env_file)
    if bot is not None:
        asyncio.run(_show_claim(load_settings(env_file), bot, env_file))
    elif load_settings(env_file).telegram_bot_token is not None:
        say(f"The token was not tested: run `{program} setup` again when Telegram can be reached.")
    else:
        say(f"Start chatting with `{program} chat`.")


def _set_up_telegram(env_file: Path) -> str | None:
    """Configure a token. Return the name of the bot, or None without a token that Telegram has accepted."""
    settings = load_settings(env_file)
    token_before = settings.telegram_bot_token.get_secret_value() if settings.telegram_bot_token else ""
    token = token_before
    while True:
        if not token:
            token = ask_secret("Telegram bot token from @BotFather (not shown; empty: use only the terminal)")
        if not token:
            return None
        try:
            name = asyncio.run(_fetch_bot_name(settings, token))
        except NotReached as error:
            say(str(error))
            if not typer.confirm("Try again?", default=True):
                if token != token_before:
                    _offer_to_save(env_file, token)
                return None
        except NotAccepted as error:
            say(str(error))
            token = ""
        else:
            say(f"Telegram knows the bot as @{name}.")
            token = _accept_token(env_file, token, name, is_new=token != token_before)
            if not token:
                return name


def _accept_token(env_file: Path, token: str, name: str, *, is_new: bool) -> str:
    """Save a new token. Ask for another one in place of a present one, and return it."""
    if is_new:
        write_settings(env_file, TELEGRAM_BOT_TOKEN=token)
    elif can_change_answers():
        return ask_secret(f"Another token (not shown; empty: keep @{name})")
    return ""


def _offer_to_save(env_file: Path, token: str) -> None:
    if typer.confirm("Save the token without a test?", default=True):
        write_settings(env_file, TELEGRAM_BOT_TOKEN=token)


def _set_up_switches(env_file: Path) -> None:
    from bot.setup.switches import set_up_switches  # Loads Telegram's library

    set_up_switches(env_file)


async def _fetch_bot_name(settings: Settings, token: str) -> str:
    from telegram.error import Forbidden, InvalidToken, NetworkError, TelegramError

    from bot.telegram.service import create_bot

    if not _TOKEN.fullmatch(token):
        raise NotAccepted("That isn't a bot token: it has a number, a colon and 35 letters, such as 123456789:AAE...")
    try:
        async with create_bot(settings.model_copy(update={"telegram_bot_token": SecretStr(token)})) as bot:
            return bot.username
    except (InvalidToken, Forbidden) as error:
        raise NotAccepted("Telegram doesn't know this token: copy it again from @BotFather.") from error
    except NetworkError as error:
        raise NotReached(f"Telegram can't be reached ({error}): check the network, or TELEGRAM_PROXY.") from error
    except TelegramError as error:
        raise NotReached(f"Telegram didn't return the bot's name ({error}): try again.") from error


async def _show_claim(settings: Settings, bot: str, env_file: Path) -> None:
    from bot.telegram import CHANNEL

    database = await Database.open(settings.database_file)
    try:
        code = await AccessList(database, CHANNEL, system_clock).new_claim_code()
    finally:
        await database.close()
    link = build_claim_link(bot, code)
    hours = int(CODE_LIFETIME.total_seconds() // 3600)
    server = find_server_bot(env_file)
    unit = "mneme" if server == "mneme" else f"mneme@{server}"
    command = f"{find_program(env_file)} run" if server is None else f"sudo systemctl restart {unit}"
    say(f"Start the bot with `{command}`. To make it yours, open this within {hours} hours:\n")
    typer.echo(f"    {link}\n")  # Not through rich, which would wrap the link
    console = Console()
    picture = render_qr_code(link)
    if console.is_terminal and console.width >= len(picture[0]):
        # With fixed colours, since on a light terminal it would be inverted
        console.print(Text("\n".join(picture), style="bright_white on black"))
    say(f"\nOr send @{bot}: /start {code}")


def build_claim_link(bot: str, code: str) -> str:
    """Return the link that opens a bot (its name without @) in Telegram and sends `/start CODE`."""
    # Telegram accepts codes of up to 64 characters A-Z, a-z, 0-9, `_` and `-`
    return f"https://t.me/{bot}?start={code}"


def render_qr_code(text: str) -> list[str]:
    """Render a QR code as lines of half blocks, with the quiet zone around it that cameras need."""
    import segno

    picture = io.StringIO()
    segno.make_qr(text, error="l").terminal(picture, compact=True)
    return picture.getvalue().splitlines()


MAX_NAMED_ZONES = 8


def set_up_time_zone(env_file: Path) -> None:
    """Ask for the time zone of reminders and dates. The default is the present answer, or else the machine's."""
    settings = load_settings(env_file)
    is_set = "timezone" in settings.model_fields_set
    if is_set and not can_change_answers():
        return
    default = settings.timezone if is_set else find_system_zone() or "UTC"
    while True:
        answer = str(typer.prompt("Your time zone, or a city or country", default=default)).strip()
        zones = [default] if answer == default else _find_zones(answer)
        if len(zones) == 1:
            break
        if zones:
            more = " and more" if len(zones) > MAX_NAMED_ZONES else ""
            say(f"Which one: {', '.join(zones[:MAX_NAMED_ZONES])}{more}?")
        else:
            say("That isn't a place with a time zone: enter a larger city, such as Kyiv, or Europe/Kyiv.")
    write_settings(env_file, TIMEZONE=zones[0])
    say(f"It is {system_clock().astimezone(ZoneInfo(zones[0])):%H:%M} in {zones[0]}.")


def _find_zones(name: str) -> list[str]:
    from bot.commands.settings import find_zones

    return [name] if name in available_timezones() else find_zones(name)


def set_up_people(env_file: Path) -> None:
    """Ask whether one person or a family uses the bot."""
    settings = load_settings(env_file)
    scopes = (MemoryScope.CHAT, MemoryScope.FAMILY)
    is_set = "memory_scope" in settings.model_fields_set
    if is_set and (not can_change_answers() or settings.memory_scope not in scopes):
        return
    say("Who will use the bot?")
    say("  1  Only me.")
    say("  2  My family or a group of friends: everyone has their own memory, and can share single memories.")
    scope = scopes[ask_number("Number", len(scopes), scopes.index(settings.memory_scope) + 1 if is_set else 1) - 1]
    write_settings(env_file, MEMORY_SCOPE=scope.value)
    if scope is MemoryScope.FAMILY and settings.memory_scope is not scope:
        say("Claim the bot first. When the others write to it, it asks you whether to let them in.")
