"""`mneme backup`, `restore`, `members`, `doctor`, `reindex` and `migrate`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path  # Typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.memory_cli import OpenMemory, with_memory
from bot.cli.start import load_settings_with_logging
from config.errors import ConfigurationError
from config.numbers import MAX_NUMBER
from memory.clock import system_clock
from memory.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from bot.doctor.finding import Finding
    from memory.access import AccessList
    from memory.transfer.archive import Manifest

members_cli = typer.Typer(help="The people who can use the bot in Telegram: list, revoke.", no_args_is_help=True)


COLOURS = {"ok": typer.colors.GREEN, "note": None, "warning": typer.colors.YELLOW, "failed": typer.colors.RED}


def backup(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="The backup file; with --rotate, the folder for it.")],
    rotate: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Name it by date and time, and keep the newest N.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Replace an earlier backup with that name without asking.")
    ] = False,
) -> None:
    """Back up the memory into one file, even while the bot is running. Settings and models are not included."""
    from memory.transfer.backup import Backup

    settings = load_settings_with_logging(quiet=True)
    backup_service = Backup(settings.database_file, settings.mneme_data_dir / "memory", system_clock)
    if rotate is None:
        backup_service.require_place(target)
        if target.exists() and not yes:
            if not sys.stdin.isatty():
                raise StoreError(f"{target} already exists: add --yes to replace that backup, or choose another file.")
            typer.confirm(f"{target} is an earlier backup. Replace it?", abort=True)
        typer.echo(f"{_describe_contents(backup_service.write(target))} were written to {target}.")
        return
    written, removed = backup_service.rotate(target, rotate)
    typer.echo(f"{written} was written" + (f", {removed} older removed." if removed else "."))


def restore(
    archive: Annotated[Path | None, typer.Argument(metavar="FILE", help="The backup file.", show_default=False)] = None,
    replica: Annotated[
        str | None, typer.Option(metavar="URL", help="Take over this replica instead (see REPLICA_URL).")
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Restore into another data directory, for inspection. A running bot isn't affected."
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Replace existing data, and take over from a running machine.")
    ] = False,
) -> None:
    """Restore a backup. It is the whole state, so use only your own.

    Existing data is moved to a new folder inside the data directory.
    """
    from bot.feature import find_restore_source
    from bot.features.registry import installed_features
    from config.settings import DATABASE_NAME
    from memory.transfer.restore import BroughtData, Restore

    if (archive is None) == (not replica):
        raise ConfigurationError("Give the backup file, or a replica with --replica URL.")
    settings = load_settings_with_logging(quiet=True)
    folder = into.expanduser().absolute() if into is not None else settings.mneme_data_dir
    is_elsewhere = folder != settings.mneme_data_dir.expanduser().absolute()
    restoring = Restore(folder / DATABASE_NAME, folder / "memory", system_clock)
    if restoring.is_occupied and not yes and sys.stdin.isatty():
        yes = typer.confirm(
            f"{folder} is not empty. Replace its contents? They are moved into a folder inside of it.", default=False
        )
    settings = settings.model_copy(update={"mneme_data_dir": folder})
    if archive is not None:
        done = restoring.run(archive, replace=yes)
        what = f"{_describe_contents(done.manifest)} of {done.manifest.made_at} were restored"
        brought = BroughtData(done.kept, what)
    else:
        source = find_restore_source(installed_features(), settings, system_clock, replica or "")
        # A copy in another directory doesn't take the replica over from the running bot
        brought = source.restore(restoring, replace=yes, is_copy=is_elsewhere)
    typer.echo(f"{brought.what} in {folder}.")
    if brought.note:
        typer.echo(brought.note)
    typer.echo("This is the whole state, with the members, the settings and the pending messages.")
    if brought.kept is not None:
        typer.echo(f"The previous data is in {brought.kept}.")


def _describe_contents(manifest: Manifest) -> str:
    from memory.transfer.amounts import describe_amounts

    files = len(manifest.files) - 1
    return f"{describe_amounts(manifest.rows).capitalize()} and {files} file{'' if files == 1 else 's'}"


@contextlib.asynccontextmanager
async def _open_access_list() -> AsyncIterator[AccessList]:
    # Slow imports that --help doesn't need
    from bot.telegram import CHANNEL
    from memory.access import AccessList
    from memory.store.database import Database

    database = await Database.open(load_settings_with_logging(quiet=True).database_file)
    try:
        yield AccessList(database, CHANNEL, system_clock)
    finally:
        await database.close()


@members_cli.command("list")
def list_members() -> None:
    """List who used the one-time code or was let in by the owner. TELEGRAM_ALLOWED_IDS has the others."""

    async def show() -> None:
        async with _open_access_list() as access:
            members = [
                (member, await access.contacts.describe(member.user_id)) for member in await access.list_members()
            ]
        if not members:
            typer.echo("The bot has no members yet.", err=True)
        for member, name in members:
            how = ", let in by the owner" if member.is_guest else ""
            known = "" if name == str(member.user_id) else f"  {name}"
            typer.echo(f"{member.user_id}{known}  since {member.since:%Y-%m-%d %H:%M} UTC{how}")

    asyncio.run(show())


@members_cli.command()
def revoke(
    user_id: Annotated[
        int, typer.Argument(min=1, max=MAX_NUMBER, metavar="ID", help="The id in `mneme members list`.")
    ],
) -> None:
    """Remove a member, starting with their next message. Their messages are kept."""

    async def shut_out() -> None:
        async with _open_access_list() as access:
            await access.revoke(user_id)
        typer.echo(f"{user_id} can no longer use the bot. `mneme setup` shows a code for a new member.")

    asyncio.run(shut_out())


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    backups: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The folder of the backups. Default: the one of deploy/install.sh."),
    ] = None,
) -> None:
    """Check the installation, and show how to solve problems. Exit status 1 if something doesn't work."""
    from bot.doctor.examination import examine
    from bot.doctor.finding import Verdict
    from bot.features.registry import load_features
    from config.logs import configure_logging

    # Problems are reported as findings, so the log is silent unless LOG_LEVEL=debug
    configure_logging("debug" if os.environ.get("LOG_LEVEL", "").lower() == "debug" else "critical", "auto")
    features, broken = load_features()
    findings = asyncio.run(examine(backups, features, [feature.describe() for feature in broken]))
    if as_json:
        typer.echo(json.dumps([asdict(finding) for finding in findings], ensure_ascii=False, indent=2))
    else:
        _print(findings)
    raise SystemExit(1 if any(finding.verdict is Verdict.FAILED for finding in findings) else 0)


