"""`mneme mcp`: serves the memory to the program that starts it."""

from __future__ import annotations

import asyncio

import typer

from bot.cli.memory_cli import Owner
from bot.cli.panels import PROGRAMS, find_or_add_group
from bot.features.mcp_server import check_packages


def add_to(cli: typer.Typer) -> None:
    find_or_add_group(cli, "mcp", PROGRAMS).callback(invoke_without_command=True)(mcp)


def mcp(context: typer.Context, owner: Owner = None) -> None:
    """Without a subcommand: serve the memory to the program that runs this command, over standard input and output.

    The subcommands manage servers with tools for the bot (docs/tools.md).
    """
    if context.invoked_subcommand is not None:
        return
    check_packages()
    from bot.features.mcp_server.stdio import serve_stdio

    asyncio.run(serve_stdio(owner))
