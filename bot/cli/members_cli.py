"""`mneme members`: who has claimed the bot, and how to shut somebody out again."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.start import DATABASE_NAME, quiet_settings
from memory.clock import system_clock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from memory.custody.access import AccessList

members_cli = typer.Typer(help="Who has claimed the bot in Telegram: list, revoke.", no_args_is_help=True)


@contextlib.asynccontextmanager
async def _access() -> AsyncIterator[AccessList]:
    # late: help must not wait for the store
    from bot.telegram import CHANNEL
    from memory.custody.access import AccessList
    from memory.store.database import Database

    database = await Database.open(quiet_settings().mneme_data_dir / DATABASE_NAME)
    try:
        yield AccessList(database, CHANNEL, system_clock)
    finally:
        await database.close()


@members_cli.command("list")
def list_members() -> None:
    """Who came in by the one-time code or was let in by the owner; others are in TELEGRAM_ALLOWED_IDS."""

    async def show() -> None:
        async with _access() as access:
            members = await access.members()
        if not members:
            typer.echo("Nobody has claimed the bot.", err=True)
        for member in members:
            how = ", let in by the owner" if member.let_in else ""
            typer.echo(f"{member.user_id}  since {member.since:%Y-%m-%d %H:%M} UTC{how}")

    asyncio.run(show())


@members_cli.command()
def revoke(user_id: Annotated[int, typer.Argument(metavar="ID", help="As `mneme members list` shows it.")]) -> None:
    """Shut a member out, from the next message on; what was said stays."""

    async def shut_out() -> None:
        async with _access() as access:
            await access.revoke(user_id)
        typer.echo(f"{user_id} is let in no longer. `mneme setup` shows a code for the next one.")

    asyncio.run(shut_out())
