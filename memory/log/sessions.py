"""Sessions, their conversations, and the append-only log of messages (S0, S2)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

import aiosqlite

from config.texts import _
from memory.clock import Clock, from_text, now_text, to_text
from memory.errors import StoreError
from memory.messages import Message, Provenance, ProviderData, Role, ToolCall
from memory.store.database import Database, Row
from memory.store.entry_rows import get_or_create_owner_id
from memory.store.forgotten import NOTHING_FORGOTTEN, ForgottenWords, read_forgotten_words_of_session
from memory.store.index import remove_session

OF_OTHERS = "[From what others wrote:]"
"""The line above the second passage. Everything after its first occurrence is untrusted."""


def join_passages(own: str | None, of_others: str | None) -> str:
    return "\n\n".join([*([own] if own else []), *([f"{OF_OTHERS}\n{of_others}"] if of_others else [])])


def divide_summary(summary: str | None, *, is_foreign: bool) -> tuple[str | None, str | None]:
    """Split a summary into its passages. Without a dividing line, all of a foreign summary is the second one."""
    if not summary or not is_foreign:
        return summary or None, None
    own, line, of_others = summary.partition(OF_OTHERS)
    return (own.strip() or None, of_others.strip() or None) if line else (None, summary)


def divide_by_origin(messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    """Divide messages into those of the user's own turns and those of turns with texts of others."""
    foreign = {id(message) for message in messages if message.provenance is not None and message.provenance.is_foreign}
    turns = {message.turn_id for message in messages if id(message) in foreign and message.turn_id is not None}
    of_others = [message for message in messages if id(message) in foreign or message.turn_id in turns]
    numbers = {id(message) for message in of_others}
    return [message for message in messages if id(message) not in numbers], of_others


_TRANSCRIPT = """
SELECT c.id AS conversation, k.first_kept_message_id, m.*,
    -- the summary is long: once is enough
    CASE WHEN row_number() OVER (ORDER BY m.id) = 1 THEN coalesce(k.summary, e.content) END AS summary,
    coalesce(k.trusted, e.trusted) AS trusted
FROM conversations c
LEFT JOIN markers k ON k.id = (SELECT max(id) FROM markers WHERE conversation_id = c.id)
-- a removed archive is not shown, and does not bring back what it stood for: the one before it is the summary
LEFT JOIN entries e ON e.id = (
    SELECT a.id FROM markers f JOIN entries a ON a.id = f.archive_id AND a.deleted_at IS NULL
    WHERE f.conversation_id = c.id ORDER BY f.id DESC LIMIT 1)
-- no join with turns in brackets: SQLite would read the messages of all chats to make it
LEFT JOIN messages m ON m.conversation_id = c.id AND m.id >= coalesce(k.first_kept_message_id, 0)
    AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.id = m.turn_id AND t.outcome = 'retried')
WHERE c.session_id = ? AND c.ended_at IS NULL ORDER BY m.id
"""
SHARED_OWNER = "shared"
"""The owner of all chats with MEMORY_SCOPE=shared."""
GUEST = "guest"
"""The channel of chats that the bot is not a member of. They never share the memory of other chats."""


class SessionState(StrEnum):
    ACTIVE = "ACTIVE"
    PAUSED = "PAUSED"
    TERMINATED = "TERMINATED"


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a session: a chat of a channel, or one forum topic of that chat."""

    channel: str
    chat_id: str
    thread_id: str | None = None

    @classmethod
    def parse(cls, session_id: str) -> Address:
        channel, chat_id, *thread = session_id.split(":")
        return cls(channel, chat_id, thread[0] if thread else None)

    @property
    def session_id(self) -> str:
        """Return `{channel}:{chatId}`, with a topic `{channel}:{chatId}:{threadId}`."""
        return f"{self.owner}:{self.thread_id}" if self.thread_id else self.owner

    @property
    def owner(self) -> str:
        """Return the default owner of the chat's memory, `{channel}:{chatId}`."""
        return f"{self.channel}:{self.chat_id}"


@dataclass(frozen=True, slots=True)
class Session:
    """The running conversation of one chat. While `private` is set, its messages are only in memory, until /new."""

    id: str
    address: Address
    owner: str
    state: SessionState
    created_at: datetime
    updated_at: datetime
    metadata: dict[str, str] = field(default_factory=dict)
    private: bool = False


