"""`mneme backup` and `mneme restore`."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.start import DATABASE_NAME, quiet_settings
from memory.clock import system_clock

if TYPE_CHECKING:
    from memory.backup.archive import Manifest


def backup(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="The backup; with --rotate the folder for it.")],
    rotate: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Name it after the moment, and keep the newest N.")
    ] = None,
) -> None:
    """Write everything that is remembered into one file, also while the bot runs. Settings and models are not in it."""
    from memory.backup.backup import Backup

    folder = quiet_settings().mneme_data_dir
    making = Backup(folder / DATABASE_NAME, folder / "memory", system_clock)
    if rotate is None:
        typer.echo(f"{_counted(making.write(target))} are in {target}.")
        return
    made, removed = making.rotate(target, rotate)
    typer.echo(f"{made} was written" + (f", {removed} older removed." if removed else "."))


def restore(
    archive: Annotated[Path, typer.Argument(metavar="FILE", help="What `mneme backup` wrote.")],
    into: Annotated[Path | None, typer.Option(metavar="DIR", help="The data directory; default: the bot's.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Replace what is there, without asking.")] = False,
) -> None:
    """Bring a backup back: the whole state, so only one of your own. What was there before is kept beside it."""
    from memory.backup.restore import Restore

    folder = (into.expanduser().absolute() if into is not None else None) or quiet_settings().mneme_data_dir
    restoring = Restore(folder / DATABASE_NAME, folder / "memory", system_clock)
    if restoring.occupied and not yes and sys.stdin.isatty():
        yes = typer.confirm(f"{folder} is not empty. Replace what is there? It is kept aside.", default=False)
    done = restoring.run(archive, replace=yes)
    typer.echo(f"{_counted(done.manifest)} of {done.manifest.made_at} are in {folder}.")
    typer.echo("That is the whole state, also who is let in, the settings and the messages that wait.")
    if done.kept is not None:
        typer.echo(f"What was there before is in {done.kept}.")


def _counted(manifest: Manifest) -> str:
    # the database is one of the files
    return f"{sum(manifest.rows.values())} rows and {len(manifest.files) - 1} Markdown files"
