"""`mneme setup`: asks for missing settings, tests them, writes `.env`, and shows how to claim the bot.

Settings are written only after a successful test, and related ones together, so that leaving halfway keeps a working
configuration. Questions are asked outside of the event loop, which would swallow Ctrl-C.
"""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import typer
from pydantic import SecretStr
from rich.console import Console
from rich.text import Text

from bot.cli.start import load_settings_with_logging
from bot.feature import Feature
from bot.local_choice import get_memory_bytes
from bot.models import describe_uncounted_cost, find_endpoint_and_model
from bot.setup.questions import ask_number, ask_one_of, ask_secret, ask_url, say, write_settings
from config.models import LocalModel, load_catalogue
from config.settings import Settings, find_settings_file, load_settings
from memory.access import CODE_LIFETIME, AccessList
from memory.clock import system_clock
from memory.errors import MnemeError, StoreError
from memory.runtime.endpoints import EndpointStore
from memory.store.database import Database
from pipeline.local.local_servers import NO_KEY, USUAL_PORTS, LocalServer, find_local_servers
from pipeline.models.endpoint import Endpoint
from pipeline.models.model import ModelError
from pipeline.models.probe import ProbeResult, list_models, probe

MAX_UNMEASURED_MODELS = 3
MAX_NAMED_MODELS = 3


ChosenEndpoint = tuple[Endpoint, str]


def set_up_model(env_file: Path, ports: Mapping[str, int] = USUAL_PORTS) -> None:
    """Configure a model, hosted or embedded. It is saved only after it has answered."""
    _choose_model(env_file, ports)
    if (trouble := describe_uncounted_cost(load_settings(env_file), load_catalogue())) is not None:
        say(trouble)


def _choose_model(env_file: Path, ports: Mapping[str, int]) -> None:
    settings = load_settings(env_file)
    if settings.has_endpoint:
        if _check_model(find_endpoint_and_model(settings, settings.llm_model or ""), settings):
            return
        if not typer.confirm("Choose another model?", default=True):
            return
    servers = [server for server in asyncio.run(find_local_servers(ports)) if server.models]
    while True:
        chosen = _choose(servers, settings)
        if isinstance(chosen, LocalModel):
            is_default = chosen.name == load_catalogue().default_local
            if settings.has_endpoint or chosen.name != (settings.llm_model or load_catalogue().default_local):
                name = "" if is_default else chosen.name
                write_settings(env_file, OPENAI_BASE_URL="", OPENAI_API_KEY="", LLM_MODEL=name)
            say(f"{chosen.name} was chosen: download it with `mneme model pull {chosen.name}`.")
            return
        if _check_model(chosen, settings):
            endpoint, model = chosen
            url = endpoint.base_url or ""
            write_settings(env_file, OPENAI_BASE_URL=url, OPENAI_API_KEY=endpoint.api_key, LLM_MODEL=model)
            return


def _choose(servers: list[LocalServer], settings: Settings) -> ChosenEndpoint | LocalModel:
    fitting = load_catalogue().list_fitting(get_memory_bytes())
    embedded = [model for model in fitting if model.is_measured]
    embedded += [model for model in fitting if not model.is_measured][:MAX_UNMEASURED_MODELS]
    lines = [
        f"{server.name} on this machine ({server.summarize(MAX_NAMED_MODELS)}): "
        "free and private; quality and memory depend on its model."
        for server in servers
    ]
    lines += [
        "A service or another server, by address: the best answers, no memory here; a service costs and reads all.",
    ]
    lines += [
        f"The embedded model {local.name}, {_describe_quality(local)}, free and private;"
        f" {local.size_bytes / 1e9:.1f} GB to download, {local.resident_bytes / 1e9:.1f} GB of memory."
        for local in embedded
    ]
    say("\nWhich model should answer? For real use, choose a hosted or a larger one.")
    if not embedded:
        say(f"This machine has {get_memory_bytes() / 1e9:.1f} GB of memory: too little for an embedded model.")
    for number, line in enumerate(lines, 1):
        say(f"  {number}  {line}")
    number = ask_number("Number", len(lines))
    if number <= len(servers):
        server = servers[number - 1]
        return Endpoint(server.base_url, NO_KEY), ask_one_of("Model", list(server.models))
    if number == len(servers) + 1:
        return _ask_endpoint()
    return embedded[number - len(servers) - 2]


