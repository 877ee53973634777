"""The inbox of a channel: received updates until they are answered."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memory.clock import Clock, from_text, now_text, to_text
from memory.errors import StoreError
from memory.store.button_rows import OutgoingReply, put_reply
from memory.store.database import Connection, Database
from memory.store.private import EMPTY

# Skips updates with a known update id or message id. The row id must be free.
_INSERT = """
    INSERT INTO inbox (id, channel, update_id, session_id, payload, message_id, new_message, received_at, attempts, run)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (channel, update_id) DO NOTHING
    ON CONFLICT (channel, new_message) WHERE new_message IS NOT NULL DO NOTHING
"""


@dataclass(frozen=True, slots=True)
class ReceivedUpdate:
    """An update to store.

    Attributes:
        payload: JSON.
        message_id: The channel's id of the message.
        new_message: The same id if the update is a new message and not an edit.
        begins: Whether work on it begins at once, so that the first attempt is counted with it.
        makes_private: Whether it starts a private talk.
    """

    update_id: int
    session_id: str
    payload: str
    message_id: str | None = None
    new_message: str | None = None
    begins: bool = False
    makes_private: bool = False


@dataclass(frozen=True, slots=True)
class InboxItem:
    """An update that waits for its turn.

    Attributes:
        held: Whether it waits for the user's next message after /stop.
        attempts: Number of runs of the program that were killed while they worked on it.
        is_lost: Whether it was sent in a private talk and lost by a restart.
    """

    id: int
    update_id: int
    session_id: str
    payload: str
    held: bool
    received_at: datetime
    attempts: int = 0
    is_lost: bool = False


def is_scheduled(payload: str) -> bool:
    """Return True if an inbox row is a scheduled task and not an update of the channel."""
    return payload.startswith('{"task":')


async def put_scheduled(connection: Connection, session_id: str, task: int, due_at: datetime, now: datetime) -> None:
    """Put a scheduled task into the inbox of its session's channel."""
    # Negative update ids, since those of the channel are positive.
    await connection.execute(
        "INSERT INTO inbox (channel, update_id, session_id, payload, received_at)"
        " SELECT ?1, min(0, coalesce(min(update_id), 0)) - 1, ?2, ?3, ?4 FROM inbox WHERE channel = ?1",
        (session_id.partition(":")[0], session_id, json.dumps({"task": task, "due": to_text(due_at)}), to_text(now)),
    )


@dataclass(slots=True)
class _UnstoredUpdate:
    """An update that could not be stored yet, with its future row."""

    update: ReceivedUpdate
    item: InboxItem
    state: str = "queued"


