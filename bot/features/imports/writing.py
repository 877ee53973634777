"""Writes of imported conversations into the log.

The messages of a conversation are read in the order of their ids. If a later export has new messages between the stored
ones, these and the messages after them are written again, so that they get ids in the right order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from bot.features.imports.items import MAX_CHAT_MESSAGES, ImportedMessage
from bot.features.imports.known import StoredConversation
from bot.features.imports.planning import Piece, Step
from memory.clock import to_text
from memory.log.sessions import Session
from memory.messages import Provenance, Role
from memory.store.database import Connection, Row
from memory.store.entry import Entry
from memory.store.entry_rows import get_or_create_owner_id
from memory.store.index import touching_conversation, touching_messages

T = TypeVar("T")
MESSAGES_PER_WRITE = 40
CHARS_PER_WRITE = 20_000
_COPIED = (
    "conversation_id, role, content, speaker, provenance, tool_calls, tool_call_id, created_at, media, provider_data,"
    " source_id"
)


@dataclass(slots=True)
class Writing:
    """A running import.

    Attributes:
        program: The program of the next piece.
        places: The conversations of the chats that are added to, by program and number of the chat.
        own: The conversations that this import has created.
        moved: The present ids of messages that this import has written again.
    """

    session: Session
    program: str
    record: Entry
    change: int
    places: dict[tuple[str, int], list[StoredConversation]] = field(default_factory=dict)
    own: set[int] = field(default_factory=set)
    moved: dict[int, int] = field(default_factory=dict)

    def find_present(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        """Return the steps with the present ids of their messages."""
        return tuple(
            replace(step, stored=self._follow(step.stored)) if step.stored in self.moved else step for step in steps
        )

    def _follow(self, stored: int | None) -> int | None:
        while stored in self.moved:
            stored = self.moved[stored]
        return stored


@dataclass(frozen=True, slots=True)
class Addition:
    """New messages for one conversation, or for a new one if it is None.

    Attributes:
        steps: All messages of the export from the first to the last new one, with the stored ones between them.
    """

    conversation: StoredConversation | None
    steps: tuple[Step, ...]

    @property
    def messages(self) -> list[ImportedMessage]:
        return [step.message for step in self.steps if step.stored is None and step.message is not None]


def divide_by_conversation(piece: Piece, places: Sequence[StoredConversation]) -> list[Addition]:
    """Divide the new messages of a piece by the conversations to which they are added.

    Args:
        places: The conversations of the chat, in the order of their times.
    """
    additions: list[Addition] = []
    steps: list[Step] = []
    current: StoredConversation | None = None
    has_new, count = False, 0
    for step in piece.steps:
        if step.stored is None and step.message is not None:
            place = _find_place(step.message, places, count, current if has_new else None)
            if has_new and place is not current:
                additions.append(Addition(current, tuple(steps)))
                steps, count = steps[-1:] if steps[-1].stored is not None else [], 0
            current, has_new, count = place, True, count + 1
        steps.append(step)
    if has_new:
        additions.append(Addition(current, tuple(steps)))
    return additions


def is_at_end(addition: Addition) -> bool:
    """Return True if the new messages follow all of their conversation."""
    place, steps = addition.conversation, addition.steps
    first = next(number for number, step in enumerate(steps) if step.stored is None and step.message is not None)
    is_later = all(place is None or to_text(message.at) >= place.last for message in addition.messages)
    return is_later and not any(step.stored is not None for step in steps[first:])


def _find_place(
    message: ImportedMessage, places: Sequence[StoredConversation], added: int, current: StoredConversation | None
) -> StoredConversation | None:
    """Return the conversation that a message belongs to, or None for a new one.

    Args:
        added: The number of messages before it that are added to `current`.
    """
    at = to_text(message.at)
    place = next((place for place in reversed(places) if place.first <= at), None)
    if place is None:
        return None
    if at <= place.last:
        return place
    # After the end. A chat of people is divided.
    more = added if place is current else 0
    is_full = message.speaker is not None and place.messages + more >= MAX_CHAT_MESSAGES
    return None if is_full else place


def slice_messages(messages: Iterable[ImportedMessage]) -> Iterator[list[ImportedMessage]]:
    """Divide messages into short transactions."""
    return _slice(messages, lambda message: len(message.text))


def slice_steps(steps: Iterable[Step]) -> Iterator[list[Step]]:
    """Divide changes of messages into short transactions."""
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
    conversation = cursor.lastrowid or 0
    await insert_imported(connection, writing, piece.source_id, conversation)
    await _append(connection, writing, conversation, messages)
    return StoredConversation(conversation, min(times), max(times), len(messages))


async def append_messages(
    connection: Connection,
    writing: Writing,
    place: StoredConversation,
    messages: Sequence[ImportedMessage],
    *,
    is_own: bool,
) -> StoredConversation:
    """Add messages to the end of a conversation.

    Args:
        is_own: Whether this import has created the conversation.
    """
    ids = await _append(connection, writing, place.id, messages)
    if not is_own:
        await _record_added(connection, writing, ids)
    return await _extend(connection, place, messages)


async def insert_messages(connection: Connection, writing: Writing, addition: Addition) -> StoredConversation:
    """Add messages between those of a conversation, and write the messages after them again."""
    place = addition.conversation
    assert place is not None, "a new conversation has nothing to insert into"  # noqa: S101  # The caller checks it.
    rows = list(
        await connection.execute_fetchall(
            "SELECT id, turn_id, created_at FROM messages WHERE conversation_id = ? ORDER BY id", (place.id,)
        )
    )
    order = _merge(rows, writing.find_present(addition.steps))
    kept = 0
    while kept < len(order) and not isinstance(order[kept], ImportedMessage):
        kept += 1
    if kept == len(rows):
        return await append_messages(connection, writing, place, addition.messages, is_own=False)
    first = rows[kept]["id"]
    moved: dict[int, int] = {}
    added: list[int] = []
    async with touching_conversation(connection, place.id, first_message=first):
        turns: dict[int, int] = {row["turn_id"]: row["turn_id"] for row in rows[:kept]}
        turn = rows[kept - 1]["turn_id"] if kept else None
        next_turns = _list_next_turns(order)
        for position in range(kept, len(order)):
            item = order[position]
            if isinstance(item, ImportedMessage):
                # A new message within an exchange belongs to it.
                is_inside = turn is not None and turns.get(next_turns[position]) == turn
                if turn is None or not (is_inside or item.by_assistant):
                    turn = await _insert_turn(connection, place.id, [item])
                added.append(await _insert_message(connection, writing, place.id, turn, item))
                continue
            if item["turn_id"] not in turns:
                turns[item["turn_id"]] = await _copy_turn(connection, item["turn_id"])
            turn = turns[item["turn_id"]]
            cursor = await connection.execute(
                f"INSERT INTO messages (turn_id, {_COPIED}) SELECT ?, {_COPIED} FROM messages WHERE id = ?",
                (turn, item["id"]),
            )
            moved[item["id"]] = cursor.lastrowid or 0
        await _move_references(connection, place.id, moved)
        await connection.execute(
            "DELETE FROM messages WHERE conversation_id = ? AND id BETWEEN ? AND ?", (place.id, first, rows[-1]["id"])
        )
        await connection.executemany(
            "DELETE FROM turns WHERE id = ?", [(old,) for old, new in turns.items() if old != new]
        )
    await _record_added(connection, writing, added)
    writing.moved.update(moved)
    return await _extend(connection, place, addition.messages)


def _merge(rows: Sequence[Row], steps: Sequence[Step]) -> list[Row | ImportedMessage]:
    """Return the messages in order: as in the file, with the stored messages that it doesn't have by their times."""
    position = {row["id"]: place for place, row in enumerate(rows)}
    known = {step.stored for step in steps if step.stored is not None}
    order: list[Row | ImportedMessage] = []
    done = 0
    for step in steps:
        if step.stored is not None:
            place = position.get(step.stored, -1)
            order += rows[done : place + 1]
            done = max(done, place + 1)
        elif step.message is not None:
            at = to_text(step.message.at)
            while done < len(rows) and rows[done]["created_at"] <= at and rows[done]["id"] not in known:
                order.append(rows[done])
                done += 1
            order.append(step.message)
    return [*order, *rows[done:]]


