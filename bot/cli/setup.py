"""`mneme setup`: asks for what is missing, checks it live, writes `.env`, shows the one-time claim code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from dotenv import dotenv_values, set_key, unset_key

from bot.app import endpoint_of
from bot.cli.start import DATABASE_NAME
from config.models import load_catalogue
from config.settings import ConfigurationError, Settings, load_settings, settings_file
from memory.clock import system_clock
from memory.custody.access import CODE_LIFETIME, AccessList
from memory.errors import MnemeError
from memory.messages import Message, Role
from memory.store.database import Database
from pipeline.endpoint.openai_model import Endpoint, OpenAIModel
from pipeline.models.model import ModelError, ModelRequest

if TYPE_CHECKING:
    from pathlib import Path

CHECK_TOKENS = 16
"""How long the answer of a model may get that is only to show that it answers."""


class NotAccepted(MnemeError):
    """Telegram does not know the token, or can't be asked."""


async def run_setup() -> None:
    """Lead a person to a bot that runs. Answers are kept in the settings' file as soon as they have been checked."""
    env_file = settings_file()
    await _telegram(env_file)
    await _model(env_file)
    settings = load_settings(env_file)
    typer.echo(f"\nThe settings are in {env_file}.")
    if settings.telegram_bot_token is not None:
        await _show_code(settings)


async def _telegram(env_file: Path) -> None:
    """Have a token that Telegram accepts, or none."""
    while True:
        settings = load_settings(env_file)
        if settings.telegram_bot_token is None:
            token = typer.prompt("Telegram bot token from @BotFather (empty: only the console)", default="")
            if not token.strip():
                return
            _keep(env_file, TELEGRAM_BOT_TOKEN=token.strip())
            continue
        try:
            typer.echo(f"Telegram knows the bot as @{await _bot_name(settings)}.")
        except (NotAccepted, ConfigurationError) as error:
            typer.echo(f"{error}")
            if not typer.confirm("Enter another token?", default=True):
                return
            _keep(env_file, TELEGRAM_BOT_TOKEN="")
        else:
            return


async def _bot_name(settings: Settings) -> str:
    from telegram.error import TelegramError

    from bot.telegram.service import telegram_bot

    try:
        async with telegram_bot(settings) as bot:
            return bot.username
    except TelegramError as error:
        raise NotAccepted(f"Telegram does not accept this ({error}): check the token and the network.") from error


async def _model(env_file: Path) -> None:
    """Have a model that answers: an endpoint's, or the embedded one."""
    while True:
        settings = load_settings(env_file)
        if not settings.has_endpoint:
            typer.echo("\nA model: any OpenAI-compatible endpoint, or the embedded one, which needs no key.")
            url = typer.prompt("Base URL (empty: the embedded model; 'openai': OpenAI's own)", default="").strip()
            if not url:
                typer.echo("The embedded model it is: `mneme model pull` fetches it.")
                return
            key = typer.prompt("API key (empty: none)", default="", hide_input=True).strip()
            name = typer.prompt("Model name").strip()
            _keep(
                env_file,
                OPENAI_BASE_URL="" if url == "openai" else url,
                OPENAI_API_KEY=key or "none",
                LLM_MODEL=name,
            )
            continue
        try:
            await _ask_model(settings)
            typer.echo(f"The model {settings.llm_model} answers.")
        except ModelError as error:
            typer.echo(f"{error}")
            if not typer.confirm("Enter another model?", default=True):
                return
            _keep(env_file, OPENAI_BASE_URL="", OPENAI_API_KEY="", LLM_MODEL="")
        else:
            return


async def _ask_model(settings: Settings) -> None:
    async def connect() -> Endpoint:
        return endpoint_of(settings)

    name = settings.llm_model or ""
    model = OpenAIModel(name, load_catalogue().window(name), connect, timeout=settings.llm_timeout)
    hello = Message(Role.USER, "Say hello.", system_clock())
    try:
        await model.complete(ModelRequest([hello], max_output_tokens=CHECK_TOKENS))
    finally:
        await model.close()


async def _show_code(settings: Settings) -> None:
    from bot.telegram.updates import CHANNEL

    database = await Database.open(settings.mneme_data_dir / DATABASE_NAME)
    try:
        code = await AccessList(database, CHANNEL, system_clock).new_claim_code()
    finally:
        await database.close()
    hours = int(CODE_LIFETIME.total_seconds() // 3600)
    typer.echo(f"\nStart the bot with `mneme run`, then send it this within {hours} hours to make it yours:")
    typer.echo(f"\n    /start {code}\n")


def _keep(env_file: Path, **values: str) -> None:
    """Write settings into `env_file`, which only its owner may read; an empty value removes the setting."""
    env_file.touch(mode=0o600)
    present = dotenv_values(env_file)
    for name, value in values.items():
        if value:
            set_key(env_file, name, value)
        elif name in present:
            unset_key(env_file, name)
    env_file.chmod(0o600)
