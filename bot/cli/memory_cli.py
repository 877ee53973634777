"""`mneme memory`, `recall`, `export` and `import`: memory from the shell.

Commands that read cover all owners unless `--owner` is given. Commands that write use the console's own owner.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from dataclasses import dataclass
from pathlib import Path  # Typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.start import load_settings_with_logging
from config.numbers import NUMBER
from config.texts import shorten_to_line
from memory.clock import system_clock, to_text
from memory.errors import UnknownName
from memory.store.entry import Kind, NewEntry, Priority

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from bot.services import MemoryServices
    from config.settings import Settings
    from memory.ledger.entries import EntryStore
    from memory.search.types import Hit
    from memory.store.entry import Entry
from bot.cli.memory_json import entry_to_json, hit_to_json

memory_cli = typer.Typer(help="The memory: list, show, change, undo.", no_args_is_help=True)

_OWNER = re.compile(rf"shared|telegram:-?{NUMBER}|(?!telegram:)[a-z]{{1,20}}:[^\s:/]{{1,100}}")


def _check_owner(owner: str | None) -> str | None:
    if owner is not None and not _OWNER.fullmatch(owner):
        raise typer.BadParameter(f"{owner[:40]!r} isn't a chat: write it like telegram:12345.")
    return owner


Owner = Annotated[
    str | None,
    typer.Option(metavar="OWNER", help="The owner of the memory, such as telegram:12345.", callback=_check_owner),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The entry's name or number, as in `mneme memory list`.")]
Content = Annotated[str, typer.Argument(metavar="CONTENT", help="The text to remember.")]
KINDS = ", ".join(Kind)
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True, slots=True)
class OpenMemory:
    settings: Settings
    memory: MemoryServices

    def choose_owner(self, owner: str | None) -> str:
        """Return the owner to write for: the given one, or the console's own."""
        from bot.console.address import create_console_address
        from config.settings import MemoryScope
        from memory.log.sessions import SHARED_OWNER

        shared = self.settings.memory_scope is MemoryScope.SHARED
        return owner or (SHARED_OWNER if shared else create_console_address("local").owner)


@contextlib.asynccontextmanager
async def open_memory(*, by_meaning: bool = False, for_reading: bool = False) -> AsyncIterator[OpenMemory]:
    """Open the memory.

    Args:
        for_reading: whether nothing is written, so that a full or read-only disk is no obstacle.
        by_meaning: whether features may extend the search, with EMBEDDING_MODEL. If one fails, a sentence says so.
    """
    # Slow imports that --help doesn't need
    from bot.services import MemoryServices
    from memory.store.database import Database
    from memory.text.tokens import TokenCounter

    settings = load_settings_with_logging(quiet=True)
    async with contextlib.AsyncExitStack() as stack:
        open_database = Database.open_for_reading if for_reading else Database.open
        database = await open_database(settings.database_file)
        stack.push_async_callback(database.close)
        memory = MemoryServices(settings, database, TokenCounter(), system_clock)
        if by_meaning and settings.is_given("embedding_model"):  # Loading the features takes a tenth of a second
            await _extend_search(settings, memory, stack)
        await memory.preferences.load()
        yield OpenMemory(settings, memory)


async def _extend_search(settings: Settings, memory: MemoryServices, stack: contextlib.AsyncExitStack) -> None:
    from bot.feature import list_enabled
    from bot.features.registry import load_features

    for feature in list_enabled(load_features()[0], settings):
        if (trouble := await feature.extend_search(settings, memory, stack)) is not None:
            typer.echo(f"Searching only by words: {trouble}", err=True)


def with_memory(
    work: Callable[[OpenMemory], Awaitable[None]], *, by_meaning: bool = False, for_reading: bool = False
) -> None:
    async def run() -> None:
        async with open_memory(by_meaning=by_meaning, for_reading=for_reading) as opened:
            await work(opened)

    try:
        asyncio.run(run())
    except UnknownName as error:
        # The text for chats names a command of the bot
        text = f"I don't remember anything called {error.name!r}: `mneme memory list` shows what I remember."
        raise UnknownName(text, error.name) from error


def _change(change: Callable[[EntryStore, str], Awaitable[Entry]], owner: str | None, *, as_json: bool) -> None:
    async def work(opened: OpenMemory) -> None:
        _print_entry(await change(opened.memory.entries, opened.choose_owner(owner)), as_json=as_json)

    with_memory(work)


def _parse_tags(values: list[str] | None) -> tuple[str, ...]:
    """Return the tags in a repeatable option, each with one or more tags separated by commas."""
    tags = (tag.strip().removeprefix("#") for words in values or () for tag in words.split(","))
    return tuple(dict.fromkeys(tag for tag in tags if tag))


