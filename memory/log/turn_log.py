"""The commit of a turn: its messages, its reply and the state of its inbox rows, in one transaction."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

import aiosqlite
import structlog

from memory.clock import Clock, now_text, to_text
from memory.errors import StoreError
from memory.log.sessions import message_from_row, open_conversation
from memory.messages import Message, Role, make_storable
from memory.search.activation_candidates import ActivatedMemory
from memory.search.activation_log import dump_activation
from memory.store.button_rows import OutgoingFile, OutgoingReply, put_document, put_reply
from memory.store.database import Database
from memory.store.entry_rows import cite
from memory.store.index import touching_conversation
from memory.store.private import EMPTY

log = structlog.get_logger(__name__)


class Outcome(StrEnum):
    ANSWERED = "answered"
    STOPPED = "stopped"
    FAILED = "failed"
    # Run again, or given up after it killed the process. Its messages stay in the log, hidden from the model.
    RETRIED = "retried"


CommitWrite = Callable[[aiosqlite.Connection], Awaitable[None]]
"""Writes something else in the transaction that commits a turn."""


@dataclass(frozen=True, slots=True)
class FinishedTurn:
    session_id: str
    outcome: Outcome
    messages: list[Message]
    started_at: datetime
    failure: str | None = None
    replaces_turn: int | None = None
    written_entries: tuple[int, ...] = ()  # entries that get this turn as their source
    activated: tuple[ActivatedMemory, ...] = ()  # entries in its request
    recalled: tuple[int, ...] = ()  # messages in its request
    recalled_notes: tuple[int, ...] = ()  # entries recalled in its request or found by its tools
    shown_notices: tuple[int, ...] = ()  # notices in its reply
    inbox_ids: tuple[int, ...] = ()
    reply: OutgoingReply | None = None
    extra_reply: OutgoingReply | None = None  # an additional message for one person
    files: tuple[OutgoingFile, ...] = ()  # files after the reply
    has_daily_note: bool = False  # the exchange gets a daily note
    writes: tuple[CommitWrite, ...] = ()


@dataclass(frozen=True, slots=True)
class LastTurn:
    id: int
    outcome: Outcome
    user_messages: list[Message]


class TurnLog:
    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._pending: list[FinishedTurn] = []
        self._writing = asyncio.Lock()

    def defer(self, turn: FinishedTurn) -> None:
        """Queue an answered turn to commit later, after the database has refused it, for example on a full disk."""
        # The reply was sent without the outbox.
        self._pending.append(replace(turn, reply=None, files=()))

    async def commit_deferred(self) -> None:
        """Commit the deferred turns, oldest first. Raise StoreError if that still fails."""
        async with self._writing:
            while self._pending:
                turn = self._pending[0]
                try:
                    await self.commit(turn)
                except StoreError:
                    raise
                # An error that no retry can fix must not block the turns behind it.
                except Exception:
                    log.exception("exchange_not_kept", session=turn.session_id)
                # `drop_deferred` may have run in between.
                if self._pending and self._pending[0] is turn:
                    del self._pending[0]

    async def drop_deferred(self) -> None:
        self._pending.clear()

    async def has_lost_private_talk(self, session_id: str) -> bool:
        """Return True, once, if a restart has lost the start of a private talk."""
        return await self._database.private.was_interrupted(session_id)

    async def commit(self, turn: FinishedTurn) -> int:
        now = now_text(self._clock)
        # The user waits for the effect of /stop.
        is_urgent = turn.outcome is Outcome.STOPPED
        database = await self._database.private.get_database(turn.session_id)
        if database is not self._database:  # The file only stores that the mail is answered.
            async with self._database.transaction(first=is_urgent) as connection:
                await self._settle_mail(connection, turn, payload=EMPTY)
        async with database.transaction(first=is_urgent) as connection:
            conversation_id = await open_conversation(connection, turn.session_id, now)
            async with touching_conversation(connection, conversation_id, turn.replaces_turn):
                turn_id = await _insert_turn(connection, conversation_id, turn, now)
            await connection.execute(
                "UPDATE sessions SET updated_at = ?, activated = ? WHERE id = ?",
                (now, dump_activation(turn.activated, turn.recalled, turn.recalled_notes), turn.session_id),
            )
            if turn.shown_notices:  # An empty statement would still cost two thread switches.
                await connection.executemany("DELETE FROM notices WHERE id = ?", [(i,) for i in turn.shown_notices])
            if turn.written_entries:
                await cite(connection, turn.written_entries, turn_id)
            if database is self._database:
                await self._settle_mail(connection, turn)
            for reply in (turn.reply, turn.extra_reply):
                if reply is not None:
                    await put_reply(connection, turn.session_id, reply, self._clock(), turn_id)
            for file in turn.files:
                number = await put_reply(connection, turn.session_id, file.reply, self._clock(), turn_id)
                await put_document(connection, number, file.document)
        return turn_id

    async def _settle_mail(
        self, connection: aiosqlite.Connection, turn: FinishedTurn, payload: str | None = None
    ) -> None:
        await connection.executemany(
            "UPDATE inbox SET state = 'done', payload = coalesce(?, payload) WHERE id = ?",
            [(payload, i) for i in turn.inbox_ids],
        )
        for write in turn.writes:
            await write(connection)
        if turn.reply is not None and turn.reply.preview_id is not None:
            await connection.execute(
                "DELETE FROM previews WHERE channel = ? AND session_id = ?", (turn.reply.channel, turn.session_id)
            )

    async def find_last(self, session_id: str) -> LastTurn | None:
        """Return the newest turn of the current conversation. In a private talk, earlier turns don't count."""
        database = await self._database.private.get_database(session_id)
        row = await database.row(
            "SELECT t.id, t.outcome FROM turns t JOIN conversations c ON c.id = t.conversation_id"
            " WHERE c.session_id = ? AND c.ended_at IS NULL AND t.outcome <> 'retried' ORDER BY t.id DESC LIMIT 1",
            (session_id,),
        )
        if row is None:
            return None
        rows = await database.rows(
            "SELECT * FROM messages WHERE turn_id = ? AND role = ? ORDER BY id", (row["id"], Role.USER)
        )
        return LastTurn(row["id"], Outcome(row["outcome"]), [message_from_row(r) for r in rows])


