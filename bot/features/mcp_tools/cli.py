"""`mneme mcp add|list|test|login|logout|remove`: manages the MCP servers in the file named by MCP_CONFIG."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.panels import PROGRAMS, find_or_add_group
from bot.cli.start import load_settings_with_logging
from bot.features.mcp_tools.settings import find_mcp_file
from memory.errors import MnemeError

if TYPE_CHECKING:
    from pathlib import Path

    from bot.features.mcp_tools.config import HttpServer, McpConfig, Preset, ServerConfig
    from bot.features.mcp_tools.logins import LoginFile
    from config.settings import Settings

cli = typer.Typer()

# NAME=VALUE, or NAME: VALUE as in headers
_PAIR = re.compile(r"(?P<name>[^\s:=]+)\s*[:=]\s*(?P<value>.*)", re.DOTALL)
Headers = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="A header of each request to --url. Repeatable.")
]
Variables = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="An environment variable of the command. Repeatable.")
]


def add_to(parent: typer.Typer) -> None:
    find_or_add_group(parent, "mcp", PROGRAMS).registered_commands += cli.registered_commands


class WrongServer(MnemeError):
    """The request doesn't fit the file."""


@cli.command()
def add(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME [-- COMMAND ...]", help="With --preset, its arguments, such as folders."),
    ] = None,
    preset: Annotated[
        str | None, typer.Option(metavar="PRESET", help="search, pages or files: a server that doesn't need a key.")
    ] = None,
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="The address of the server, instead of a command.")
    ] = None,
    header: Headers = None,
    env: Variables = None,
    client_id: Annotated[
        str | None,
        typer.Option(metavar="ID", help="For `mneme mcp login`: a client that you have registered with the service."),
    ] = None,
    client_secret: Annotated[str | None, typer.Option(metavar="SECRET", help="The secret of that client.")] = None,
    callback_port: Annotated[
        int | None, typer.Option(metavar="PORT", help="The port in the redirect address of that client.")
    ] = None,
) -> None:
    """Add or change a server. Values can be ${NAME}, an environment variable of the bot."""
    from bot.features.mcp_tools.config import PRESETS

    arguments = words or []
    if preset is not None:
        if preset not in PRESETS:
            raise WrongServer(f"There is no preset {preset}: choose one of {', '.join(PRESETS)}.")
        name, entry = preset, PRESETS[preset].entry(arguments)
    else:
        name, entry = _build_entry(arguments, url)
    entry |= {"headers": _parse_pairs(header)} if header else {}
    if env:
        entry["env"] = {**entry.get("env", {}), **_parse_pairs(env)}  # type: ignore[dict-item]  # A dict if it exists
    oauth = {"clientId": client_id, "clientSecret": client_secret, "callbackPort": callback_port}
    given = {key: value for key, value in oauth.items() if value is not None}
    entry |= {"oauth": given} if given else {}
    path = find_mcp_file(load_settings_with_logging(quiet=True))
    add_server(path, name, entry)
    typer.echo(f"{name} was saved in {path}.")
    for sentence in list_missing(PRESETS[preset] if preset is not None else None):
        typer.echo(sentence)
    typer.echo(format_usage_hint(name))


@cli.command("list")
def list_servers() -> None:
    """List the servers in the file, without connecting to them."""
    from bot.features.mcp_tools.config import HttpServer

    settings = load_settings_with_logging(quiet=True)
    path, config = _read_servers(settings)
    if config.is_empty:
        typer.echo(f"There are no servers in {path}: add one with `mneme mcp add`.", err=True)
    for server in config.servers:
        transport = server.transport
        # Arguments and the rest of an address may contain keys
        address = transport.host if isinstance(transport, HttpServer) else transport.command
        typer.echo(f"{server.name}  {address}{_describe_login(settings, server)}")
    for name, trouble in config.troubles.items():
        typer.echo(f"{name}  {trouble}")