def _check_kind(kind: str | None) -> str | None:
    from memory.search.types import MESSAGE_KIND

    kinds = [*map(str, Kind), MESSAGE_KIND]
    if kind is not None and kind not in kinds:
        raise typer.BadParameter(f"there is no kind {kind!r}: choose one of {', '.join(kinds)}.")
    return kind


@memory_cli.command("list")
def list_entries(
    kind: Annotated[Kind | None, typer.Option(metavar="KIND", help=f"Only this kind: {KINDS}.")] = None,
    owner: Owner = None,
    as_json: AsJson = False,
) -> None:
    """List all entries, newest first."""

    async def work(opened: OpenMemory) -> None:
        entries = await opened.memory.entries.list(owner, kind)
        lines = [
            f"{entry.owner}  {entry.kind}  {entry.id}  {entry.name}  {shorten_to_line(entry.content)}"
            for entry in entries
        ]
        _print_all([entry_to_json(entry) for entry in entries], lines, "No results.", as_json=as_json)

    with_memory(work, for_reading=True)


@memory_cli.command()
def show(name: Name, owner: Owner = None, as_json: AsJson = False) -> None:
    """Show an entry and where it came from."""

    async def work(opened: OpenMemory) -> None:
        lookup = (
            opened.memory.entries.get(owner, name)
            if owner
            else opened.memory.entries.get_any(name, opened.choose_owner(None))
        )
        _print_entry(await lookup, as_json=as_json)

    with_memory(work, for_reading=True)


@memory_cli.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A new name.")],
    content: Content,
    kind: Annotated[Kind, typer.Option(metavar="KIND", help=f"The kind of entry: {KINDS}.")] = Kind.NOTE,
    scope: Annotated[
        str | None, typer.Option(metavar="PATHS", help="The paths that it applies to, such as src/api/**.")
    ] = None,
    priority: Annotated[
        Priority | None,
        typer.Option(
            metavar="PRIORITY", help=f"How important it is: {', '.join(Priority)}. Default: depends on the kind."
        ),
    ] = None,
    tags: Annotated[
        list[str] | None, typer.Option(metavar="TAGS", help="Tags to find it by, such as home,garden.")
    ] = None,
    owner: Owner = None,
    as_json: AsJson = False,
) -> None:
    """Add an entry."""
    new = NewEntry(content, name=name, kind=kind, scope=scope, priority=priority, tags=_parse_tags(tags))
    _change(lambda entries, owner_name: entries.add(owner_name, new), owner, as_json=as_json)


@memory_cli.command()
def rename(
    old: Annotated[str, typer.Argument(metavar="OLD", help="Its present name.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Its new name.")],
    owner: Owner = None,
    as_json: AsJson = False,
) -> None:
    """Rename an entry. The old name stays as an alias."""
    _change(lambda entries, owner_name: entries.rename(owner_name, old, new), owner, as_json=as_json)


@memory_cli.command()
def alias(
    name: Name,
    alias: Annotated[str, typer.Argument(metavar="ALIAS", help="The other name.")],
    owner: Owner = None,
    as_json: AsJson = False,
) -> None:
    """Give an entry another name in addition."""
    _change(lambda entries, owner_name: entries.alias(owner_name, name, alias), owner, as_json=as_json)


@memory_cli.command()
def write(name: Name, content: Content, owner: Owner = None, as_json: AsJson = False) -> None:
    """Replace an entry's content."""
    _change(lambda entries, owner_name: entries.write(owner_name, name, content), owner, as_json=as_json)


@memory_cli.command()
def remove(name: Name, owner: Owner = None, as_json: AsJson = False) -> None:
    """Delete an entry. `mneme memory undo` brings it back."""
    _change(lambda entries, owner_name: entries.remove(owner_name, name), owner, as_json=as_json)


@memory_cli.command()
def confirm(name: Name, owner: Owner = None, as_json: AsJson = False) -> None:
    """Confirm an unsure memory: see `mneme memory unsure`."""
    _change(lambda entries, owner_name: entries.confirm(owner_name, name), owner, as_json=as_json)


@memory_cli.command()
def unsure(owner: Owner = None, as_json: AsJson = False) -> None:
    """List memories that aren't confirmed, with the reason."""

    async def work(opened: OpenMemory) -> None:
        entries = await opened.memory.entries.list_unconfirmed(owner)
        lines = [
            f"{entry.owner}  {entry.id}  {entry.name}  {shorten_to_line(entry.content)}  ({entry.unconfirmed})"
            for entry in entries
        ]
        _print_all([entry_to_json(entry) for entry in entries], lines, "There is nothing to confirm.", as_json=as_json)

    with_memory(work, for_reading=True)


@memory_cli.command()
def undo(owner: Owner = None, as_json: AsJson = False) -> None:
    """Undo the last change to the memory, no matter who made it."""

    async def work(opened: OpenMemory) -> None:
        from bot.commands.memory_changes import format_undo

        undone = await opened.memory.undo.undo(opened.choose_owner(owner))
        if as_json:
            named = {"operation": undone.operation, "author": undone.author, "names": undone.names} if undone else None
            _print_json(named)
        else:
            typer.echo(format_undo(undone) if undone else "There is nothing to undo.")

    with_memory(work)


