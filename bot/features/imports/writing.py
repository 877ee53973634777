"""Functions that write imported conversations to the log, within the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from bot.features.imports.items import ImportedMessage
from bot.features.imports.known import StoredConversation
from bot.features.imports.planning import Piece, Step
from memory.clock import to_text
from memory.log.sessions import Session
from memory.messages import Provenance, Role
from memory.store.database import Connection
from memory.store.entry import Entry
from memory.store.entry_rows import get_or_create_owner_id
from memory.store.index import touching_conversation, touching_messages

T = TypeVar("T")
MESSAGES_PER_WRITE = 80
CHARS_PER_WRITE = 60_000
"""Limits for one transaction, so that other chats can write in between. Each message is in five indexes."""
COLUMNS = "conversation_id, turn_id, role, content, speaker, provenance, created_at, source_id"
"""The columns of an imported message."""


@dataclass(slots=True)
class Writing:
    """The state of a running import.

    Attributes:
        program: The program of the current piece.
        conversations: The conversations of the chats that have been extended, by program and number of the chat.
        own: The ids of the conversations that this import has created.
        moved: The new ids of messages that this import has written again, by their former ids.
    """

    session: Session
    program: str
    record: Entry
    change: int
    conversations: dict[tuple[str, int], list[StoredConversation]] = field(default_factory=dict)
    own: set[int] = field(default_factory=set)
    moved: dict[int, int] = field(default_factory=dict)

    def find_present(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        """Return the steps with the current ids of their messages."""
        return tuple(
            replace(step, stored=self._follow(step.stored)) if step.stored in self.moved else step for step in steps
        )

    def _follow(self, stored: int | None) -> int | None:
        while stored in self.moved:
            stored = self.moved[stored]
        return stored


def slice_pieces(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """Group small pieces into transactions. A large piece gets its own transaction."""
    group: list[Piece] = []
    messages = chars = 0
    for piece in pieces:
        more, more_chars = len(piece.messages), piece.chars
        if group and (messages + more > MESSAGES_PER_WRITE or chars + more_chars > CHARS_PER_WRITE):
            yield group
            group, messages, chars = [], 0, 0
        group.append(piece)
        messages, chars = messages + more, chars + more_chars
    if group:
        yield group


def slice_messages(messages: Iterable[ImportedMessage]) -> Iterator[list[ImportedMessage]]:
    """Divide messages into batches for short transactions."""
    return _slice(messages, lambda message: len(message.text))


def slice_steps(steps: Iterable[Step]) -> Iterator[list[Step]]:
    """Divide changes of messages into batches for short transactions."""
    return _slice(steps, lambda step: len(step.message.text) if step.message is not None else 0)


def _slice(items: Iterable[T], count_chars: Callable[[T], int]) -> Iterator[list[T]]:
    batch: list[T] = []
    chars = 0
    for item in items:
        more = count_chars(item)
        if batch and (len(batch) == MESSAGES_PER_WRITE or chars + more > CHARS_PER_WRITE):
            yield batch
            batch, chars = [], 0
        batch.append(item)
        chars += more
    if batch:
        yield batch


async def begin_conversation(
    connection: Connection, writing: Writing, piece: Piece, messages: Sequence[ImportedMessage]
) -> StoredConversation:
    """Create a conversation with its first messages."""
    owner_id = await get_or_create_owner_id(connection, writing.session.owner)
    times = [to_text(message.at) for message in messages]
    cursor = await connection.execute(
        "INSERT INTO conversations (session_id, owner_id, started_at, ended_at, title) VALUES (?, ?, ?, ?, ?)",
        (writing.session.id, owner_id, min(times), max(times), piece.title or None),
    )
    conversation_id = cursor.lastrowid or 0
    await insert_imported(connection, writing, piece.source_id, conversation_id)
    async with touching_conversation(connection, conversation_id):
        await append_exchanges(connection, writing, conversation_id, messages)
    return StoredConversation(conversation_id, min(times), max(times), len(messages))


async def append_messages(
    connection: Connection,
    writing: Writing,
    conversation: StoredConversation,
    messages: Sequence[ImportedMessage],
    *,
    is_own: bool,
) -> StoredConversation:
    """Add messages to the end of a conversation.

    Args:
        is_own: Whether this import has created the conversation.
    """
    async with touching_conversation(connection, conversation.id):
        ids = await append_exchanges(connection, writing, conversation.id, messages)
    if not is_own:
        await record_added(connection, writing, ids)
    return await extend_conversation(connection, conversation, messages)


async def append_exchanges(
    connection: Connection, writing: Writing, conversation_id: int, messages: Sequence[ImportedMessage]
) -> list[int]:
    """Write messages to the end of a conversation and return their ids. The caller updates the index."""
    turn, number = await _read_last_id(connection, "turns"), await _read_last_id(connection, "messages")
    first = number + 1
    turns: list[tuple[object, ...]] = []
    rows: list[tuple[object, ...]] = []
    for exchange in _group_exchanges(messages):
        turn += 1
        turns.append((turn, conversation_id, to_text(exchange[0].at), to_text(exchange[-1].at)))
        for message in exchange:
            number += 1
            rows.append((number, *create_row(writing, conversation_id, turn, message)))
    await connection.executemany(
        "INSERT INTO turns (id, conversation_id, outcome, started_at, finished_at) VALUES (?, ?, 'answered', ?, ?)",
        turns,
    )
    await connection.executemany(f"INSERT INTO messages (id, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    return [*range(first, number + 1)]


async def _read_last_id(connection: Connection, table: str) -> int:
    rows = await connection.execute_fetchall("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,))
    return next((int(row[0]) for row in rows), 0)


def create_row(writing: Writing, conversation_id: int, turn: int, message: ImportedMessage) -> tuple[object, ...]:
    """Return the values of COLUMNS for a message."""
    return (
        conversation_id,
        turn,
        Role.ASSISTANT if message.by_assistant else Role.USER,
        message.text,
        writing.program if message.by_assistant else message.speaker,
        Provenance.FOREIGN if message.is_foreign else Provenance.IMPORTED,
        to_text(message.at),
        message.id or None,
    )


async def record_added(connection: Connection, writing: Writing, ids: Sequence[int]) -> None:
    await connection.executemany(
        "INSERT INTO import_edits (message_id, entry_id) VALUES (?, ?)", [(number, writing.record.id) for number in ids]
    )


async def extend_conversation(
    connection: Connection, conversation: StoredConversation, messages: Sequence[ImportedMessage]
) -> StoredConversation:
    times = [conversation.first, conversation.last, *(to_text(message.at) for message in messages)]
    await connection.execute(
        "UPDATE conversations SET started_at = ?, ended_at = ? WHERE id = ?", (min(times), max(times), conversation.id)
    )
    return replace(conversation, first=min(times), last=max(times), messages=conversation.messages + len(messages))


async def change_messages(connection: Connection, writing: Writing, steps: Sequence[Step]) -> None:
    """Replace the texts of messages, except messages with forgotten words."""
    forgotten_ids = {
        row[0]
        for row in await connection.execute_fetchall(
            "SELECT message_id FROM forgotten WHERE message_id IN (SELECT value FROM json_each(?))",
            (json.dumps([step.stored for step in steps]),),
        )
    }
    changes = [(step.message.text, step.stored) for step in steps if step.message and step.stored not in forgotten_ids]
    async with touching_messages(connection, [number for _text, number in changes if number is not None]):
        await connection.executemany(
            "INSERT INTO import_edits (message_id, entry_id, former) SELECT id, ?, content FROM messages WHERE id = ?",
            [(writing.record.id, number) for _text, number in changes],
        )
        await connection.executemany("UPDATE messages SET content = ? WHERE id = ?", changes)
    await connection.executemany("DELETE FROM vectors WHERE row = 2 * ? + 1", [(number,) for _text, number in changes])


async def store_source_ids(connection: Connection, steps: Sequence[Step]) -> None:
    """Store the other program's ids for messages that were imported without ids."""
    await connection.executemany(
        "UPDATE messages SET source_id = ? WHERE id = ? AND source_id IS NULL",
        [(step.source_id, step.stored) for step in steps if step.source_id and step.stored],
    )


def _group_exchanges(messages: Sequence[ImportedMessage]) -> Iterator[list[ImportedMessage]]:
    """Yield each message of a person together with the assistant's answers to it."""
    exchange: list[ImportedMessage] = []
    for message in messages:
        if exchange and not message.by_assistant:
            yield exchange
            exchange = []
        exchange.append(message)
    if exchange:
        yield exchange


async def insert_imported(
    connection: Connection, writing: Writing, source_id: str, conversation_id: int | None = None
) -> None:
    await connection.execute(
        "INSERT INTO imported (owner_id, program, source_id, entry_id, conversation_id, messages, digest)"
        " SELECT owner_id, ?, ?, id, ?, 0, '' FROM entries WHERE id = ?",
        (writing.program, source_id, conversation_id, writing.record.id),
    )