@cli.command("test")
def try_servers(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The server to test. Default: all.")] = None,
) -> None:
    """Connect to the servers and list their tools, with the error output of their programs."""
    settings = load_settings_with_logging(quiet=True)
    path, config = _read_servers(settings)
    servers = [server for server in config.servers if name in (None, server.name)]
    troubles = {known: trouble for known, trouble in config.troubles.items() if name in (None, known)}
    if not servers and not troubles:
        raise WrongServer(f"{name or 'No server'} is not in {path}: see `mneme mcp list`.")
    working = [asyncio.run(_try(server, settings.mneme_data_dir)) for server in servers]
    for known, trouble in troubles.items():
        typer.echo(f"{known}: {trouble}")
    raise SystemExit(0 if all(working) and not troubles else 1)


async def _try(server: ServerConfig, data_directory: Path) -> bool:
    from bot.features.mcp_tools.config import make_tool_names
    from bot.features.mcp_tools.connection import ServerConnection
    from bot.features.mcp_tools.tools import needs_approval

    connection = ServerConnection(server, lambda: None, sys.stderr, data_directory)
    connection.start()
    try:
        await connection.tried.wait()
        if connection.trouble is not None:
            typer.echo(f"{server.name}: {connection.trouble}")
            return False
        names = make_tool_names(server.prefix, [tool.name for tool in connection.tools])
        typer.echo(f"{server.name} works, with {len(names)} tool{'s' if len(names) != 1 else ''}:")
        for tool in connection.tools:
            how = "asks first" if needs_approval(tool) else "only reads"
            typer.echo(f"  {names[tool.name]}  {how if server.offers(tool.name) else 'off'}")
        return True
    finally:
        await connection.close()


@cli.command()
def login(name: Annotated[str, typer.Argument(metavar="NAME", help="Its name in `mneme mcp list`.")]) -> None:
    """Log in at a server in the browser, also if the browser is on another machine."""
    from bot.features.mcp_tools.config import HttpServer
    from bot.features.mcp_tools.logins import find_login_file

    settings = load_settings_with_logging(quiet=True)
    path, config = _read_servers(settings)
    if (trouble := config.troubles.get(name)) is not None:
        raise WrongServer(f"{name}: {trouble}")
    server = next((server for server in config.servers if server.name == name), None)
    if server is None:
        raise WrongServer(f"{name} is not in {path}: see `mneme mcp list`.")
    if not isinstance(server.transport, HttpServer):
        raise WrongServer(f"{name} is a program on this machine, so it needs no login.")
    file = find_login_file(settings.mneme_data_dir, server)
    if file is None:
        raise WrongServer(f"The entry of {name} has a password or an Authorization header: remove it to log in.")
    if missing := list_missing(None):
        raise WrongServer(missing[0])
    asyncio.run(_log_in(name, server.transport, file))


async def _log_in(name: str, server: HttpServer, file: LoginFile) -> None:
    from bot.features.mcp_tools.login import Terminal, log_in
    from bot.features.mcp_tools.redirect import read_lines
    from memory.clock import system_clock

    login = await log_in(name, server, file, system_clock, Terminal(typer.echo, read_lines()))
    typer.echo(f"You are logged in at {server.host}. A running bot connects to {name} within a few seconds.")
    if login.refresh_token is None:
        until = "" if login.expires_at is None else f" at {login.expires_at.astimezone():%Y-%m-%d %H:%M}"
        typer.echo(f"{server.host} doesn't let programs renew logins: this one ends{until or ' at an unknown time'}.")


