"""Inserts new messages into conversations that were imported before.

The messages of a conversation are read in the order of their ids. If a later export has new messages between stored
messages, the stored messages after them are written again, so that all ids are in the right order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.features.imports.items import MAX_CHAT_MESSAGES, ImportedMessage
from bot.features.imports.known import StoredConversation
from bot.features.imports.planning import Piece, Step
from bot.features.imports.writing import (
    COLUMNS,
    Writing,
    append_messages,
    create_row,
    extend_conversation,
    record_added,
)
from memory.clock import to_text
from memory.store.database import Connection, Row
from memory.store.index import touching_conversation

_COPIED_COLUMNS = (
    "conversation_id, role, content, speaker, provenance, tool_calls, tool_call_id, created_at, media, provider_data,"
    " source_id"
)


@dataclass(frozen=True, slots=True)
class Addition:
    """New messages for one conversation.

    Attributes:
        conversation: The stored conversation, or None if the messages begin a new one.
        steps: The messages of the export up to the last new one, including the stored messages between them.
    """

    conversation: StoredConversation | None
    steps: tuple[Step, ...]

    @property
    def messages(self) -> list[ImportedMessage]:
        return [step.message for step in self.steps if step.stored is None and step.message is not None]


def divide_by_conversation(piece: Piece, conversations: Sequence[StoredConversation]) -> list[Addition]:
    """Group the new messages of a piece by the conversations that they are added to.

    Args:
        conversations: The conversations of the chat in chronological order.
    """
    additions: list[Addition] = []
    steps: list[Step] = []
    current: StoredConversation | None = None
    has_new, count = False, 0
    for step in piece.steps:
        if step.stored is None and step.message is not None:
            conversation = _find_conversation(step.message, conversations, count, current if has_new else None)
            if has_new and conversation is not current:
                additions.append(Addition(current, tuple(steps)))
                steps, count = steps[-1:] if steps[-1].stored is not None else [], 0
            current, has_new, count = conversation, True, count + 1
        steps.append(step)
    if has_new:
        additions.append(Addition(current, tuple(steps)))
    return additions


def is_at_end(addition: Addition) -> bool:
    """Return True if the new messages come after all messages of their conversation."""
    conversation, steps = addition.conversation, addition.steps
    first = next(number for number, step in enumerate(steps) if step.stored is None and step.message is not None)
    is_later = all(conversation is None or to_text(message.at) >= conversation.last for message in addition.messages)
    return is_later and not any(step.stored is not None for step in steps[first:])


def _find_conversation(
    message: ImportedMessage,
    conversations: Sequence[StoredConversation],
    added: int,
    current: StoredConversation | None,
) -> StoredConversation | None:
    """Return the conversation that a message belongs to, or None for a new one.

    Args:
        added: The number of earlier new messages that are added to `current`.
    """
    at = to_text(message.at)
    conversation = next((conversation for conversation in reversed(conversations) if conversation.first <= at), None)
    if conversation is None:
        return None
    if at <= conversation.last:
        return conversation
    # The message is later than the conversation. A full conversation of a chat with people isn't extended.
    more = added if conversation is current else 0
    is_full = message.speaker is not None and conversation.messages + more >= MAX_CHAT_MESSAGES
    return None if is_full else conversation


async def insert_messages(connection: Connection, writing: Writing, addition: Addition) -> StoredConversation:
    """Add messages between those of a conversation, and write the messages after them again."""
    conversation = addition.conversation
    assert conversation is not None, "only stored conversations have messages"  # noqa: S101  # The caller checks it.
    rows = list(
        await connection.execute_fetchall(
            "SELECT id, turn_id, created_at FROM messages WHERE conversation_id = ? ORDER BY id", (conversation.id,)
        )
    )
    order = _merge(rows, writing.find_present(addition.steps))
    kept = 0
    while kept < len(order) and not isinstance(order[kept], ImportedMessage):
        kept += 1
    if kept == len(rows):
        return await append_messages(connection, writing, conversation, addition.messages, is_own=False)
    first = rows[kept]["id"]
    moved: dict[int, int] = {}
    added: list[int] = []
    async with touching_conversation(connection, conversation.id, first_message=first):
        turns: dict[int, int] = {row["turn_id"]: row["turn_id"] for row in rows[:kept]}
        turn = rows[kept - 1]["turn_id"] if kept else None
        next_turns = _list_next_turns(order)
        for position in range(kept, len(order)):
            item = order[position]
            if isinstance(item, ImportedMessage):
                # A new message within an exchange belongs to it.
                is_inside = turn is not None and turns.get(next_turns[position]) == turn
                if turn is None or not (is_inside or item.by_assistant):
                    turn = await _insert_turn(connection, conversation.id, item)
                added.append(await _insert_message(connection, writing, conversation.id, turn, item))
                continue
            if item["turn_id"] not in turns:
                turns[item["turn_id"]] = await _copy_turn(connection, item["turn_id"])
            turn = turns[item["turn_id"]]
            cursor = await connection.execute(
                f"INSERT INTO messages (turn_id, {_COPIED_COLUMNS})"
                f" SELECT ?, {_COPIED_COLUMNS} FROM messages WHERE id = ?",
                (turn, item["id"]),
            )
            moved[item["id"]] = cursor.lastrowid or 0
        await _move_references(connection, conversation.id, moved)
        await connection.execute(
            "DELETE FROM messages WHERE conversation_id = ? AND id BETWEEN ? AND ?",
            (conversation.id, first, rows[-1]["id"]),
        )
        await connection.executemany(
            "DELETE FROM turns WHERE id = ?", [(old,) for old, new in turns.items() if old != new]
        )
    await record_added(connection, writing, added)
    writing.moved.update(moved)
    return await extend_conversation(connection, conversation, addition.messages)


def _merge(rows: Sequence[Row], steps: Sequence[Step]) -> list[Row | ImportedMessage]:
    """Return the new and the stored messages in the order of the file.

    Stored messages that are not in the file are placed by their times.
    """
    indexes = {row["id"]: index for index, row in enumerate(rows)}
    known = {step.stored for step in steps if step.stored is not None}
    order: list[Row | ImportedMessage] = []
    done = 0
    for step in steps:
        if step.stored is not None:
            index = indexes.get(step.stored, -1)
            order += rows[done : index + 1]
            done = max(done, index + 1)
        elif step.message is not None:
            at = to_text(step.message.at)
            while done < len(rows) and rows[done]["created_at"] <= at and rows[done]["id"] not in known:
                order.append(rows[done])
                done += 1
            order.append(step.message)
    return [*order, *rows[done:]]


def _list_next_turns(order: Sequence[Row | ImportedMessage]) -> list[int]:
    """Return the turn of the next stored message for each message, or 0 if none follows."""
    turns: list[int] = []
    turn = 0
    for item in reversed(order):
        turn = turn if isinstance(item, ImportedMessage) else item["turn_id"]
        turns.append(turn)
    return turns[::-1]


async def _insert_turn(connection: Connection, conversation_id: int, message: ImportedMessage) -> int:
    cursor = await connection.execute(
        "INSERT INTO turns (conversation_id, outcome, started_at, finished_at) VALUES (?, 'answered', ?, ?)",
        (conversation_id, to_text(message.at), to_text(message.at)),
    )
    return cursor.lastrowid or 0


async def _copy_turn(connection: Connection, turn: int) -> int:
    columns = "conversation_id, outcome, failure, started_at, finished_at, note"
    cursor = await connection.execute(
        f"INSERT INTO turns ({columns}) SELECT {columns} FROM turns WHERE id = ?", (turn,)
    )
    return cursor.lastrowid or 0


async def _insert_message(
    connection: Connection, writing: Writing, conversation_id: int, turn: int, message: ImportedMessage
) -> int:
    cursor = await connection.execute(
        f"INSERT INTO messages ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        create_row(writing, conversation_id, turn, message),
    )
    return cursor.lastrowid or 0


async def _move_references(connection: Connection, conversation_id: int, moved: Mapping[int, int]) -> None:
    """Update all references to moved messages."""
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
        [(new, conversation_id, old) for new, old in pairs],
    )
