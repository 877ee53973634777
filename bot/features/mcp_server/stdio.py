"""`mneme mcp`: memory for the program that started this process, over standard input and output."""

from __future__ import annotations

import signal
import sys

import typer
from mcp.server.stdio import stdio_server

from bot.cli.memory_cli import open_memory
from bot.features.mcp_server.server import create_memory_server, find_served_owner
from bot.features.mcp_server.tools import MemoryTools
from config.errors import ConfigurationError
from memory.facts.checker import FactChecker


async def serve_stdio(named: str | None) -> None:
    """Serve until the input ends. This opens the database directly, whether or not a bot is running.

    New facts are verified later by the running bot, so that no model has to be loaded here. Raises ConfigurationError
    or StoreError.

    Args:
        named: the owner to serve, by default the one in the settings.
    """
    # Without this, Ctrl-C would wait for the thread that reads the input. A kill at any time is harmless
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.stdin.isatty():
        typer.echo(
            "Serving memory to a program that speaks MCP; Ctrl-C ends it. How one is connected: docs/mcp.md.", err=True
        )
    async with open_memory(by_meaning=True) as opened:
        if not opened.settings.memory_enabled:
            raise ConfigurationError("Memory is off: set MEMORY_ENABLED=true to have other programs ask it.")
        owner = await find_served_owner(opened.settings, opened.memory, named)

        async def owner_of() -> str:
            return owner

        server = create_memory_server(MemoryTools(opened.memory, FactChecker(None)), owner_of)
        async with stdio_server() as (requests, answers):
            await server.run(requests, answers, server.create_initialization_options())
