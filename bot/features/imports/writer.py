"""Writes the new content of a file in short transactions, so that other chats can write in between.

An entry records the import. An /undo of its change reverts the whole import.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby

from bot.features.imports.inserting import divide_by_conversation, insert_messages, is_at_end
from bot.features.imports.items import ImportedMemory, ImportedMessage, ImportRefused
from bot.features.imports.known import KnownMessages, StoredConversation
from bot.features.imports.planning import NOT_STORABLE, Piece
from bot.features.imports.reporting import ImportReport, describe
from bot.features.imports.writing import (
    Writing,
    append_messages,
    begin_conversation,
    change_messages,
    insert_imported,
    slice_messages,
    slice_pieces,
    slice_steps,
    store_source_ids,
)
from config.texts import N_, _
from memory.errors import MemoryRefused
from memory.facts.fact import Doubt
from memory.ledger.ledger import Ledger
from memory.log.sessions import Session
from memory.store.database import Connection, Database
from memory.store.entry import Author, Entry, Kind, NewEntry, Operation

Planned = tuple[str, Piece | ImportedMemory]
"""A program, and a piece or memory from it to write."""
UNDONE = N_("The import was undone while it was running, so it has stopped.")
MEMORIES_PER_WRITE = 20


@contextlib.asynccontextmanager
async def open_writer(
    database: Database, ledger: Ledger, session: Session, known: Mapping[str, KnownMessages], report: ImportReport
) -> AsyncIterator[ImportWriter]:
    """Record an import as an entry, and describe it there at the end, even if it was interrupted."""
    async with ledger.change(session.owner, Operation.IMPORT, Author.IMPORT) as change:
        text = _("An import from {program} has started.", program=report.program)
        record = await change.add(NewEntry(text, stem="import", topic=report.program, author=Author.IMPORT))
    assert change.number is not None, "an entry was added"  # noqa: S101  # states what a change does
    try:
        yield ImportWriter(database, ledger, known, report, Writing(session, report.program, record, change.number))
    finally:
        async with ledger.change(session.owner, Operation.IMPORT, Author.IMPORT, continues=change.number) as last:
            with contextlib.suppress(MemoryRefused):  # The import was undone.
                await last.rewrite(await last.get(record.name), describe(report))


class ImportWriter:
    """Writes the new messages and memories of a file.

    Args:
        known: The stored messages of each program.
        report: The report with all items of the file. Memories that can't be stored are moved to its skipped items.
    """

    def __init__(
        self,
        database: Database,
        ledger: Ledger,
        known: Mapping[str, KnownMessages],
        report: ImportReport,
        writing: Writing,
    ) -> None:
        self._database = database
        self._ledger = ledger
        self._known = known
        self._report = report
        self._writing = writing
        self.written = 0
        """The number of messages and memories written so far."""

    @property
    def change(self) -> int:
        return self._writing.change

    async def write(self, batch: Sequence[Planned]) -> None:
        memories: defaultdict[str, list[ImportedMemory]] = defaultdict(list)
        pieces: list[tuple[str, Piece]] = []
        for program, item in batch:
            if isinstance(item, ImportedMemory):
                memories[program].append(item)
            else:
                pieces.append((program, item))
        for (program, is_new), group in groupby(pieces, key=lambda planned: (planned[0], not planned[1].chats)):
            self._writing.program = program
            same_kind = [piece for _program, piece in group]
            if is_new:
                for few_pieces in slice_pieces(same_kind):
                    await self._write_new(few_pieces)
            else:
                for piece in same_kind:
                    await self._add_to_chat(self._known[program], piece)
            self.written += sum(len(piece.messages) for piece in same_kind)
        for program, found in memories.items():
            self._writing.program = program
            for start in range(0, len(found), MEMORIES_PER_WRITE):
                await self._write_memories(found[start : start + MEMORIES_PER_WRITE])
            self.written += len(found)

    async def _write_new(self, pieces: Sequence[Piece]) -> None:
        """Write pieces of new chats unchanged: several small pieces, or a single one of any size."""
        writing = self._writing
        for piece, conversation in zip(
            pieces, await self._begin([(piece, piece.messages) for piece in pieces]), strict=True
        ):
            if piece.added is not None:
                writing.conversations.setdefault((writing.program, piece.added), []).append(conversation)

    async def _begin(self, parts: Sequence[tuple[Piece, Sequence[ImportedMessage]]]) -> list[StoredConversation]:
        """Create conversations in one transaction. A single large conversation is continued in further transactions."""
        writing = self._writing
        conversations = []
        rest: list[list[ImportedMessage]] = []
        async with self._transaction() as connection:
            for piece, messages in parts:
                first, *rest = slice_messages(messages)
                conversations.append(await begin_conversation(connection, writing, piece, first))
        writing.own.update(conversation.id for conversation in conversations)
        for batch in rest:
            async with self._transaction() as connection:
                conversations[-1] = await append_messages(connection, writing, conversations[-1], batch, is_own=True)
        return conversations

    async def _add_to_chat(self, known: KnownMessages, piece: Piece) -> None:
        """Write the changes of a chat that is stored or was written earlier in this import."""
        writing = self._writing
        conversations = _find_conversations(writing, known, piece)
        steps = writing.find_present(piece.steps)
        changed = [step for step in steps if step.stored and step.message is not None]
        for batch in slice_steps(changed):
            async with self._transaction() as connection:
                await change_messages(connection, writing, batch)
        if identified := [step for step in steps if step.stored and step.source_id]:
            async with self._transaction() as connection:
                await store_source_ids(connection, identified)
        for addition in divide_by_conversation(piece, conversations):
            conversation = addition.conversation
            if conversation is None:
                (new,) = await self._begin([(piece, addition.messages)])
                conversations.append(new)
            elif is_at_end(addition):
                conversation = await self._append(
                    conversation, addition.messages, is_own=conversation.id in writing.own
                )
                conversations[:] = [conversation if other.id == conversation.id else other for other in conversations]
            else:
                async with self._transaction() as connection:
                    conversation = await insert_messages(connection, writing, addition)
                conversations[:] = [conversation if other.id == conversation.id else other for other in conversations]
            conversations.sort(key=lambda conversation: (conversation.first, conversation.id))

    async def _append(
        self, conversation: StoredConversation, messages: Sequence[ImportedMessage], *, is_own: bool
    ) -> StoredConversation:
        for batch in slice_messages(messages):
            async with self._transaction() as connection:
                conversation = await append_messages(connection, self._writing, conversation, batch, is_own=is_own)
        return conversation

    @contextlib.asynccontextmanager
    async def _transaction(self) -> AsyncIterator[Connection]:
        async with self._database.transaction() as connection:
            await _require_not_undone(connection.execute_fetchall, self._writing.record)
            yield connection

    async def _write_memories(self, memories: Sequence[ImportedMemory]) -> None:
        writing = self._writing
        async with self._ledger.change(
            writing.session.owner, Operation.IMPORT, Author.IMPORT, trusted=False, continues=writing.change
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
                    self._report.memories -= 1
                    self._report.left_out[NOT_STORABLE] += 1
                    continue

                await change.write_alongside(entry, partial(_record_memory, writing=writing, memory=memory))


def _find_conversations(writing: Writing, known: KnownMessages, piece: Piece) -> list[StoredConversation]:
    """Return the conversations of a chat in chronological order."""
    key = (writing.program, min(piece.chats))
    if key not in writing.conversations:
        stored = [conversation for chat in piece.chats for conversation in known.conversations.get(chat, ())]
        stored += [
            conversation
            for chat in piece.chats
            for conversation in writing.conversations.get((writing.program, chat), ())
        ]
        writing.conversations[key] = sorted(stored, key=lambda conversation: (conversation.first, conversation.id))
    return writing.conversations[key]


async def _require_not_undone(read: Callable[..., Awaitable[Iterable[object]]], record: Entry) -> None:
    """Raise ImportRefused if the import was undone in the meantime."""
    if not list(await read("SELECT 1 FROM entries WHERE id = ?", (record.id,))):
        raise ImportRefused(_(UNDONE))


async def _record_memory(connection: Connection, _entry: Entry, writing: Writing, memory: ImportedMemory) -> None:
    await insert_imported(connection, writing, memory.source_id)