@dataclass(frozen=True, slots=True)
class Transcript:
    """The part of a conversation that the model sees: the newest summary and the messages since its marker."""

    conversation_id: int | None
    summary: str | None
    messages: list[Message]
    summary_provenance: Provenance = Provenance.TYPED  # the worst of the summarized messages
    first_kept: int = 0  # id of the first message after the summary
    forgotten: ForgottenWords = NOTHING_FORGOTTEN  # by the owner, for everything that is shown with it

    @property
    def summaries(self) -> tuple[str | None, str | None]:
        """Return the summary's passages about the user's own messages and about texts of others."""
        return divide_summary(self.summary, is_foreign=self.summary_provenance.is_foreign)

    def after(self, earlier: Transcript) -> Transcript:
        """Join an earlier transcript with this one, which continues it. A summary of this one covers both."""
        messages = [message for message in earlier.messages if (message.id or 0) >= self.first_kept]
        summarised = self if self.summary is not None else earlier
        return replace(
            self,
            summary=summarised.summary,
            summary_provenance=summarised.summary_provenance,
            forgotten=earlier.forgotten,
            messages=messages + self.messages,
        )


@dataclass(frozen=True, slots=True)
class Marker:
    """The record of a compaction in a conversation's log. `summary` is only set if there is no archive."""

    archive_name: str
    archive_id: int
    archived_at: datetime
    first_kept_message_id: int
    summary: str | None = None
    trusted: bool | None = None


_OPEN = (
    "INSERT INTO sessions (id, channel, chat_id, thread_id, owner, created_at, updated_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET owner = excluded.owner"
    " WHERE owner <> excluded.owner"  # Avoids a write for existing sessions.
)


class SessionService:
    """Sessions and their logs, always read from the database, since the command line may change them too."""

    def __init__(self, database: Database, clock: Clock, *, shared_owner: bool = False) -> None:
        self._database = database
        self._clock = clock
        self._shared_owner = shared_owner

    def get_owner(self, address: Address) -> str:
        return SHARED_OWNER if self._shared_owner and address.channel != GUEST else address.owner

    async def get_or_create(self, address: Address) -> Session:
        session = await self._find(address.session_id)
        # MEMORY_SCOPE may have changed since the session was created, which changes its owner.
        if session is None or session.owner != self.get_owner(address):
            await self._database.write(_OPEN, self._build_row(address))
            session = await self._find(address.session_id)
        assert session is not None, "the session was just written"  # noqa: S101  # states what the insert guarantees
        return session

    async def is_private(self, session_id: str) -> bool:
        return bool(await self._database.value("SELECT private FROM sessions WHERE id = ?", (session_id,)))

    async def open_all(self, addresses: Iterable[Address]) -> None:
        async with self._database.transaction(first=True) as connection:
            await connection.executemany(_OPEN, [self._build_row(address) for address in addresses])

    def _build_row(self, address: Address) -> tuple[object, ...]:
        now = now_text(self._clock)
        place = (address.session_id, address.channel, address.chat_id, address.thread_id)
        return (*place, self.get_owner(address), now, now)

    async def _find(self, session_id: str) -> Session | None:
        row = await self._database.row("SELECT * FROM sessions WHERE id = ?", (session_id,))
        return None if row is None else _session_from_row(row)

    async def save(self, session: Session) -> Session:
        saved = replace(session, updated_at=self._clock())
        await self._database.write(
            "UPDATE sessions SET state = ?, metadata = ?, updated_at = ? WHERE id = ?",
            (
                saved.state,
                json.dumps(saved.metadata, ensure_ascii=False),
                now_text(self._clock),
                saved.id,
            ),
        )
        return saved

    async def set_state(self, session_id: str, state: SessionState) -> None:
        await self._database.write(
            "UPDATE sessions SET state = ?, updated_at = ? WHERE id = ? AND state <> ?",
            (state, now_text(self._clock), session_id, state),
            first=True,
        )

    async def delete(self, session_id: str) -> bool:
        """Delete a session and its log. Return True if it existed."""
        async with self._database.transaction() as connection:
            # First, since the index needs the text of removed rows.
            await remove_session(connection, session_id)
            await connection.execute("DELETE FROM reminders WHERE session_id = ?", (session_id,))
            cursor = await connection.execute("DELETE FROM sessions WHERE id = ?", (session_id,))
        return cursor.rowcount > 0

    async def clear_messages(self, session_id: str) -> int:
        """End the current conversation and return the number of its messages. They stay in the log."""
        count = await self.count_messages(session_id)
        await self._database.write(
            "UPDATE conversations SET ended_at = ? WHERE session_id = ? AND ended_at IS NULL",
            (now_text(self._clock), session_id),
        )
        return count

    async def summarise(self, conversation_id: int, first_kept: int, summary: str, *, trusted: bool) -> None:
        """Record a summary of the messages before `first_kept` without an archive, for a private talk."""
        marker = Marker("", 0, self._clock(), first_kept, summary, trusted)
        async with self._database.private.get_database_with_row(conversation_id).transaction() as connection:
            await insert_marker(connection, conversation_id, marker)

    async def count_messages(self, session_id: str) -> int:
        """Return the number of messages in the current conversation, including compacted ones."""
        counts = [
            await database.value(
                "SELECT count(*) FROM messages m JOIN conversations c ON c.id = m.conversation_id"
                " JOIN turns t ON t.id = m.turn_id"
                " WHERE c.session_id = ? AND c.ended_at IS NULL AND t.outcome <> 'retried'",
                (session_id,),
            )
            for database in self._database.private.list_databases()
        ]
        return sum(counts)

    async def read_transcript(self, session_id: str) -> Transcript:
        """Return the current conversation as the model sees it."""
        forgotten = await read_forgotten_words_of_session(self._database.rows, session_id)
        kept = await self._mask_forgotten(await _read_transcript(self._database, session_id), forgotten)
        held_in = await self._database.private.get_database(session_id)
        # A private talk continues the conversation before it.
        return kept if held_in is self._database else (await _read_transcript(held_in, session_id)).after(kept)

    async def _mask_forgotten(self, transcript: Transcript, forgotten: ForgottenWords) -> Transcript:
        """Mask the words in a transcript's summary that were forgotten after it was written."""
        if transcript.summary is None or not forgotten:
            return replace(transcript, forgotten=forgotten)
        made_at = await self._database.value(
            "SELECT max(k.archived_at) FROM markers k JOIN conversations c ON c.id = k.conversation_id WHERE c.id = ?",
            (transcript.conversation_id,),
        )
        summary = forgotten.mask_text(transcript.summary, from_text(made_at))
        return replace(transcript, summary=summary, forgotten=forgotten)


