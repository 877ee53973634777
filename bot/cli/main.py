"""The command line. Exit status: 0 for success, 1 if the work failed, 2 for wrong use or configuration."""

from __future__ import annotations

import asyncio
import errno
import importlib.util
import os
import pkgutil
import signal
import sys
from typing import TYPE_CHECKING, Annotated

import typer

import bot.features
from bot.cli.features_cli import features
from bot.cli.help import use_plain_help
from bot.cli.memory_cli import export_memory, import_memory, memory_cli, recall
from bot.cli.panels import MEMORY, TALK, UPKEEP
from bot.cli.start import import_telegram, load_settings_with_logging
from bot.cli.upkeep_cli import backup, doctor, members_cli, migrate, reindex, restore
from config.errors import ConfigurationError
from config.process import get_program_version, raise_handle_limit, return_freed_memory
from memory.errors import MnemeError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from config.settings import Settings

cli = typer.Typer(
    name="mneme",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
SWITCH_INTERVAL_SECONDS = 0.0002
"""Interval at which Python threads take turns, see `sys.setswitchinterval`.

A turn waits for other threads some hundred times. While a hostile file was read, answers took at most 0.86 s with it
(0.28 s in the median), and 1.99 s (0.49 s) with 0.001, on two cores.
"""
EXAMPLES = """\
Examples:

mneme chat -m "What did I say about the gate?"

mneme recall "gate code"

mneme setup"""


def _version(show: bool) -> None:
    if show:
        typer.echo(f"mneme {get_program_version()}")
        raise typer.Exit


@cli.callback(epilog=EXAMPLES)
def _mneme(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """A self-hosted Telegram bot that remembers."""


def main() -> None:
    """Run the command line. Expected failures print one sentence on standard error."""
    try:
        _require_text(sys.argv[1:])
        cli()
    except ConfigurationError as error:
        _fail(error, 2)
    except MnemeError as error:
        _fail(error, 1)
    except OSError as error:
        if error.filename is None:
            raise
        if error.errno == errno.ENAMETOOLONG:
            _fail(ConfigurationError(f"{str(error.filename)[:40]}... is too long for a file name."), 2)
        _fail(StoreError(f"{error.filename}: {error.strerror}."), 1)
    except KeyboardInterrupt:
        # 128 + SIGINT, the convention of shells
        raise SystemExit(130) from None


def _require_text(arguments: list[str]) -> None:
    """Raise ConfigurationError for an argument that is not valid UTF-8. Messages to chat are repaired instead."""
    for argument in arguments if arguments[:1] != ["chat"] else ():
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise ConfigurationError(f"{argument[:40]!r} is not valid UTF-8: correct it.") from None


def _describe_settings_file() -> str:
    from config.loading import find_settings_file

    file = find_settings_file()
    return f" in {file.absolute()}" if file.exists() else f", and there is no {file.absolute()}"


def _fail(error: Exception, status: int) -> None:
    for line in str(error).splitlines() or [""]:
        print(f"mneme: {line}", file=sys.stderr)  # noqa: T201  # This is the command line's output
    raise SystemExit(status) from error


@cli.command(rich_help_panel=TALK)
def chat(
    message: Annotated[
        str | None, typer.Option("-m", "--message", metavar="TEXT", help="Answer this one message and exit.")
    ] = None,
    session: Annotated[str, typer.Option(metavar="NAME", help="The chat to continue.")] = "local",
) -> None:
    """Chat in the terminal. Works without a Telegram token and, with the embedded model, without an API key."""
    settings = load_settings_with_logging(quiet=True)
    if message is None and sys.stdin.isatty():
        from bot.features.registry import installed_features

        if any(feature.prepare_chat(settings) for feature in installed_features()):
            settings = load_settings_with_logging(quiet=True)
    raise SystemExit(asyncio.run(_chat(settings, session, message)))


async def _chat(settings: Settings, session: str, message: str | None) -> int:
    from bot.app import open_app
    from bot.console.address import create_console_address
    from bot.console.console import chat_once, chat_pipe

    address = create_console_address(session)
    async with open_app(settings) as app:
        if message is not None:
            return await chat_once(app, address, message)
        if not sys.stdin.isatty():
            return await chat_pipe(app, address)
        from bot.console.terminal import chat_redirected, chat_terminal

        return await (chat_terminal if sys.stdout.isatty() else chat_redirected)(app, address)


@cli.command("help", hidden=True)
def show_help(context: typer.Context) -> None:
    """Show all commands."""
    typer.echo(context.parent.get_help() if context.parent is not None else context.get_help())


@cli.command(rich_help_panel=TALK)
def run() -> None:
    """Run the Telegram bot until it is stopped (SIGTERM or Ctrl-C)."""
    settings = load_settings_with_logging()
    if settings.telegram_bot_token is None:
        raise ConfigurationError(
            f"TELEGRAM_BOT_TOKEN is missing{_describe_settings_file()}: get one from @BotFather, or run `mneme setup`."
        )
    # A thread that reads a file must not delay each step of a turn
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    return_freed_memory()
    asyncio.run(_run(settings))


async def _run(settings: Settings) -> None:
    import_telegram()
    from bot.app import open_app
    from bot.feature import list_enabled
    from bot.features.registry import installed_features
    from bot.kernel import serve_features
    from bot.monitoring import ServiceManager, report_status
    from bot.telegram.service import run_telegram
    from memory.clock import system_clock
    from memory.store.data_lock import lock_data_dir

    raise_handle_limit()
    manager = ServiceManager.from_environment(os.environ)
    with lock_data_dir(settings.mneme_data_dir):
        features = installed_features()
        for feature in list_enabled(features, settings):
            await feature.prepare(settings, system_clock)
        async with (
            open_app(settings, features=features) as app,
            report_status(manager, app.health, app.runner.queues),
            serve_features(app),
        ):
            await _run_until_signal(run_telegram(app), lambda: manager.send("STOPPING=1", "STATUS=Stopping"))


async def _run_until_signal(service: Coroutine[object, object, None], stopping: Callable[[], None]) -> None:
    """Run `service` until it ends. SIGTERM, Ctrl-C and a closed terminal cancel it, so that it can clean up."""
    task = asyncio.ensure_future(service)

    def stop() -> None:
        stopping()
        task.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP
            loop.add_signal_handler(number, stop)
    try:
        await task
    except asyncio.CancelledError:
        # This task was cancelled itself, not the service by a signal
        if not task.cancelled():
            raise


@cli.command(rich_help_panel=TALK)
def setup() -> None:
    """Ask for missing settings, test them, write .env, and show the one-time code that makes the bot yours."""
    from bot.features.registry import installed_features
    from bot.setup.setup import run_setup

    try:
        run_setup(installed_features())
    except (typer.Abort, KeyboardInterrupt):
        typer.echo("\nSetup was cancelled. The answers saved so far are kept.", err=True)
        raise SystemExit(130) from None


cli.command(rich_help_panel=MEMORY)(recall)
cli.add_typer(memory_cli, name="memory", rich_help_panel=MEMORY)
cli.command("export", rich_help_panel=MEMORY)(export_memory)
cli.command("import", rich_help_panel=MEMORY)(import_memory)
cli.add_typer(members_cli, name="members", rich_help_panel=UPKEEP)
cli.command(rich_help_panel=UPKEEP)(doctor)
cli.command(rich_help_panel=UPKEEP)(features)
cli.command(rich_help_panel=UPKEEP)(backup)
cli.command(rich_help_panel=UPKEEP)(restore)
cli.command(rich_help_panel=UPKEEP)(reindex)
cli.command(rich_help_panel=UPKEEP)(migrate)


def _add_commands_of_features() -> None:
    for package in pkgutil.iter_modules(bot.features.__path__):
        name = f"{bot.features.__name__}.{package.name}.cli"
        if package.ispkg and importlib.util.find_spec(name) is not None:
            importlib.import_module(name).add_to(cli)


_add_commands_of_features()
use_plain_help(cli)
