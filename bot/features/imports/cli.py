"""The command `mneme import`, for exports of other programs and of Mneme."""

from __future__ import annotations

import contextlib
import sys
import zipfile
from pathlib import Path  # Typer reads the annotations.
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.memory_cli import OpenMemory, Owner, import_own_export, with_memory
from bot.cli.panels import MEMORY

if TYPE_CHECKING:
    from bot.features.imports.importing import ForeignImport, ImportDone
    from memory.log.sessions import Session


def add_to(cli: typer.Typer) -> None:
    """Replace the kernel's command `import`, which only imports exports of Mneme."""
    cli.command("import", rich_help_panel=MEMORY)(import_memory)


def import_memory(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The exported file, folder or zip file.")],
    owner: Owner = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be imported.")] = False,
    learn: Annotated[
        bool, typer.Option("--learn", help="Let the bot learn from the newest imported conversations.")
    ] = False,
    me: Annotated[
        str | None,
        typer.Option("--me", metavar="NAME", help="Which speaker of a chat is you, or '' if none is."),
    ] = None,
) -> None:
    """Import the export of another program, or a whole export of Mneme.

    The conversations of ChatGPT, Claude, Gemini, Telegram, WhatsApp and other agents can be searched then. Their
    memories wait until you confirm them, and /undo reverts the import. An export of Mneme needs an empty installation.
    Admitted users, settings and waiting messages aren't part of it: for these, use `mneme restore` with a backup.
    """
    if not path.exists():
        raise typer.BadParameter(f"{path} doesn't exist.")
    is_own = _is_own_export(path)
    if is_own and (learn or owner is not None or me is not None):
        raise typer.BadParameter(
            f"{path} is an export of Mneme, which is always imported as a whole: leave out --learn, --me and --owner."
        )

    async def work(opened: OpenMemory) -> None:
        if is_own:
            await import_own_export(opened, path, dry_run=dry_run)
        else:
            await _import_foreign(opened, path, owner, dry_run=dry_run, learn=learn, me=me)

    with_memory(work)


def _is_own_export(path: Path) -> bool:
    """Return True if a folder or file is an export of Mneme."""
    from memory.transfer.archive import BROKEN_ZIP, MANIFEST

    names = {path.name}
    with contextlib.suppress(OSError, *BROKEN_ZIP):  # The importer explains why a file can't be opened.
        if path.is_dir():
            names = {child.name for child in path.iterdir()}
        elif zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                names = set(archive.namelist())
    return not names.isdisjoint((MANIFEST, "contents.json"))


async def _import_foreign(
    opened: OpenMemory, path: Path, owner: str | None, *, dry_run: bool, learn: bool, me: str | None
) -> None:
    from bot.console.address import create_console_address
    from bot.features.imports.feature import ImportsFeature
    from bot.features.imports.learning import request_learning
    from bot.features.imports.reporting import describe, format_left_out
    from memory.log.sessions import SHARED_OWNER, Address

    owner_name = opened.choose_owner(owner)
    address = create_console_address("local") if owner_name == SHARED_OWNER else Address.parse(owner_name)
    session = await opened.memory.sessions.get_or_create(address)
    imports = ImportsFeature().create_importer(opened.memory)
    if dry_run:
        report = await imports.look(path, session)
        typer.echo(f"{describe(report, is_preview=True)} Nothing was written.")
        change = None
    else:
        done = await _run(imports, path, session, me)
        _show_status("")
        report, change = done.report, done.change
        typer.echo(describe(report))
    for line in format_left_out(report):
        typer.echo(line)
    if change is not None:
        typer.echo(f"To undo this, run `mneme memory undo --owner {owner_name}`, or send /undo in the chat.")
    if learn and not dry_run:
        count = await request_learning(opened.memory.database, session.owner)
        typer.echo(f"The running bot will learn from the {count} newest in the background: see /memory unsure there.")


async def _run(imports: ForeignImport, path: Path, session: Session, me: str | None) -> ImportDone:
    """Import a file. If it doesn't say which speaker is the user, ask."""
    from bot.features.imports.reporting import UnknownUser

    def report_progress(written: int, total: int) -> None:
        _show_status(f"{written:,} of {total:,} messages and memories")

    _show_status(f"Reading {path.name}")

    try:
        return await imports.run(path, session, report_progress, me=me, ask_user=True)
    except UnknownUser as question:
        _show_status("")
        names = ", ".join(question.speakers)
        if not sys.stdin.isatty():
            raise typer.BadParameter(
                f"The file doesn't say which of the speakers is you: add --me NAME with one of {names}, or --me '' if"
                " none is."
            ) from question
        typer.echo(f"Which of these is you? {names}")
        me = typer.prompt("Your name there, or Enter for none of them", default="", show_default=False)
        return await imports.run(path, session, report_progress, me=me)


def _show_status(text: str) -> None:
    """Replace the progress line in a terminal."""
    if sys.stderr.isatty():
        typer.echo(f"\r\033[K{text}", nl=False, err=True)
