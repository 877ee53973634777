"""`mneme import` for exports of other programs, and for those of Mneme."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path  # Typer reads the annotations
from typing import Annotated

import typer

from bot.cli.memory_cli import OpenMemory, Owner, import_own_export, show_progress, with_memory
from bot.cli.panels import MEMORY


def add_to(cli: typer.Typer) -> None:
    """Replace the command `import` of the kernel, which imports exports of Mneme alone."""
    cli.command("import", rich_help_panel=MEMORY)(import_memory)


def import_memory(
    path: Annotated[Path, typer.Argument(metavar="PATH")],
    owner: Owner = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be imported.")] = False,
    learn: Annotated[
        bool, typer.Option("--learn", help="Let the bot learn from the newest imported conversations.")
    ] = False,
) -> None:
    """Import the export of another program, or a whole export of Mneme.

    Of ChatGPT, Claude, Gemini, Telegram, WhatsApp and of other agents the conversations can be searched afterwards, and
    what they remembered waits to be confirmed; /undo takes all of it back. An export of Mneme goes into an empty
    installation; who was let in, settings and messages that wait come with `mneme restore` of a backup alone.
    """

    async def work(opened: OpenMemory) -> None:
        if _is_foreign(path):
            await _import_foreign(opened, path, owner, dry_run=dry_run, learn=learn)
            return
        if dry_run or learn or owner is not None:
            raise typer.BadParameter(
                "an export of Mneme is always imported as a whole: leave out --dry-run, --learn and --owner."
            )
        await import_own_export(opened, path)

    with_memory(work)


def _is_foreign(path: Path) -> bool:
    """Return True if `path` is an existing file that Mneme did not write."""
    from bot.features.imports.items import ImportRefused
    from bot.features.imports.opening import opened_source

    # The importer explains why a file can't be opened
    with contextlib.suppress(ImportRefused), opened_source(path) as source:
        return path.exists() and not {"manifest.json", "contents.json"} & set(source.names)
    return False


async def _import_foreign(opened: OpenMemory, path: Path, owner: str | None, *, dry_run: bool, learn: bool) -> None:
    from bot.console.console import create_console_address
    from bot.features.imports.feature import ImportsFeature
    from bot.features.imports.importing import describe, format_left_out
    from bot.features.imports.learning import request_learning
    from memory.log.sessions import SHARED_OWNER, Address

    owner_name = opened.choose_owner(owner)
    address = create_console_address("local") if owner_name == SHARED_OWNER else Address.parse(owner_name)
    session = await opened.memory.sessions.get_or_create(address)
    imports = ImportsFeature().create_importer(opened.memory)
    if dry_run:
        report = await imports.look(path, session)
        typer.echo(f"{describe(report)} Nothing was written.")
        change = None
    else:
        done = await imports.run(path, session, lambda n, whole: show_progress(n / max(1, whole)))
        if sys.stderr.isatty():
            typer.echo(err=True)
        report, change = done.report, done.change
        typer.echo(describe(report))
    for line in format_left_out(report):
        typer.echo(line)
    if change is not None:
        typer.echo(f"To undo this, run `mneme memory undo --owner {owner_name}`, or send /undo in the chat.")
    if learn and not dry_run:
        count = await request_learning(opened.memory.database, session.owner)
        typer.echo(f"The running bot will learn from the {count} newest in the background: see /memory unsure there.")
