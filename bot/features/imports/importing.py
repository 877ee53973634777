"""Import from other programs: conversations go into the log, memories become unconfirmed entries.

A file is read three times: to recognise chats without ids, then completely, so that a damaged one changes nothing, then
in pieces with a short transaction each, so that other chats can write. An entry records the import, and /undo of its
change reverts all of it. If the process is killed, the finished pieces stay, /undo reverts them too, and importing the
file again continues.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from bot.features.imports.detection import Found, detect_readers, readable
from bot.features.imports.items import UNREADABLE_KINDS, ImportedMemory, ImportedMessage, ImportRefused, Item
from bot.features.imports.known import KnownMessages, Resolution, StoredConversation, read_known, resolve_chats
from bot.features.imports.neighbours import find_neighbour
from bot.features.imports.opening import opened_source
from bot.features.imports.planning import CANT_BE_KEPT, Piece, Preparation, plan_pieces
from bot.features.imports.reporting import (
    ImportReport,
    WhoIsUser,
    describe,
    format_counts,
    format_left_out,
    list_speakers,
)
from bot.features.imports.source import DAMAGED, ImportSource, PartKind, make_file_name
from bot.features.imports.writing import (
    Writing,
    append_messages,
    begin_conversation,
    change_messages,
    divide_by_conversation,
    insert_imported,
    insert_messages,
    is_at_end,
    slice_messages,
    slice_steps,
    store_source_ids,
)
from config.texts import N_, _
from memory.clock import Clock, TimezoneLookup, system_clock
from memory.errors import MemoryRefused
from memory.facts.fact import Doubt
from memory.ledger.ledger import Ledger
from memory.log.sessions import Session
from memory.store.database import Connection, Database
from memory.store.entry import Author, Entry, Kind, NewEntry, Operation
from memory.store.entry_rows import get_or_create_owner_id
from memory.transfer.file_importer import FileSummary

Progress = Callable[[int, int], None]
"""Called with the number of written messages and memories, and the total."""
_Planned = tuple[str, Piece | ImportedMemory]
"""The program and what to write of it."""


T = TypeVar("T")
UNDONE = N_("The import was undone while it was running, so it has stopped.")
_BATCH_PIECES = 50
_BATCH_CHARS = 1_000_000
"""Maximum number of pieces, and of their characters, that are read in one call of a thread."""
MEMORIES_PER_WRITE = 20
_MAX_READER_THREADS = 1
"""A second thread would double the delay of every step of a turn."""


@dataclass(frozen=True, slots=True)
class ImportDone:
    """The result of an import and its number for /undo, or None if there was nothing new."""

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
        """Report what an import would add, without writing. Raise ImportRefused for a damaged or unknown file."""
        async with self._opened(path) as source:
            plan = await self._detect(source, session)
            return await self._in_thread(_inspect, source, plan)

    async def run(
        self,
        path: Path,
        session: Session,
        progress: Progress = lambda _written, _all: None,
        *,
        me: str | None = None,
        asks: bool = False,
    ) -> ImportDone:
        """Import the new parts of a file into a session. Raise ImportRefused if it is damaged or unknown.

        Args:
            me: The speaker who is the user in chats that don't say it. An empty string if it is none of them. It is
                remembered for later imports.
            asks: Raise WhoIsUser if the file has such chats and the speaker isn't known.
        """
        async with self._opened(path) as source:
            plan = await self._detect(source, session, me)
            expected = await self._in_thread(_inspect, source, plan)
            if asks and me is None and expected.asks:
                raise WhoIsUser(expected)
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

            async def advance() -> list[_Planned]:
                progress(report.messages + report.memories, expected.messages + expected.memories)
                return await self._in_thread(_next_batch, source, items)

            return await self._write(session, plan, report, advance)

    async def preview_file(self, path: Path, session: Session) -> FileSummary:
        """Look at a file, as FileImporter defines it."""
        report = await self.look(path, session)
        lines = format_left_out(report)
        if report.asks:
            lines.append(str(WhoIsUser(report)))
        return FileSummary(report.program, format_counts(report), lines)

    async def import_file(self, path: Path, session: Session) -> FileSummary:
        """Import a file, as FileImporter defines it."""
        done = await self.run(path, session, asks=True)
        return FileSummary(done.report.program, describe(done.report), format_left_out(done.report), done.change)

    @contextlib.asynccontextmanager
    async def _opened(self, path: Path) -> AsyncIterator[ImportSource]:
        with contextlib.ExitStack() as stack:
            yield await self._in_thread(stack.enter_context, opened_source(path))

    async def _in_thread(self, function: Callable[..., T], *args: object) -> T:
        async with self._free:
            return await asyncio.to_thread(function, *args)

    async def _detect(self, source: ImportSource, session: Session, me: str | None = None) -> _Plan:
        """Find the readers for a file, and what is known of their programs."""
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

    async def _write(
        self,
        session: Session,
        plan: _Plan,
        report: ImportReport,
        advance: Callable[[], Awaitable[list[_Planned]]],
    ) -> ImportDone:
        """Write the batches of pieces that `advance` returns. The report counts them as they are read."""
        async with self._ledger.change(session.owner, Operation.IMPORT, Author.IMPORT) as change:
            text = _("An import from {program} has started.", program=report.program)
            record = await change.add(NewEntry(text, stem="import", topic=report.program, author=Author.IMPORT))
        assert change.number is not None, "an entry was added"  # noqa: S101  # states what a change does
        writing = Writing(session, report.program, record, change.number)
        try:
            while batch := await advance():
                await self._write_some(writing, plan, batch, report)
        finally:
            # The entry also describes an import that was interrupted.
            async with self._ledger.change(
                session.owner, Operation.IMPORT, Author.IMPORT, continues=writing.change
            ) as last:
                with contextlib.suppress(MemoryRefused):  # The import was undone.
                    await last.rewrite(await last.get(record.name), describe(report))
        return ImportDone(report, writing.change)

    async def _write_some(self, writing: Writing, plan: _Plan, batch: Sequence[_Planned], report: ImportReport) -> None:
        memories: dict[str, list[ImportedMemory]] = {}
        for program, item in batch:
            writing.program = program
            if isinstance(item, ImportedMemory):
                memories.setdefault(program, []).append(item)
            else:
                await self._write_piece(writing, plan.known[program], item)
        for program, found in memories.items():
            writing.program = program
            for start in range(0, len(found), MEMORIES_PER_WRITE):
                await self._write_memories(writing, found[start : start + MEMORIES_PER_WRITE], report)

    async def _write_piece(self, writing: Writing, known: KnownMessages, piece: Piece) -> None:
        """Write what is new in a conversation, with a transaction for every few messages."""
        places = _find_places(writing, known, piece)
        if places is None:
            # The parts of a new chat stay as they are in the file.
            messages = [step.message for step in piece.steps if step.message is not None]
            new = await self._write_conversation(writing, piece, messages)
            if piece.added is not None:
                writing.places.setdefault((writing.program, piece.added), []).append(new)
            return
        steps = writing.find_present(piece.steps)
        changed = [step for step in steps if step.stored and step.message is not None]
        for batch in slice_steps(changed):
            async with self._writing(writing) as connection:
                await change_messages(connection, writing, batch)
        if identified := [step for step in steps if step.stored and step.source_id]:
            async with self._writing(writing) as connection:
                await store_source_ids(connection, identified)
        for addition in divide_by_conversation(piece, places):
            place = addition.conversation
            if place is None:
                places.append(await self._write_conversation(writing, piece, addition.messages))
            elif is_at_end(addition):
                place = await self._append(writing, place, addition.messages, is_own=place.id in writing.own)
                places[:] = [place if other.id == place.id else other for other in places]
            else:
                async with self._writing(writing) as connection:
                    place = await insert_messages(connection, writing, addition)
                places[:] = [place if other.id == place.id else other for other in places]
            places.sort(key=lambda place: (place.first, place.id))

    async def _write_conversation(
        self, writing: Writing, piece: Piece, messages: Sequence[ImportedMessage]
    ) -> StoredConversation:
        first, *others = slice_messages(messages)
        async with self._writing(writing) as connection:
            place = await begin_conversation(connection, writing, piece, first)
        for batch in others:
            async with self._writing(writing) as connection:
                place = await append_messages(connection, writing, place, batch, is_own=True)
        writing.own.add(place.id)
        return place

    async def _append(
        self, writing: Writing, place: StoredConversation, messages: Sequence[ImportedMessage], *, is_own: bool
    ) -> StoredConversation:
        for batch in slice_messages(messages):
            async with self._writing(writing) as connection:
                place = await append_messages(connection, writing, place, batch, is_own=is_own)
        return place

    @contextlib.asynccontextmanager
    async def _writing(self, writing: Writing) -> AsyncIterator[Connection]:
        async with self._database.transaction() as connection:
            await _require_not_undone(connection.execute_fetchall, writing.record)
            yield connection

    async def _write_memories(self, writing: Writing, memories: Sequence[ImportedMemory], report: ImportReport) -> None:
        owner = writing.session.owner
        async with self._ledger.change(
            owner, Operation.IMPORT, Author.IMPORT, trusted=False, continues=writing.change
        ) as change:
            await _require_not_undone(change.read, writing.record)
            for memory in memories:
                new = NewEntry(
                    memory.text,
                    stem=Kind.FACT,
                    kind=Kind.FACT,
                    author=Author.IMPORT,
                    trusted=False,
                    valid_from=memory.at,
                    unconfirmed=Doubt.IMPORTED,
                )
                try:
                    entry = await change.add(new)
                except MemoryRefused:
                    report.memories -= 1
                    report.left_out[CANT_BE_KEPT] += 1
                    continue

                await change.write_alongside(entry, partial(_record_memory, writing=writing, memory=memory))

    async def _remember_names(self, owner: str, speakers: Mapping[str, Mapping[str, int]], me: str) -> None:
        """Remember who the user is, or that it is none of the speakers."""
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


def _find_places(writing: Writing, known: KnownMessages, piece: Piece) -> list[StoredConversation] | None:
    """Return the conversations of a chat, or None if it is new."""
    if not piece.chats:
        return None
    key = (writing.program, min(piece.chats))
    if key not in writing.places:
        stored = [place for chat in piece.chats for place in known.conversations.get(chat, ())]
        stored += [place for chat in piece.chats for place in writing.places.get((writing.program, chat), ())]
        writing.places[key] = sorted(stored, key=lambda place: (place.first, place.id))
    return writing.places[key]


@dataclass(frozen=True, slots=True)
class _Plan:
    """The readers for a file, with what is known of their programs."""

    found: dict[str, Found]
    known: dict[str, KnownMessages]
    resolutions: dict[str, dict[int, Resolution]]
    preparations: dict[str, Preparation]


def _inspect(source: ImportSource, plan: _Plan) -> ImportReport:
    report = ImportReport(", ".join(plan.found))
    with readable(source, is_export=True):
        for _planned in _plan(source, plan, report):
            pass
    if report.is_empty and not report.known and not report.left_out.keys().isdisjoint(UNREADABLE_KINDS):
        raise ImportRefused(_(DAMAGED, file=source.path.name), is_export=True)
    return report


def _read(source: ImportSource, found: Found) -> Iterator[Item]:
    """Yield the items of one program, which may have several formats."""
    for reader, names in found:
        yield from reader.read(source, names)


def _resolve(
    source: ImportSource,
    found: dict[str, Found],
    known: dict[str, KnownMessages],
    preparations: dict[str, Preparation],
) -> dict[str, dict[int, Resolution]]:
    """Find the stored chats for those of the file that have no ids."""
    with readable(source, is_export=True):
        return {
            name: resolve_chats(preparations[name].prepare_all(_read(source, readers)), known[name])
            for name, readers in found.items()
        }


def _plan(source: ImportSource, plan: _Plan, report: ImportReport) -> Iterator[_Planned]:
    """Yield the new pieces and memories of each program, and count all items in the report."""
    for name, found in plan.found.items():
        pieces = plan_pieces(
            _read(source, found), plan.known[name], plan.resolutions[name], report, name, plan.preparations[name]
        )
        for planned in pieces:
            yield name, planned
    taken = {part for found in plan.found.values() for _reader, parts in found for part in parts}
    for part in source.find_kind(PartKind.JSON):
        if part not in taken and find_neighbour(source.detect_prefixes(part)):
            report.left_out[N_("exports of programs that I can't read")] += 1


def _next_batch(source: ImportSource, items: Iterator[_Planned]) -> list[_Planned]:
    batch: list[_Planned] = []
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


async def _require_not_undone(read: Callable[..., Awaitable[Iterable[object]]], record: Entry) -> None:
    """Raise ImportRefused if the import was undone in the meantime."""
    if not list(await read("SELECT 1 FROM entries WHERE id = ?", (record.id,))):
        raise ImportRefused(_(UNDONE))


async def _record_memory(connection: Connection, _entry: Entry, writing: Writing, memory: ImportedMemory) -> None:
    await insert_imported(connection, writing, memory.source_id)