async def _insert_turn(connection: aiosqlite.Connection, conversation_id: int, turn: FinishedTurn, now: str) -> int:
    cursor = await connection.execute(
        "INSERT INTO turns (conversation_id, outcome, failure, started_at, finished_at, note)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (
            conversation_id,
            turn.outcome,
            turn.failure,
            to_text(turn.started_at),
            now,
            "due" if turn.has_daily_note and turn.outcome is Outcome.ANSWERED else None,
        ),
    )
    turn_id = cursor.lastrowid
    assert turn_id is not None, "an insert gives a row id"  # noqa: S101  # states what SQLite guarantees
    await connection.executemany(
        "INSERT INTO messages (conversation_id, turn_id, role, content, speaker, provenance, tool_calls,"
        " tool_call_id, media, created_at, provider_data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(conversation_id, turn_id, *_build_columns(message)) for message in turn.messages],
    )
    if turn.replaces_turn is not None:
        await connection.execute("UPDATE turns SET outcome = ? WHERE id = ?", (Outcome.RETRIED, turn.replaces_turn))
    return turn_id


def _build_columns(message: Message) -> tuple[object, ...]:
    calls = [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in message.tool_calls]
    return (
        message.role,
        make_storable(message.content),
        message.speaker,
        message.provenance,
        make_storable(json.dumps(calls, ensure_ascii=False)) if calls else None,
        message.tool_call_id,
        json.dumps(message.media) if message.media else None,
        to_text(message.created_at),
        _dump_provider_data(message),
    )


def _dump_provider_data(message: Message) -> str | None:
    data = message.provider_data
    if data is None:
        return None
    return json.dumps({"endpoint": data.endpoint, "model": data.model, "data": data.data})