@cli.command()
def logout(name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the server.")]) -> None:
    """Delete the login at a server."""
    if not _log_out(load_settings_with_logging(quiet=True), name):
        raise WrongServer(f"There is no login at {name}.")
    typer.echo(f"The login at {name} was deleted here. To end it at the service too, use your account there.")


def _log_out(settings: Settings, name: str) -> bool:
    """Delete the login at a server. Return True if there was one."""
    from bot.features.mcp_tools.logins import FOLDER, LoginFile

    file = LoginFile(settings.mneme_data_dir / FOLDER, name)

    async def remove() -> None:
        async with file.locked():
            file.remove()

    if not file.path.exists():
        return False
    asyncio.run(remove())
    return True


def _read_servers(settings: Settings) -> tuple[Path, McpConfig]:
    """Return the path of the file and its servers. Raises WrongServer if it can't be read."""
    from bot.features.mcp_tools.config import read_config

    path = find_mcp_file(settings)
    config = read_config(path)
    if config.trouble is not None:
        raise WrongServer(str(config.trouble))
    return path, config


def _describe_login(settings: Settings, server: ServerConfig) -> str:
    from bot.features.mcp_tools.logins import find_login_file

    file = find_login_file(settings.mneme_data_dir, server)
    stored = file.read() if file is not None else None
    if stored is None:
        return ""
    return f"  login ended: run `mneme mcp login {server.name}`" if stored.is_refused else "  logged in"


@cli.command()
def remove(name: Annotated[str, typer.Argument(metavar="NAME", help="Its name in `mneme mcp list`.")]) -> None:
    """Remove a server from the file, and its login."""
    settings = load_settings_with_logging(quiet=True)
    path = find_mcp_file(settings)
    document, servers = _read_document(path)
    if name not in servers:
        raise WrongServer(f"{name} is not in {path}: see `mneme mcp list`.")
    del servers[name]
    _write(path, document)
    _log_out(settings, name)
    typer.echo(f"{name} was removed from {path}. Restart the bot to stop using it.")


def add_server(path: Path, name: str, entry: dict[str, object]) -> None:
    document, servers = _read_document(path)
    servers[name] = entry
    _write(path, document)


def list_missing(preset: Preset | None) -> list[str]:
    """Return a sentence for each requirement of a server that is not installed."""
    from importlib.util import find_spec

    sentences = [] if find_spec("mcp") else ["The package mcp is missing: run `make mcp`, or `pip install mcp`."]
    if preset is not None and preset.needs:
        sentences.append(f"It needs {preset.needs}.")
    return sentences


def format_usage_hint(name: str) -> str:
    return f"Try it with `mneme mcp test {name}`, then restart the bot."


def _build_entry(arguments: list[str], url: str | None) -> tuple[str, dict[str, object]]:
    if not arguments or (url is None) == (not arguments[1:]):
        raise WrongServer(
            "Give a name and either --url or a command, such as: mneme mcp add weather -- npx -y weather-server. "
            "Or use a --preset."
        )
    name, *command = arguments
    return name, {"url": url} if url is not None else {"command": command[0], "args": command[1:]}


def _parse_pairs(texts: list[str]) -> dict[str, str]:
    pairs = [_PAIR.fullmatch(text) for text in texts]
    if not all(pairs):
        raise WrongServer("--header and --env need NAME=VALUE, such as: --header 'Authorization=Bearer ${TOKEN}'.")
    return {pair["name"]: pair["value"] for pair in pairs if pair is not None}


def _read_document(path: Path) -> tuple[dict[str, object], dict[str, object]]:
    """Return the parsed file and its servers. Raises WrongServer if the file can't be read."""
    from bot.features.mcp_tools.config import SERVERS

    try:
        # Editors on Windows write a byte order mark
        document = json.loads(path.read_text(encoding="utf-8-sig"))
        servers = document.setdefault(SERVERS, {})
        # Raises AttributeError if it is no object
        servers.keys()
    except FileNotFoundError:
        servers = {}
        return {SERVERS: servers}, servers
    except (OSError, ValueError, AttributeError) as error:
        raise WrongServer(f"{path} can't be read as JSON with {SERVERS} in it: correct it first ({error}).") from error
    return document, servers


def _write(path: Path, document: dict[str, object]) -> None:
    from memory.files.markdown import write_atomically

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        write_atomically(path, json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    except OSError as error:
        raise WrongServer(f"{path} can't be written: {error.strerror or error}.") from error