def _describe_quality(local: LocalModel) -> str:
    return f"to try it out: {local.quality} answers" if local.is_measured else f"{local.quality}, from the hub"


def _ask_endpoint() -> ChosenEndpoint:
    url = ask_url("Base URL, such as localhost:1234 (empty: OpenAI)") or None
    key = ask_secret("API key (not shown; empty: none)" if url else "OpenAI API key (not shown)")
    while not key and url is None:
        key = ask_secret("OpenAI needs a key: OpenAI API key (not shown)")
    endpoint = Endpoint(url, key or NO_KEY)
    names = asyncio.run(list_models(endpoint))
    if not names and url is not None and not urlsplit(url).path:
        # Most servers have their API under /v1, which users often omit
        below = Endpoint(f"{url}/v1", endpoint.api_key)
        names = asyncio.run(list_models(below))
        endpoint = below if names else endpoint
    if names:
        say(f"Models at {endpoint.address if endpoint.base_url else 'OpenAI'}:")
    return endpoint, ask_one_of("Model", names or [])


def _check_model(chosen: ChosenEndpoint, settings: Settings) -> bool:
    """Test a model and print what works, or why it doesn't. Return True if it answers."""
    endpoint, model = chosen

    async def check() -> ProbeResult:
        database = await Database.open(settings.database_file)
        try:
            store, asks = EndpointStore(database, system_clock), settings.llm_context_tokens is None
            assumed = load_catalogue().get_window(model)
            return await probe(endpoint, model, assumed, settings.llm_timeout, store, asks=asks)
        finally:
            await database.close()

    try:
        probed = asyncio.run(check())
    except (ModelError, StoreError) as error:
        say(str(error))
        return False
    say(f"The model {model} answers; it reads {probed.window.max_input_tokens:,} tokens.")
    for trial in probed.trials:
        say(f"    {trial}")
    return True


# The settings file of a bot installed by deploy/install.sh, which contains the bot's name.
_SERVER = re.compile(r"/etc/mneme/([a-z][a-z0-9-]*)\.env")
_TOKEN = re.compile(r"[0-9]{5,}:[A-Za-z0-9_-]{20,}")


class NotAccepted(MnemeError):
    """Telegram rejected the token."""


class NotReached(MnemeError):
    """Telegram could not be reached."""


def run_setup(features: Iterable[Feature]) -> None:
    """Configure a bot interactively. Raises typer's Abort if the user leaves."""
    load_settings_with_logging(quiet=True)  # Keep the log out of the questions
    env_file = find_settings_file()
    say(f"Each answer is tested before it is saved in {env_file}. Press Ctrl-C to quit; saved answers are kept.\n")
    bot = _set_up_telegram(env_file)
    set_up_model(env_file)
    for feature in features:
        feature.set_up(env_file)
    say(f"\nThe settings are in {env_file}." if env_file.exists() else "\nThere was nothing to save.")
    if bot is None:
        server = _find_bot_on_server(env_file)
        command = "mneme chat" if server is None else f"sudo mneme {'' if server == 'mneme' else f'@{server} '}chat"
        say(f"Start chatting with `{command}`.")
    else:
        asyncio.run(_show_claim(load_settings(env_file), bot, _find_bot_on_server(env_file)))


def _set_up_telegram(env_file: Path) -> str | None:
    """Configure a token that Telegram accepts. Return the bot's name, or None if the user wants only the console."""
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
                return None
        except NotAccepted as error:
            say(str(error))
            token = ""
        else:
            if token != token_before:
                write_settings(env_file, TELEGRAM_BOT_TOKEN=token)
            say(f"Telegram knows the bot as @{name}.")
            return name


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


def _find_bot_on_server(env_file: Path) -> str | None:
    """Return the name of a bot that was installed on a server, or None in a checkout."""
    server = _SERVER.fullmatch(str(env_file))
    return server[1] if server is not None else None


async def _show_claim(settings: Settings, bot: str, server: str | None) -> None:
    from bot.telegram import CHANNEL

    database = await Database.open(settings.database_file)
    try:
        code = await AccessList(database, CHANNEL, system_clock).new_claim_code()
    finally:
        await database.close()
    link = build_claim_link(bot, code)
    hours = int(CODE_LIFETIME.total_seconds() // 3600)
    unit = "mneme" if server == "mneme" else f"mneme@{server}"
    command = "mneme run" if server is None else f"sudo systemctl restart {unit}"
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