def _print(findings: Sequence[Finding]) -> None:
    for finding in findings:
        verdict = typer.style(f"{finding.verdict:8}", fg=COLOURS[finding.verdict])
        typer.echo(f"{verdict} {finding.name}: {finding.found}")
        if finding.remedy:
            typer.echo(f"{'':8} -> {finding.remedy}")
    typer.echo(_summarize(findings))


def _summarize(findings: Sequence[Finding]) -> str:
    counts = Counter(finding.verdict.value for finding in findings)
    failed, warnings = counts["failed"], counts["warning"]
    if not failed and not warnings:
        return "\nNo problems found."
    parts = [f"{failed} does not work" if failed == 1 else f"{failed} do not work"] if failed else []
    parts += [f"{warnings} warning{'s' if warnings > 1 else ''}"] if warnings else []
    return f"\n{', '.join(parts)}: see the arrows for what to do."


def reindex() -> None:
    """Rebuild the search index."""
    from memory.store.index import drop_vectors
    from memory.store.index import reindex as rebuild_index

    async def work(opened: OpenMemory) -> None:
        await rebuild_index(opened.memory.database, show_progress)
        if sys.stderr.isatty():
            typer.echo(err=True)
        # The bot creates them again
        await drop_vectors(opened.memory.database)
        typer.echo("The search index was rebuilt.")

    with_memory(work)


def show_progress(share: float) -> None:
    if sys.stderr.isatty():
        typer.echo(f"\r{share:4.0%}", nl=False, err=True)


def migrate() -> None:
    """Update the format of the database. Every other command does this too."""

    async def work(opened: OpenMemory) -> None:
        typer.echo(f"{opened.memory.database.path} has format {await opened.memory.database.read_version()}.")

    with_memory(work)
