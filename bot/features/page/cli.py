"""`mneme web`: the memory page in a browser on this machine."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Annotated

import typer

from bot.cli.memory_cli import Owner, open_memory
from bot.cli.panels import MEMORY

PORT = 8766
"""Different from WEB_PORT, which a running bot may use."""


def add_to(cli: typer.Typer) -> None:
    cli.command(rich_help_panel=MEMORY)(web)


def web(
    owner: Owner = None,
    port: Annotated[
        int, typer.Option(min=1, max=65_535, metavar="PORT", help="The port, on this machine only.")
    ] = PORT,
) -> None:
    """View and edit the memory in a browser. Prints a link that works once, and runs until Ctrl-C."""
    typer.echo("Starting the memory page. This can take some seconds.")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(owner, port))


async def _serve(owner: str | None, port: int) -> None:
    # Slow imports that other commands don't need
    from bot.cli.importers import find_installed_importer
    from bot.console.address import create_console_address
    from bot.features.page.access import OneTimeLink, Visitor
    from bot.features.page.data import PageData
    from bot.features.page.server import build_page_app
    from bot.web.server import HOST, serve_web
    from memory.clock import system_clock
    from memory.log.sessions import SHARED_OWNER, Address

    async with open_memory(by_meaning=True) as opened:
        owner_name = opened.choose_owner(owner)
        address = create_console_address("local") if owner_name == SHARED_OWNER else Address.parse(owner_name)
        session = await opened.memory.sessions.get_or_create(address)
        language = await opened.memory.preferences.get_language(address.owner)
        data = PageData(opened.memory, session, system_clock, find_installed_importer(opened.memory))
        link = OneTimeLink(Visitor(data, language), f"{HOST}:{port}")
        async with serve_web(build_page_app(link), port, "--port"):
            typer.echo(f"The memory of {owner_name}, for one browser: {link.url}")
            typer.echo("Press Ctrl-C to stop.")
            await asyncio.Event().wait()