def recall(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words to search for, in quotes.")],
    owner: Owner = None,
    kind: Annotated[
        str | None,
        typer.Option(metavar="KIND", help=f"Only this kind: {KINDS}, or message for messages.", callback=_check_kind),
    ] = None,
    scope: Annotated[
        str | None, typer.Option(metavar="PATH", help="Only entries about this path, such as src/api/users.py.")
    ] = None,
    tags: Annotated[
        list[str] | None, typer.Option(metavar="TAGS", help="Only entries with all of these, such as home,garden.")
    ] = None,
    since: Annotated[
        str, typer.Option(metavar="DATE", help="Only since this day, month or year, such as 2026-02.")
    ] = "",
    until: Annotated[str, typer.Option(metavar="DATE", help="Only until the end of this day, month or year.")] = "",
    limit: Annotated[
        int, typer.Option(min=1, max=1000, metavar="N", help="Maximum number of results, up to 1000.")
    ] = 10,
    every: Annotated[
        bool, typer.Option("--every", help="Everything that contains the words, without a limit.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Search conversations and entries, and with EMBEDDING_MODEL also the meaning in one owner's memory."""

    async def work(opened: OpenMemory) -> None:
        from memory.search.types import Filter
        from memory.text.spans import parse_span

        begins, ends = parse_span(since, until, opened.settings.zone)
        only = Filter(kinds=[kind] if kind else None, path=scope, tags=_parse_tags(tags), since=begins, until=ends)
        if every:
            hits = await opened.memory.reading.find_mentioning([query], owner, only)
            lines = [_format_mention(hit) for hit in hits]
        else:
            owner_name = owner or await opened.memory.stats.find_sole_owner()
            if as_json:
                hits, lines = await opened.memory.recall.find_hits(query, owner_name, only, limit), []
            else:
                results = await opened.memory.recall.recall(query, owner_name, only, limit, forgotten_too=True)
                hits = [result.hit for result in results]
                # Scores depend on the size of the memory, so show them relative to the best one
                best = max((hit.score for hit in hits), default=0.0)
                lines = [
                    f"{result.hit.score / best if best else 1.0:4.0%}  {result.hit.owner}  {result.text}"
                    for result in results
                ]
        _print_all([hit_to_json(hit) for hit in hits], lines, "No results.", as_json=as_json)

    with_memory(work, by_meaning=not every, for_reading=True)


def _format_mention(hit: Hit) -> str:
    label = f"{hit.kind} {hit.name}" if hit.name is not None else hit.source
    return f"{hit.owner}  {to_text(hit.created_at)}  {label}  {' '.join(hit.content.split())}"


def export_memory(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder.")],
    owner: Owner = None,
    with_secrets: Annotated[
        bool, typer.Option("--with-secrets", help="Include keys and passwords from messages.")
    ] = False,
) -> None:
    """Export everything into a new folder: Markdown for people, JSON lines for programs."""

    async def work(opened: OpenMemory) -> None:
        from memory.transfer.amounts import describe_amounts

        rows = await opened.memory.portable.export(folder, owner, with_secrets=with_secrets)
        typer.echo(f"{describe_amounts(rows).capitalize()} and the Markdown files are in {folder}.")

    with_memory(work, for_reading=True)


def import_memory(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The exported folder or zip file.")],
) -> None:
    """Import a whole export of Mneme into an empty installation."""
    with_memory(lambda opened: import_own_export(opened, path))


async def import_own_export(opened: OpenMemory, path: Path, *, dry_run: bool = False) -> None:
    from memory.transfer.amounts import describe_amounts

    done = await opened.memory.importer.run(path, dry_run=dry_run)
    what = f"{describe_amounts(done.rows).capitalize()} and the Markdown files"
    if dry_run:
        typer.echo(f"{what} would be imported from {path}. Nothing was written.")
    else:
        typer.echo(f"{what} were imported from {path}.")
    if done.left_out:
        typer.echo(f"Left out, because only memories and messages are imported: {', '.join(done.left_out)}.")


def _print_entry(entry: Entry, *, as_json: bool) -> None:
    from bot.commands.memory_browser import format_entry

    if as_json:
        _print_json(entry_to_json(entry))
    else:
        typer.echo(format_entry(entry))


def _print_all(rows: list[dict[str, object]], lines: list[str], nothing: str, *, as_json: bool) -> None:
    """Print `lines`, or `rows` as JSON. Without lines, print `nothing` on standard error."""
    if as_json:
        _print_json(rows)
    elif not lines:
        typer.echo(nothing, err=True)
    else:
        typer.echo("\n".join(lines))


def _print_json(value: object) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))