async def _read_transcript(database: Database, session_id: str) -> Transcript:
    rows = await database.rows(_TRANSCRIPT, (session_id,))
    if not rows:
        return Transcript(None, None, [])
    first = rows[0]
    messages = [message_from_row(row) for row in rows if row["id"] is not None]
    foreign = first["summary"] is not None and not first["trusted"]
    provenance = Provenance.FOREIGN if foreign else Provenance.TYPED
    first_kept = first["first_kept_message_id"] or 0
    return Transcript(first["conversation"], first["summary"], messages, provenance, first_kept)


async def insert_marker(connection: aiosqlite.Connection, conversation_id: int, marker: Marker) -> None:
    await connection.execute(
        "INSERT INTO markers (conversation_id, archive_name, archive_id, archived_at, first_kept_message_id,"
        " summary, trusted) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            conversation_id,
            marker.archive_name,
            marker.archive_id,
            to_text(marker.archived_at),
            marker.first_kept_message_id,
            marker.summary,
            marker.trusted,
        ),
    )


async def open_conversation(connection: aiosqlite.Connection, session_id: str, now: str) -> int:
    """Return the id of the session's current conversation, creating one if needed."""
    current = "SELECT id FROM conversations WHERE session_id = ? AND ended_at IS NULL"
    rows = list(await connection.execute_fetchall(current, (session_id,)))
    if not rows:
        sessions = list(await connection.execute_fetchall("SELECT owner FROM sessions WHERE id = ?", (session_id,)))
        if not sessions:
            raise StoreError(
                _(
                    "There is no session {session} any more, because it was deleted: write again to start a new one.",
                    session=session_id,
                )
            )
        # A conversation keeps this owner even if the session gets another one.
        owner_id = await get_or_create_owner_id(connection, sessions[0][0])
        await connection.execute(
            "INSERT INTO conversations (session_id, owner_id, started_at) VALUES (?, ?, ?)",
            (session_id, owner_id, now),
        )
        rows = list(await connection.execute_fetchall(current, (session_id,)))
    return int(rows[0][0])


def message_from_row(row: Row) -> Message:
    calls = json.loads(row["tool_calls"]) if row["tool_calls"] else []
    return Message(
        role=Role(row["role"]),
        content=row["content"],
        created_at=from_text(row["created_at"]),
        speaker=row["speaker"],
        provenance=Provenance(row["provenance"]) if row["provenance"] else None,
        tool_calls=tuple(ToolCall(call["id"], call["name"], call["arguments"]) for call in calls),
        tool_call_id=row["tool_call_id"],
        id=row["id"],
        turn_id=row["turn_id"],
        media=tuple(json.loads(row["media"])) if row["media"] else (),
        provider_data=ProviderData(**json.loads(row["provider_data"])) if row["provider_data"] else None,
    )


def _session_from_row(row: Row) -> Session:
    return Session(
        id=row["id"],
        address=Address(row["channel"], row["chat_id"], row["thread_id"]),
        owner=row["owner"],
        state=SessionState(row["state"]),
        created_at=from_text(row["created_at"]),
        updated_at=from_text(row["updated_at"]),
        metadata=json.loads(row["metadata"]),
        private=bool(row["private"]),
    )