class Inbox:
    """The received updates of one channel.

    Updates that can't be stored, for example on a full disk, are held in memory and processed. They are not confirmed
    to the channel, so that it sends them again if the program is killed.
    """

    def __init__(self, database: Database, channel: str, clock: Clock) -> None:
        self._database = database
        self._channel = channel
        self._clock = clock
        # Distinguishes the attempts of this run of the program from those of earlier runs.
        self._run = secrets.token_hex(8)
        self._unstored: dict[int, _UnstoredUpdate] = {}
        self._keeping = asyncio.Lock()
        # Held until the text of a private update is in memory, see `_write`.
        self._writing_private = asyncio.Lock()
        # Sessions with an unprocessed update that makes them private, and its update id.
        self._expected_private: dict[str, int] = {}

    async def receive(self, updates: Iterable[ReceivedUpdate]) -> None:
        """Store updates, each update and each message once.

        Telegram repeats updates that were not confirmed, and a new proxy or server may repeat a message under another
        update id. Raises StoreError if the updates can't be stored. They are then held in memory and must not be
        confirmed.
        """
        new = list(updates)
        if not new:
            return
        if self._unstored:
            # Append them to those in memory, to keep the order.
            await self._hold_in_memory(new)
            await self.store_waiting()
            return
        now = self._clock()
        try:
            await self._write([(None, update, now) for update in new])
        except StoreError:
            await self._hold_in_memory(new)
            raise

    async def _write(
        self, received: Sequence[tuple[int | None, ReceivedUpdate, datetime]], states: Sequence[tuple[str, int]] = ()
    ) -> None:
        """Store updates. The text of private ones is stored in the in-memory database only.

        Args:
            received: Row ids or None, updates, and times of receipt.
            states: Pairs of state and row id, for updates that are no longer new.
        """
        private = [update.update_id for _, update, _ in received if await self._is_private(update)]
        # Without the lock, a row in the file without text in memory would look as if a restart had lost it.
        async with self._writing_private if private else contextlib.nullcontext():
            async with self._database.transaction(first=True) as connection:
                await connection.executemany(_INSERT, [self._build_row(*item, private) for item in received])
                await connection.executemany("UPDATE inbox SET state = ? WHERE id = ?", states)
            if private:
                ids = await self._find_ids(private)
                rows = [self._build_row(ids[u.update_id], u, at) for _, u, at in received if u.update_id in ids]
                memory = await self._database.private.get_memory_database()
                async with memory.transaction() as connection:
                    await connection.executemany(_INSERT, rows)

    async def _is_private(self, update: ReceivedUpdate) -> bool:
        session_id = update.session_id
        if update.makes_private:
            self._expected_private[session_id] = update.update_id
        if session_id in self._expected_private:
            return True
        if await self._database.private.get_database(session_id) is not self._database:
            return True
        # An edit of a message from a private talk that has ended.
        query = "SELECT 1 FROM inbox WHERE channel = ? AND session_id = ? AND message_id = ? AND payload = ?"
        about = (self._channel, session_id, update.message_id, EMPTY)
        is_edit = update.new_message is None and update.message_id is not None
        return is_edit and await self._database.value(query, about) is not None

    async def _find_ids(self, update_ids: Iterable[int]) -> dict[int, int]:
        rows = await self._database.rows(
            "SELECT id, update_id FROM inbox WHERE channel = ? AND update_id IN (SELECT value FROM json_each(?))",
            (self._channel, json.dumps(list(update_ids))),
        )
        return {row["update_id"]: row["id"] for row in rows}

    async def store_waiting(self) -> None:
        """Store the updates that wait in memory. Raises StoreError if that still fails."""
        async with self._keeping:
            # A state may change during the write.
            written = [(unstored, unstored.state) for unstored in self._unstored.values()]
            if not written:
                return
            await self._write(
                [(unstored.item.id, unstored.update, unstored.item.received_at) for unstored, _ in written],
                [(state, unstored.item.id) for unstored, state in written if state != "queued"],
            )
            for unstored, _ in written:
                del self._unstored[unstored.update.update_id]
        for unstored, state in written:
            if unstored.state != state:
                await self._set_state([unstored.item.id], unstored.state)

    async def _hold_in_memory(self, updates: Iterable[ReceivedUpdate]) -> None:
        new = [update for update in updates if update.update_id not in self._unstored]
        known = await self._find_ids(update.update_id for update in new)
        # Their future row ids follow those that AUTOINCREMENT has assigned.
        last = int(await self._database.value("SELECT seq FROM sqlite_sequence WHERE name = 'inbox'") or 0)
        last = max([last, *(unstored.item.id for unstored in self._unstored.values())])
        before = known.keys() | self._unstored.keys()
        for number, update in enumerate((unstored for unstored in new if unstored.update_id not in before), last + 1):
            item = InboxItem(
                number, update.update_id, update.session_id, update.payload, held=False, received_at=self._clock()
            )
            self._unstored[update.update_id] = _UnstoredUpdate(update, item)

    def _build_row(
        self, item_id: int | None, update: ReceivedUpdate, received_at: datetime, private: Collection[int] = ()
    ) -> tuple[object, ...]:
        payload = EMPTY if update.update_id in private else update.payload
        values = (item_id, self._channel, update.update_id, update.session_id, payload, update.message_id)
        attempt = (1, self._run) if update.begins else (0, None)
        return (*values, update.new_message, to_text(received_at), *attempt)

    def finish_in_memory(self, ids: Iterable[int]) -> None:
        self._set_in_memory(set(ids), "done")

    def _set_in_memory(self, ids: set[int], state: str) -> None:
        for unstored in self._unstored.values():
            if unstored.item.id in ids and unstored.state != "done":
                unstored.state = state
                unstored.item = replace(unstored.item, held=state == "held")

    async def list_waiting(self, but: Collection[int] = ()) -> list[InboxItem]:
        """Return the unfinished updates, oldest first, except for the ids in `but`."""
        rows = await self._database.rows(
            "SELECT * FROM inbox WHERE channel = ? AND state <> 'done'"
            " AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY id",
            (self._channel, json.dumps(list(but))),
        )
        private = {row["id"] for row in rows if row["payload"] == EMPTY}
        payloads = await self._read_private_payloads(private)
        if private - payloads.keys():
            # They may just be being written. If they are still missing afterwards, they are lost.
            async with self._writing_private:
                payloads = await self._read_private_payloads(private)
        inbox_items = [
            InboxItem(
                r["id"],
                r["update_id"],
                r["session_id"],
                payloads.get(r["id"], r["payload"]),
                held=r["state"] == "held",
                received_at=from_text(r["received_at"]),
                attempts=r["attempts"] - (r["run"] == self._run),
                is_lost=r["id"] in private and r["id"] not in payloads,
            )
            for r in rows
        ]
        left_out = set(but)
        unstored = [
            unstored.item
            for unstored in self._unstored.values()
            if unstored.state != "done" and unstored.item.id not in left_out
        ]
        return inbox_items + unstored

    async def count_attempt(self, ids: Iterable[int]) -> None:
        """Count an attempt for updates, once per run, so that the next run knows which update killed the program."""
        id_list = json.dumps(list(ids))
        uncounted = "id IN (SELECT value FROM json_each(?)) AND run IS NOT ?"
        # Most were counted when they were stored. A read is cheaper than a write.
        if await self._database.value(f"SELECT EXISTS (SELECT 1 FROM inbox WHERE {uncounted})", (id_list, self._run)):
            await self._database.write(
                f"UPDATE inbox SET attempts = attempts + 1, run = ? WHERE {uncounted}",
                (self._run, id_list, self._run),
                first=True,
            )

    async def take_back_attempts(self) -> None:
        """Undo the attempts of this run at an orderly shutdown."""
        await self._database.write(
            "UPDATE inbox SET attempts = attempts - 1, run = NULL WHERE channel = ? AND state <> 'done' AND run = ?",
            (self._channel, self._run),
        )

    async def find_earlier_payload(self, item: InboxItem, message_id: str) -> str | None:
        """Return the payload of the last update before `item` about the same message, or None."""
        row = await self._database.row(
            "SELECT id, payload FROM inbox WHERE channel = ? AND session_id = ? AND message_id = ? AND id < ?"
            " ORDER BY id DESC LIMIT 1",
            (self._channel, item.session_id, message_id, item.id),
        )
        if row is None:
            return None
        return (await self._read_private_payloads([row["id"]])).get(row["id"], str(row["payload"]))

    async def _read_private_payloads(self, ids: Iterable[int]) -> dict[int, str]:
        if not (numbers := list(ids)):
            return {}
        memory = await self._database.private.get_memory_database()
        query = "SELECT id, payload FROM inbox WHERE id IN (SELECT value FROM json_each(?))"
        return {row["id"]: row["payload"] for row in await memory.rows(query, (json.dumps(numbers),))}

    async def correct(self, edit: InboxItem, original: int, payload: str) -> None:
        """Replace the text of a waiting update by an edit, and finish the edit."""
        # Updates in memory have no row yet.
        await self.store_waiting()
        corrected = "UPDATE inbox SET payload = ? WHERE id = ? AND payload <> ?"
        for memory in self._database.private.list_databases()[1:]:
            await memory.write(corrected, (payload, original, EMPTY))
        async with self._database.transaction() as connection:
            await connection.execute(corrected, (payload, original, EMPTY))
            await connection.execute("UPDATE inbox SET state = 'done' WHERE id = ?", (edit.id,))

    async def set_aside(self, update: ReceivedUpdate, answer: str) -> None:
        """Store an unreadable update once, and put an answer to its sender into the outbox."""
        now = now_text(self._clock)
        payload = EMPTY if await self._is_private(update) else update.payload
        async with self._database.transaction() as connection:
            cursor = await connection.execute(
                "INSERT INTO set_aside (channel, update_id, session_id, payload, at) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                (self._channel, update.update_id, update.session_id, payload, now),
            )
            if cursor.rowcount > 0:
                await put_reply(connection, update.session_id, OutgoingReply(self._channel, answer), self._clock())

    async def hold(self, ids: Iterable[int]) -> None:
        """Hold updates until the user's next message, also across restarts."""
        await self._set_state(ids, "held")

    async def finish(self, ids: Iterable[int]) -> None:
        finished = set(ids)
        await self.end_expected_private(finished)
        await self._set_state(finished, "done")

    async def end_expected_private(self, finished: Collection[int]) -> None:
        """Stop expecting sessions to become private if the update that makes them private is finished."""
        if self._expected_private:
            sessions = {update: session_id for session_id, update in self._expected_private.items()}
            for update, number in (await self._find_ids(sessions)).items():
                if number in finished:
                    self._expected_private.pop(sessions[update], None)

    async def _set_state(self, ids: Iterable[int], state: str) -> None:
        remaining = set(ids)
        self._set_in_memory(remaining, state)
        # Updates in memory have no row yet. `keep` stores them with their state.
        remaining -= {unstored.item.id for unstored in self._unstored.values()}
        if remaining:
            async with self._database.transaction(first=True) as connection:
                await connection.executemany(
                    "UPDATE inbox SET state = ? WHERE id = ? AND state <> 'done'", [(state, i) for i in remaining]
                )