def _list_next_turns(order: Sequence[Row | ImportedMessage]) -> list[int]:
    """Return for each message the turn of the next stored message, or 0 without one."""
    turns: list[int] = []
    turn = 0
    for item in reversed(order):
        turn = turn if isinstance(item, ImportedMessage) else item["turn_id"]
        turns.append(turn)
    return turns[::-1]


async def _append(
    connection: Connection, writing: Writing, conversation: int, messages: Sequence[ImportedMessage]
) -> list[int]:
    ids: list[int] = []
    async with touching_conversation(connection, conversation):
        for exchange in _group_exchanges(messages):
            turn = await _insert_turn(connection, conversation, exchange)
            ids += [await _insert_message(connection, writing, conversation, turn, message) for message in exchange]
    return ids


async def _insert_turn(connection: Connection, conversation: int, exchange: Sequence[ImportedMessage]) -> int:
    cursor = await connection.execute(
        "INSERT INTO turns (conversation_id, outcome, started_at, finished_at) VALUES (?, 'answered', ?, ?)",
        (conversation, to_text(exchange[0].at), to_text(exchange[-1].at)),
    )
    return cursor.lastrowid or 0


async def _copy_turn(connection: Connection, turn: int) -> int:
    columns = "conversation_id, outcome, failure, started_at, finished_at, note"
    cursor = await connection.execute(
        f"INSERT INTO turns ({columns}) SELECT {columns} FROM turns WHERE id = ?", (turn,)
    )
    return cursor.lastrowid or 0


