"""`mneme backup`, `restore`, `members` and `doctor`."""

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
    from memory.transfer.restore import ReplicaRestoreResult

members_cli = typer.Typer(help="Who has claimed the bot in Telegram: list, revoke.", no_args_is_help=True)


COLOURS = {"ok": typer.colors.GREEN, "note": None, "warning": typer.colors.YELLOW, "failed": typer.colors.RED}


def backup(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="The backup; with --rotate the folder for it.")],
    rotate: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Name it after the moment, and keep the newest N.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Replace an earlier backup of that name, without asking.")] = False,
) -> None:
    """Write everything that is remembered into one file, also while the bot runs. Settings and models are not in it."""
    from memory.transfer.backup import Backup

    settings = load_settings_with_logging(quiet=True)
    backup_service = Backup(settings.database_file, settings.mneme_data_dir / "memory", system_clock)
    if rotate is None:
        backup_service.require_place(target)
        if target.exists() and not yes:
            if not sys.stdin.isatty():
                raise StoreError(f"{target} exists: add --yes to replace that backup, or name another file.")
            typer.confirm(f"{target} is an earlier backup. Replace it?", abort=True)
        typer.echo(f"{_count_contents(backup_service.write(target))} are in {target}.")
        return
    written, removed = backup_service.rotate(target, rotate)
    typer.echo(f"{written} was written" + (f", {removed} older removed." if removed else "."))


def restore(
    archive: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="What `mneme backup` wrote.", show_default=False)
    ] = None,
    replica: Annotated[
        str | None, typer.Option(metavar="URL", help="Take over the replica there instead, as REPLICA_URL names it.")
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Another data directory, to look at it; a bot that runs goes on."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Replace what is there, and take over from a machine that is alive.")
    ] = False,
) -> None:
    """Bring a backup back: the whole state, so only one of your own. What was there before is kept beside it."""
    from bot.services import create_replica
    from config.settings import DATABASE_NAME
    from memory.transfer.restore import Restore

    if (archive is None) == (not replica):
        raise ConfigurationError("Name the file of a backup, or a replica by --replica URL.")
    settings = load_settings_with_logging(quiet=True)
    folder = into.expanduser().absolute() if into is not None else settings.mneme_data_dir
    is_elsewhere = folder != settings.mneme_data_dir.expanduser().absolute()
    restoring = Restore(folder / DATABASE_NAME, folder / "memory", system_clock)
    if restoring.is_occupied and not yes and sys.stdin.isatty():
        yes = typer.confirm(f"{folder} is not empty. Replace what is there? It is kept aside.", default=False)
    settings = settings.model_copy(update={"mneme_data_dir": folder})
    if archive is not None:
        done = restoring.run(archive, replace=yes)
        kept, brought = done.kept, f"{_count_contents(done.manifest)} of {done.manifest.made_at} are"
    elif (named := create_replica(settings, system_clock, replica)) is not None:
        # A copy in another directory doesn't take the replica over from the running bot
        from_replica = restoring.from_replica(named, replace=yes, take_over=not is_elsewhere)
        kept, brought = from_replica.kept, f"{_describe_replica(from_replica)} is"
    typer.echo(f"{brought} in {folder}.")
    if replica and is_elsewhere:
        typer.echo("The replica stays with the machine that holds it: to take it over, restore without --into.")
    typer.echo("That is the whole state, also who is let in, the settings and the messages that wait.")
    if kept is not None:
        typer.echo(f"What was there before is in {kept}.")


def _describe_replica(restored: ReplicaRestoreResult) -> str:
    until = f" until {restored.newest:%Y-%m-%d %H:%M:%S} UTC" if restored.newest is not None else ""
    if restored.number == restored.holder.number:
        return f"What the replica had{until} (its folder {restored.number})"
    return (
        f"What the replica had{until} (its folder {restored.number}; {restored.holder.machine}, which took it over at"
        f" {restored.holder.at}, has written nothing)"
    )


def _count_contents(manifest: Manifest) -> str:
    return f"{sum(manifest.rows.values())} rows and {len(manifest.files) - 1} files"


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
    """Who came in by the one-time code or was let in by the owner; others are in TELEGRAM_ALLOWED_IDS."""

    async def show() -> None:
        async with _open_access_list() as access:
            members = await access.list_members()
        if not members:
            typer.echo("Nobody has claimed the bot.", err=True)
        for member in members:
            how = ", let in by the owner" if member.is_guest else ""
            typer.echo(f"{member.user_id}  since {member.since:%Y-%m-%d %H:%M} UTC{how}")

    asyncio.run(show())


@members_cli.command()
def revoke(
    user_id: Annotated[
        int, typer.Argument(min=1, max=MAX_NUMBER, metavar="ID", help="As `mneme members list` shows it.")
    ],
) -> None:
    """Shut a member out, from the next message on; what was said stays."""

    async def shut_out() -> None:
        async with _open_access_list() as access:
            await access.revoke(user_id)
        typer.echo(f"{user_id} is let in no longer. `mneme setup` shows a code for the next one.")

    asyncio.run(shut_out())


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output.")] = False,
    backups: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the backups are, if not where deploy/install.sh has them.")
    ] = None,
) -> None:
    """Look at everything that can be wrong, and say what to do. Exit status 1 when something does not work."""
    from bot.doctor.examination import examine
    from bot.doctor.finding import Verdict
    from bot.features.registry import installed_features
    from config.logs import configure_logging

    # Problems are reported as findings, so the log is silent unless LOG_LEVEL=debug
    configure_logging("debug" if os.environ.get("LOG_LEVEL", "").lower() == "debug" else "critical", "auto")
    findings = asyncio.run(examine(backups, installed_features()))
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
        return "\nAll is well."
    parts = [f"{failed} does not work" if failed == 1 else f"{failed} do not work"] if failed else []
    parts += [f"{warnings} warning{'s' if warnings > 1 else ''}"] if warnings else []
    return f"\n{', '.join(parts)}: see the arrows for what to do."
