"""Import from other programs: conversations go into the log, memories become unconfirmed entries.

A file is read three times. The first pass recognises chats without ids. The second one reads the whole file, so that a
damaged file changes nothing. The third one reads batches, each while the previous batch is written. Reading takes a
tenth of the time, and the rest is spent on the search for secrets and on the index.

If the process is killed, the written batches stay. /undo reverts them, and importing the file again continues.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from bot.features.imports.detection import Found, detect_readers, readable
from bot.features.imports.items import UNREADABLE_KINDS, ImportRefused, Item
from bot.features.imports.known import KnownMessages, Resolution, read_known
from bot.features.imports.opening import open_source
from bot.features.imports.planning import Piece, Preparation, plan_pieces
from bot.features.imports.reporting import (
    ImportReport,
    UnknownUser,
    describe,
    format_counts,
    format_left_out,
    list_speakers,
)
from bot.features.imports.resolving import resolve_chats
from bot.features.imports.source import DAMAGED, ImportSource, PartKind, make_file_name
from bot.features.imports.unsupported import find_unsupported_format
from bot.features.imports.writer import Planned, open_writer
from config.texts import N_, _
from memory.clock import Clock, TimezoneLookup, system_clock
from memory.ledger.ledger import Ledger
from memory.log.sessions import Session
from memory.store.database import Database
from memory.store.entry_rows import get_or_create_owner_id
from memory.transfer.file_importer import FileSummary

Progress = Callable[[int, int], None]
"""Called with the number of written messages and memories, and the total."""

T = TypeVar("T")
_BATCH_PIECES = 50
_BATCH_CHARS = 250_000
"""Maximum number of pieces, and of their characters, in a batch."""
_MAX_READER_THREADS = 1
"""Threads that read files. A second one would double the delay of every step of a turn."""


@dataclass(frozen=True, slots=True)
class ImportDone:
    """The result of an import.

    Attributes:
        change: The number of the change for /undo, or None if there was nothing new.
    """

    report: ImportReport
    change: int | None


class ForeignImport:
    make_file_name = staticmethod(make_file_name)

    def __init__(
        self, database: Database, ledger: Ledger, zone_of: TimezoneLookup, clock: Clock = system_clock
    ) -> None:
        self._clock = clock
        self._database = database
        self._ledger = ledger
        self._zone_of = zone_of
        self._free = asyncio.Semaphore(_MAX_READER_THREADS)

    async def look(self, path: Path, session: Session) -> ImportReport:
        """Preview an import without writing anything. Raises ImportRefused for damaged or unknown files."""
        async with self._open(path) as source:
            plan = await self._detect(source, session)
            return await self._in_thread(_inspect, source, plan)

    async def run(
        self,
        path: Path,
        session: Session,
        progress: Progress = lambda _written, _all: None,
        *,
        me: str | None = None,
        ask_user: bool = False,
    ) -> ImportDone:
        """Import the new parts of a file into a session. Raises ImportRefused for damaged or unknown files.

        Args:
            me: The user's name in chats that don't say which speaker is the user, or an empty string if the user is not
                in them. The name is remembered for later imports.
            ask_user: Raise UnknownUser if the file has such chats and the user's name isn't known.
        """
        async with self._open(path) as source:
            plan = await self._detect(source, session, me)
            expected = await self._in_thread(partial(_inspect, only_counts=True), source, plan)
            if ask_user and me is None and expected.is_user_unknown:
                raise UnknownUser(expected)
            if me and expected.speakers and not any(me in found for found in expected.speakers.values()):
                raise ImportRefused(
                    _("{name} isn't in this chat. The speakers are {names}.", name=me, names=list_speakers(expected))
                )
            if me is not None:
                await self._remember_names(session.owner, expected.speakers, me)
            if expected.is_empty:
                return ImportDone(expected, None)
            report = ImportReport(expected.program)
            items = _plan(source, plan, report)
            advance = partial(self._in_thread, _next_batch, source, items)
            async with (
                open_writer(self._database, self._ledger, session, plan.known, report) as writer,
                contextlib.aclosing(_prefetch(advance)) as batches,
            ):
                async for batch in batches:
                    progress(writer.written, expected.messages + expected.memories)
                    await writer.write(batch)
            return ImportDone(report, writer.change)

    async def preview_file(self, path: Path, session: Session) -> FileSummary:
        """Implement FileImporter.preview_file."""
        report = await self.look(path, session)
        lines = format_left_out(report)
        if report.is_user_unknown:
            lines.append(str(UnknownUser(report)))
        return FileSummary(report.program, format_counts(report), lines)

    async def import_file(self, path: Path, session: Session) -> FileSummary:
        """Implement FileImporter.import_file."""
        done = await self.run(path, session, ask_user=True)
        return FileSummary(done.report.program, describe(done.report), format_left_out(done.report), done.change)

    @contextlib.asynccontextmanager
    async def _open(self, path: Path) -> AsyncIterator[ImportSource]:
        with contextlib.ExitStack() as stack:
            yield await self._in_thread(stack.enter_context, open_source(path))

    async def _in_thread(self, function: Callable[..., T], *args: object) -> T:
        async with self._free:
            return await asyncio.to_thread(function, *args)

    async def _detect(self, source: ImportSource, session: Session, me: str | None = None) -> _Plan:
        """Find the readers for a file, and read the stored messages of their programs."""
        zone = self._zone_of(session.id)
        found: dict[str, Found] = {}
        for reader, names in await self._in_thread(detect_readers, source, zone, self._clock().astimezone(zone).date()):
            found[reader.name] = [*found.get(reader.name, ()), (reader, names)]
        known = {program: await read_known(self._database, session.owner, program) for program in found}
        if me:
            for program in known.values():
                program.names.add(me)
        preparations = {program: Preparation() for program in found}
        resolutions = await self._in_thread(_resolve, source, found, known, preparations)
        return _Plan(found, known, resolutions, preparations)

    async def _remember_names(self, owner: str, speakers: Mapping[str, Mapping[str, int]], me: str) -> None:
        """Store which speaker is the user, or that the user is not among the speakers."""
        rows = [
            (program, name, int(bool(me)))
            for program, found in speakers.items()
            for name in found
            if not me or name == me
        ]
        async with self._database.transaction() as connection:
            owner_id = await get_or_create_owner_id(connection, owner)
            await connection.executemany(
                "INSERT INTO import_names (owner_id, program, name, is_user) VALUES (?, ?, ?, ?)"
                " ON CONFLICT DO UPDATE SET is_user = excluded.is_user",
                [(owner_id, *row) for row in rows],
            )


@dataclass(frozen=True, slots=True)
class _Plan:
    """The readers for a file, with the stored messages and the resolved chats of each program."""

    found: dict[str, Found]
    known: dict[str, KnownMessages]
    resolutions: dict[str, dict[int, Resolution]]
    preparations: dict[str, Preparation]


def _inspect(source: ImportSource, plan: _Plan, *, only_counts: bool = False) -> ImportReport:
    report = ImportReport(", ".join(plan.found))
    with readable(source, is_export=True):
        for _planned in _plan(source, plan, report, only_counts=only_counts):
            pass
    if report.is_empty and not report.known and not report.left_out.keys().isdisjoint(UNREADABLE_KINDS):
        raise ImportRefused(_(DAMAGED, file=source.path.name), is_export=True)
    return report


def _read(source: ImportSource, found: Found) -> Iterator[Item]:
    """Yield the items of one program. Its parts may have several formats."""
    for reader, names in found:
        yield from reader.read(source, names)


def _resolve(
    source: ImportSource,
    found: dict[str, Found],
    known: dict[str, KnownMessages],
    preparations: dict[str, Preparation],
) -> dict[str, dict[int, Resolution]]:
    """Find the stored chats for each chat without an id in the file."""
    with readable(source, is_export=True):
        return {
            name: resolve_chats(preparations[name].prepare_all(_read(source, readers)), known[name])
            for name, readers in found.items()
        }


def _plan(source: ImportSource, plan: _Plan, report: ImportReport, *, only_counts: bool = False) -> Iterator[Planned]:
    """Yield the new pieces and memories of each program, and count all items in the report."""
    for name, found in plan.found.items():
        pieces = plan_pieces(
            _read(source, found),
            plan.known[name],
            plan.resolutions[name],
            report,
            name,
            plan.preparations[name],
            only_counts=only_counts,
        )
        for planned in pieces:
            yield name, planned
    taken = {part for found in plan.found.values() for _reader, parts in found for part in parts}
    for part in source.find_kind(PartKind.JSON):
        if part not in taken and find_unsupported_format(source.detect_prefixes(part)):
            report.left_out[N_("exports of programs that I can't read")] += 1


async def _prefetch(advance: Callable[[], Awaitable[list[Planned]]]) -> AsyncGenerator[list[Planned]]:
    """Yield the batches that `advance` returns. While the caller uses a batch, the next one is read."""
    following = asyncio.ensure_future(advance())
    try:
        while batch := await following:
            following = asyncio.ensure_future(advance())
            yield batch
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


def _next_batch(source: ImportSource, items: Iterator[Planned]) -> list[Planned]:
    batch: list[Planned] = []
    chars = 0
    with readable(source):
        while len(batch) < _BATCH_PIECES and chars < _BATCH_CHARS:
            planned = next(items, None)
            if planned is None:
                break
            batch.append(planned)
            _program, item = planned
            chars += item.chars if isinstance(item, Piece) else len(item.text)
    return batch
