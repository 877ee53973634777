"""Import from other programs: conversations go into the log, memories become unconfirmed entries.

A file is read twice: first completely, so that a damaged one changes nothing, then in pieces with a short transaction
each, so that other chats can write. An entry records the import, and /undo of its change reverts all of it. If the
process is killed, the finished pieces stay, /undo reverts them too, and importing the file again continues.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from bot.features.imports.detection import Found, detect_readers, readable
from bot.features.imports.items import (
    UNREADABLE_KINDS,
    ImportedMemory,
    ImportedMessage,
    ImportRefused,
)
from bot.features.imports.neighbours import find_neighbour
from bot.features.imports.opening import opened_source
from bot.features.imports.planning import (
    CANT_BE_KEPT,
    CHARS_PER_WRITE,
    MEMORIES_PER_WRITE,
    ImportReport,
    Part,
    Piece,
    plan_pieces,
)
from bot.features.imports.source import DAMAGED, ImportSource, PartKind, make_file_name
from config.texts import N_, _, ngettext
from memory.clock import Clock, TimezoneLookup, system_clock, to_text
from memory.errors import MemoryRefused
from memory.facts.fact import Doubt
from memory.ledger.ledger import Ledger
from memory.log.sessions import Session
from memory.messages import Provenance, Role
from memory.store.database import Connection, Database
from memory.store.entry import Author, Entry, Kind, NewEntry, Operation
from memory.store.entry_rows import find_owner_id, get_or_create_owner_id
from memory.store.index import touching_conversation
from memory.transfer.file_importer import FileSummary

Progress = Callable[[int, int], None]
"""Called with the number of written messages and memories, and the total."""
_Known = dict[str, dict[str, list[Part]]]
"""Earlier imports by program and by the id in that program."""
_Planned = tuple[str, Piece | ImportedMemory]
"""The program and what to write of it."""

T = TypeVar("T")
UNDONE = N_("The import was undone while it was running, so it has stopped.")
_BATCH_PIECES = 50
"""Maximum number of pieces that are read in one call of a thread."""
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
        self._database = database
        self._ledger = ledger
        self._zone_of = zone_of
        self._clock = clock
        self._free = asyncio.Semaphore(_MAX_READER_THREADS)

    async def look(self, path: Path, session: Session) -> ImportReport:
        """Report what an import would add, without writing. Raise ImportRefused for a damaged or unknown file."""
        known = await self._read_known(session.owner)
        async with self._opened(path) as source:
            _found, report = await self._in_thread(self._inspect, source, session, known)
            return report

    async def run(self, path: Path, session: Session, progress: Progress = lambda _written, _all: None) -> ImportDone:
        """Import the new parts of a file into a session. Raise ImportRefused if it is damaged or unknown."""
        known = await self._read_known(session.owner)
        async with self._opened(path) as source:
            found, expected = await self._in_thread(self._inspect, source, session, known)
            if expected.is_empty:
                return ImportDone(expected, None)
            report = ImportReport(expected.program)
            items = _plan(source, found, known, report)

            async def advance() -> list[_Planned]:
                progress(report.messages + report.memories, expected.messages + expected.memories)
                return await self._in_thread(_next_batch, source, items)

            return await self._write(session, report, advance)

    async def preview_file(self, path: Path, session: Session) -> FileSummary:
        """Look at a file, as FileImporter defines it."""
        report = await self.look(path, session)
        return FileSummary(report.program, format_counts(report), format_left_out(report))

    async def import_file(self, path: Path, session: Session) -> FileSummary:
        """Import a file, as FileImporter defines it."""
        done = await self.run(path, session)
        return FileSummary(done.report.program, describe(done.report), format_left_out(done.report), done.change)

    @contextlib.asynccontextmanager
    async def _opened(self, path: Path) -> AsyncIterator[ImportSource]:
        with contextlib.ExitStack() as stack:
            yield await self._in_thread(stack.enter_context, opened_source(path))

    async def _in_thread(self, function: Callable[..., T], *args: object) -> T:
        async with self._free:
            return await asyncio.to_thread(function, *args)

    def _inspect(self, source: ImportSource, session: Session, known: _Known) -> tuple[Found, ImportReport]:
        zone = self._zone_of(session.id)
        found = detect_readers(source, zone, self._clock().astimezone(zone).date())
        report = ImportReport(", ".join(dict.fromkeys(reader.name for reader, _names in found)))
        with readable(source):
            for _planned in _plan(source, found, known, report):
                pass
        if report.is_empty and not report.known and not report.left_out.keys().isdisjoint(UNREADABLE_KINDS):
            raise ImportRefused(_(DAMAGED, file=source.path.name))
        return found, report

    async def _write(
        self, session: Session, report: ImportReport, advance: Callable[[], Awaitable[list[_Planned]]]
    ) -> ImportDone:
        """Write the batches of pieces that `advance` returns. The report counts them as they are read."""
        async with self._ledger.change(session.owner, Operation.IMPORT, Author.IMPORT) as change:
            text = _("An import from {program} has started.", program=report.program)
            record = await change.add(NewEntry(text, stem="import", topic=report.program, author=Author.IMPORT))
        assert change.number is not None, "an entry was added"  # noqa: S101  # states what a change does
        writing = _Writing(session, report.program, record, change.number)
        try:
            while batch := await advance():
                await self._write_some(writing, batch, report)
        finally:
            # The entry also describes an import that was interrupted.
            async with self._ledger.change(
                session.owner, Operation.IMPORT, Author.IMPORT, continues=writing.change
            ) as last:
                with contextlib.suppress(MemoryRefused):  # The import was undone.
                    await last.rewrite(await last.get(record.name), describe(report))
        return ImportDone(report, writing.change)

    async def _write_some(self, writing: _Writing, batch: Sequence[_Planned], report: ImportReport) -> None:
        memories: dict[str, list[ImportedMemory]] = {}
        for program, item in batch:
            writing.program = program
            if isinstance(item, ImportedMemory):
                memories.setdefault(program, []).append(item)
                continue
            async with self._database.transaction() as connection:
                await _require_not_undone(connection.execute_fetchall, writing.record)
                await _write_piece(connection, writing, item)
        for program, found in memories.items():
            writing.program = program
            for start in range(0, len(found), MEMORIES_PER_WRITE):
                await self._write_memories(writing, found[start : start + MEMORIES_PER_WRITE], report)

    async def _write_memories(
        self, writing: _Writing, memories: Sequence[ImportedMemory], report: ImportReport
    ) -> None:
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

    async def _read_known(self, owner: str) -> _Known:
        owner_id = await find_owner_id(self._database.rows, owner)
        known: _Known = {}
        for row in await self._database.rows(
            "SELECT * FROM imported WHERE owner_id = ? AND NOT undone ORDER BY id", (owner_id,)
        ):
            part = Part(row["messages"], row["digest"])
            known.setdefault(row["program"], {}).setdefault(row["source_id"], []).append(part)
        return known


@dataclass(slots=True)
class _Writing:
    """A running import.

    Attributes:
        program: The program of the next piece.
        conversation: The id of the conversation to which the next piece belongs.
    """

    session: Session
    program: str
    record: Entry
    change: int
    conversation: int = 0


def describe(report: ImportReport) -> str:
    return _("Imported from {program}: {what}.", program=report.program, what=format_counts(report))


def format_counts(report: ImportReport) -> str:
    parts = []
    if report.conversations and report.first is not None and report.last is not None:
        parts.append(
            ngettext(
                "{n} conversation ({messages} messages, {first} to {last})",
                "{n} conversations ({messages} messages, {first} to {last})",
                report.conversations,
                messages=report.messages,
                first=f"{report.first:%Y-%m-%d}",
                last=f"{report.last:%Y-%m-%d}",
            )
        )
    if report.memories:
        parts.append(ngettext("{n} memory", "{n} memories", report.memories))
    return ", ".join(parts) or _("nothing new")


def format_left_out(report: ImportReport) -> list[str]:
    lines = []
    if report.known:
        lines.append(_("Already there: {n}.", n=report.known))
    if report.left_out:
        what = ", ".join(f"{_(what)} ({count})" for what, count in report.left_out.most_common())
        lines.append(_("Left out: {what}.", what=what))
    if report.secrets:
        lines.append(ngettext("{n} message had a secret masked.", "{n} messages had secrets masked.", report.secrets))
    return lines


def _plan(source: ImportSource, found: Found, known: _Known, report: ImportReport) -> Iterator[_Planned]:
    """Yield the new pieces and memories of each program, and count all items in the report."""
    for reader, names in found:
        for planned in plan_pieces(reader.read(source, names), known.get(reader.name, {}), report):
            yield reader.name, planned
    taken = {name for _reader, names in found for name in names}
    for name in source.find_kind(PartKind.JSON):
        if name not in taken and find_neighbour(source.detect_prefixes(name)):
            report.left_out[N_("exports of programs that I can't read")] += 1


def _next_batch(source: ImportSource, items: Iterator[_Planned]) -> list[_Planned]:
    batch: list[_Planned] = []
    chars = 0
    with readable(source):
        while len(batch) < _BATCH_PIECES and chars < _BATCH_PIECES * CHARS_PER_WRITE:
            planned = next(items, None)
            if planned is None:
                break
            batch.append(planned)
            _program, item = planned
            chars += sum(len(m.text) for m in item.messages) if isinstance(item, Piece) else len(item.text)
    return batch


async def _require_not_undone(read: Callable[..., Awaitable[Iterable[object]]], record: Entry) -> None:
    """Raise ImportRefused if the import was undone in the meantime."""
    if not list(await read("SELECT 1 FROM entries WHERE id = ?", (record.id,))):
        raise ImportRefused(_(UNDONE))


async def _write_piece(connection: Connection, writing: _Writing, piece: Piece) -> None:
    first, last = to_text(piece.messages[0].at), to_text(piece.messages[-1].at)
    if piece.begins:
        owner_id = await get_or_create_owner_id(connection, writing.session.owner)
        cursor = await connection.execute(
            "INSERT INTO conversations (session_id, owner_id, started_at, ended_at) VALUES (?, ?, ?, ?)",
            (writing.session.id, owner_id, first, last),
        )
        writing.conversation = cursor.lastrowid or 0
        await _insert_imported(connection, writing, piece.source_id, piece.so_far, writing.conversation)
    else:
        await connection.execute(
            "UPDATE imported SET messages = ?, digest = ? WHERE conversation_id = ?",
            (piece.so_far.messages, piece.so_far.digest, writing.conversation),
        )
        await connection.execute("UPDATE conversations SET ended_at = ? WHERE id = ?", (last, writing.conversation))
    async with touching_conversation(connection, writing.conversation):
        for exchange in _group_exchanges(piece.messages):
            await _insert_exchange(connection, writing, exchange)


async def _insert_exchange(connection: Connection, writing: _Writing, exchange: Sequence[ImportedMessage]) -> None:
    cursor = await connection.execute(
        "INSERT INTO turns (conversation_id, outcome, started_at, finished_at) VALUES (?, 'answered', ?, ?)",
        (writing.conversation, to_text(exchange[0].at), to_text(exchange[-1].at)),
    )
    turn = cursor.lastrowid
    await connection.executemany(
        "INSERT INTO messages (conversation_id, turn_id, role, content, speaker, provenance, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (
                writing.conversation,
                turn,
                Role.ASSISTANT if message.by_assistant else Role.USER,
                message.text,
                writing.program if message.by_assistant else message.speaker,
                Provenance.IMPORTED,
                to_text(message.at),
            )
            for message in exchange
        ],
    )


def _group_exchanges(messages: Sequence[ImportedMessage]) -> Iterator[list[ImportedMessage]]:
    """Yield each message of a person with the answers of the assistant to it."""
    exchange: list[ImportedMessage] = []
    for message in messages:
        if exchange and not message.by_assistant:
            yield exchange
            exchange = []
        exchange.append(message)
    if exchange:
        yield exchange


async def _record_memory(connection: Connection, _entry: Entry, writing: _Writing, memory: ImportedMemory) -> None:
    await _insert_imported(connection, writing, memory.source_id, Part(0, memory.source_id))


async def _insert_imported(
    connection: Connection, writing: _Writing, source_id: str, part: Part, conversation: int | None = None
) -> None:
    await connection.execute(
        "INSERT INTO imported (owner_id, program, source_id, entry_id, conversation_id, messages, digest)"
        " SELECT owner_id, ?, ?, id, ?, ?, ? FROM entries WHERE id = ?",
        (writing.program, source_id, conversation, part.messages, part.digest, writing.record.id),
    )