async def _insert_message(
    connection: Connection, writing: Writing, conversation: int, turn: int, message: ImportedMessage
) -> int:
    cursor = await connection.execute(
        "INSERT INTO messages (conversation_id, turn_id, role, content, speaker, provenance, created_at, source_id)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            conversation,
            turn,
            Role.ASSISTANT if message.by_assistant else Role.USER,
            message.text,
            writing.program if message.by_assistant else message.speaker,
            Provenance.FOREIGN if message.is_foreign else Provenance.IMPORTED,
            to_text(message.at),
            message.id or None,
        ),
    )
    return cursor.lastrowid or 0


async def _move_references(connection: Connection, conversation: int, moved: Mapping[int, int]) -> None:
    """Let everything that refers to messages refer to their copies."""
    pairs = [(new, old) for old, new in moved.items()]
    for table, column in (
        ("entries", "source_message_id"),
        ("forgotten", "message_id"),
        ("import_edits", "message_id"),
    ):
        rows = await connection.execute_fetchall(
            f"SELECT DISTINCT {column} FROM {table} WHERE {column} IN (SELECT value FROM json_each(?))",
            (json.dumps([*moved]),),
        )
        referred = {int(row[0]) for row in rows}
        await connection.executemany(
            f"UPDATE {table} SET {column} = ? WHERE {column} = ?", [pair for pair in pairs if pair[1] in referred]
        )
    await connection.executemany(
        "UPDATE imported SET learned_through = ? WHERE conversation_id = ? AND learned_through = ?",
        [(new, conversation, old) for new, old in pairs],
    )


async def _record_added(connection: Connection, writing: Writing, ids: Sequence[int]) -> None:
    await connection.executemany(
        "INSERT INTO import_edits (message_id, entry_id) VALUES (?, ?)", [(number, writing.record.id) for number in ids]
    )


async def _extend(
    connection: Connection, place: StoredConversation, messages: Sequence[ImportedMessage]
) -> StoredConversation:
    times = [place.first, place.last, *(to_text(message.at) for message in messages)]
    await connection.execute(
        "UPDATE conversations SET started_at = ?, ended_at = ? WHERE id = ?", (min(times), max(times), place.id)
    )
    return replace(place, first=min(times), last=max(times), messages=place.messages + len(messages))


async def change_messages(connection: Connection, writing: Writing, steps: Sequence[Step]) -> None:
    """Replace the texts of messages. Messages with forgotten words keep theirs."""
    marked = {
        row[0]
        for row in await connection.execute_fetchall(
            "SELECT message_id FROM forgotten WHERE message_id IN (SELECT value FROM json_each(?))",
            (json.dumps([step.stored for step in steps]),),
        )
    }
    changes = [(step.message.text, step.stored) for step in steps if step.message and step.stored not in marked]
    async with touching_messages(connection, [number for _text, number in changes if number is not None]):
        await connection.executemany(
            "INSERT INTO import_edits (message_id, entry_id, former) SELECT id, ?, content FROM messages WHERE id = ?",
            [(writing.record.id, number) for _text, number in changes],
        )
        await connection.executemany("UPDATE messages SET content = ? WHERE id = ?", changes)
    await connection.executemany("DELETE FROM vectors WHERE row = 2 * ? + 1", [(number,) for _text, number in changes])


async def store_source_ids(connection: Connection, steps: Sequence[Step]) -> None:
    """Store the ids of messages that were imported without them."""
    await connection.executemany(
        "UPDATE messages SET source_id = ? WHERE id = ? AND source_id IS NULL",
        [(step.source_id, step.stored) for step in steps if step.source_id and step.stored],
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


async def insert_imported(
    connection: Connection, writing: Writing, source_id: str, conversation: int | None = None
) -> None:
    await connection.execute(
        "INSERT INTO imported (owner_id, program, source_id, entry_id, conversation_id, messages, digest)"
        " SELECT owner_id, ?, ?, id, ?, 0, '' FROM entries WHERE id = ?",
        (writing.program, source_id, conversation, writing.record.id),
    )
