"""Inbox and outbox: what was received and not yet answered, what was answered and not yet sent."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memory.clock import Clock, from_text, now_text, to_text
from memory.errors import StoreError
from memory.log.sessions import SessionState
from memory.messages import Document, Provenance
from memory.service.preferences import chat_of
from memory.store.button_rows import ASKED, PLACED_BUTTONS, Buttons, OutgoingReply, parse_placed_buttons, put_reply
from memory.store.private import EMPTY

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime

    from memory.buttons import Keyboard, PlacedKeyboard
    from memory.store.database import Database, Row


# an update that is known by its number or by its message is passed over; a row's own number must be free
_INSERT = """
    INSERT INTO inbox (id, channel, update_id, session_id, payload, message_id, new_message, received_at, attempts, run)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (channel, update_id) DO NOTHING
    ON CONFLICT (channel, new_message) WHERE new_message IS NOT NULL DO NOTHING
"""


@dataclass(frozen=True, slots=True)
class Received:
    """An update to store."""

    update_id: int
    session_id: str
    payload: str  # as JSON
    message_id: str | None = None  # the channel's id of the message that it is about
    new_message: str | None = None  # the same, where the update brings a message and is not an edit of one
    begins: bool = False  # work on it begins at once, so that this attempt is counted with it
    makes_private: bool = False  # what comes after it is said in private


@dataclass(frozen=True, slots=True)
class InboxItem:
    """An update that waits for its turn."""

    id: int
    update_id: int
    session_id: str
    payload: str
    held: bool  # it waits for the user's next message (/stop)
    received_at: datetime  # stored at
    attempts: int = 0  # runs of the program that were killed while they worked on it
    is_lost: bool = False  # sent in a private talk, and lost by a restart


@dataclass(frozen=True, slots=True)
class OutboxItem:
    """A reply that waits to be sent."""

    id: int
    session_id: str
    text: str
    reply_to: str | None
    preview_id: str | None  # the message whose place it takes
    message_ids: tuple[str, ...]  # of the chunks that were sent
    keyboard: PlacedKeyboard = ()
    has_document: bool = False
    silent: bool = False  # it comes without a sound
    asks: str | None = None  # it is a question answered by a reply, and this stands where the answer is written
    receiver: str | None = None  # who alone is to see it


@dataclass(slots=True)
class _Unkept:
    """An update that could not be written down yet, with the row that it is to have."""

    update: Received
    item: InboxItem
    state: str = "queued"


class Mailbox:
    """The mail of one channel.

    What can't be kept, as on a full disk, waits in memory and is worked on all the same. It is not confirmed to the
    channel, which sends it again to a program that was killed meanwhile.
    """

    def __init__(self, database: Database, channel: str, clock: Clock) -> None:
        self._database = database
        self._channel = channel
        self._clock = clock
        # tells the attempts of this run of the program from those of runs before it
        self._run = secrets.token_hex(8)
        self._unkept: dict[int, _Unkept] = {}
        self._keeping = asyncio.Lock()
        # held until the words of a private update are in memory: see `_write`
        self._writing_private = asyncio.Lock()
        # sessions that become private by an update that is still to be worked on, with its number
        self._expected_private: dict[str, int] = {}
        self.buttons = Buttons(database, channel)

    async def receive(self, updates: Iterable[Received]) -> None:
        """Keep updates, each once: Telegram sends again what a crash kept from being confirmed.

        Each message once too: a proxy or a server that was set up anew may send it under another number. Raises
        StoreError where they can't be kept and must not be confirmed: then they wait in memory.
        """
        new = list(updates)
        if not new:
            return
        if self._unkept:
            # behind what waits already, so that the order stays
            await self._hold_in_memory(new)
            await self.keep()
            return
        now = self._clock()
        try:
            await self._write([(None, update, now) for update in new])
        except StoreError:
            await self._hold_in_memory(new)
            raise

    async def _write(
        self, received: Sequence[tuple[int | None, Received, datetime]], states: Sequence[tuple[str, int]] = ()
    ) -> None:
        """Write updates down, each with its number where it has one; of what is said in private the file has no word.

        states: other states than that of an update that has just come, by number.
        """
        private = [update.update_id for _, update, _ in received if await self._is_private(update)]
        # a row in the file whose words are not in memory yet looks like one that a restart has lost
        async with self._writing_private if private else contextlib.nullcontext():
            async with self._database.transaction(first=True) as connection:
                await connection.executemany(_INSERT, [self._row(*item, private) for item in received])
                await connection.executemany("UPDATE inbox SET state = ? WHERE id = ?", states)
            if private:
                ids = await self._ids_of(private)
                rows = [self._row(ids[u.update_id], u, at) for _, u, at in received if u.update_id in ids]
                memory = await self._database.private.memory()
                async with memory.transaction() as connection:
                    await connection.executemany(_INSERT, rows)

    async def _is_private(self, update: Received) -> bool:
        session_id = update.session_id
        if update.makes_private:
            self._expected_private[session_id] = update.update_id
        if session_id in self._expected_private:
            return True
        if await self._database.private.database_of(session_id) is not self._database:
            return True
        # an edit of what was said in a private talk that is over
        query = "SELECT 1 FROM inbox WHERE channel = ? AND session_id = ? AND message_id = ? AND payload = ?"
        about = (self._channel, session_id, update.message_id, EMPTY)
        is_edit = update.new_message is None and update.message_id is not None
        return is_edit and await self._database.value(query, about) is not None

    async def _ids_of(self, update_ids: Iterable[int]) -> dict[int, int]:
        rows = await self._database.rows(
            "SELECT id, update_id FROM inbox WHERE channel = ? AND update_id IN (SELECT value FROM json_each(?))",
            (self._channel, json.dumps(list(update_ids))),
        )
        return {row["update_id"]: row["id"] for row in rows}

    async def keep(self) -> None:
        """Write what waits in memory to the database. Raises StoreError where that still fails."""
        async with self._keeping:
            # a state may change while it is being written
            written = [(unkept, unkept.state) for unkept in self._unkept.values()]
            if not written:
                return
            await self._write(
                [(unkept.item.id, unkept.update, unkept.item.received_at) for unkept, _ in written],
                [(state, unkept.item.id) for unkept, state in written if state != "queued"],
            )
            for unkept, _ in written:
                del self._unkept[unkept.update.update_id]
        for unkept, state in written:
            if unkept.state != state:  # meanwhile
                await self._set_state([unkept.item.id], unkept.state)

    async def _hold_in_memory(self, updates: Iterable[Received]) -> None:
        new = [update for update in updates if update.update_id not in self._unkept]
        known = await self._ids_of(update.update_id for update in new)
        # the numbers that their rows will get: behind all that AUTOINCREMENT has given
        last = int(await self._database.value("SELECT seq FROM sqlite_sequence WHERE name = 'inbox'") or 0)
        last = max([last, *(unkept.item.id for unkept in self._unkept.values())])
        before = known.keys() | self._unkept.keys()
        for number, update in enumerate((unkept for unkept in new if unkept.update_id not in before), last + 1):
            item = InboxItem(
                number, update.update_id, update.session_id, update.payload, held=False, received_at=self._clock()
            )
            self._unkept[update.update_id] = _Unkept(update, item)

    def _row(
        self, item_id: int | None, update: Received, received_at: datetime, private: Collection[int] = ()
    ) -> tuple[object, ...]:
        payload = EMPTY if update.update_id in private else update.payload
        values = (item_id, self._channel, update.update_id, update.session_id, payload, update.message_id)
        attempt = (1, self._run) if update.begins else (0, None)
        return (*values, update.new_message, to_text(received_at), *attempt)

    def finished(self, ids: Iterable[int]) -> None:
        """Mark updates that wait in memory as answered; the log has their turn."""
        self._set_in_memory(set(ids), "done")

    def _set_in_memory(self, ids: set[int], state: str) -> None:
        for unkept in self._unkept.values():
            if unkept.item.id in ids and unkept.state != "done":
                unkept.state = state
                unkept.item = replace(unkept.item, held=state == "held")

    async def waiting(self, but: Collection[int] = ()) -> list[InboxItem]:
        """Updates that no turn has finished, oldest first. but: without those of these ids."""
        rows = await self._database.rows(
            "SELECT * FROM inbox WHERE channel = ? AND state <> 'done'"
            " AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY id",
            (self._channel, json.dumps(list(but))),
        )
        private = {row["id"] for row in rows if row["payload"] == EMPTY}
        payloads = await self._private_payloads(private)
        if private - payloads.keys():
            # perhaps they are just being written: only what is missing after that is lost
            async with self._writing_private:
                payloads = await self._private_payloads(private)
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
        unkept = [
            unkept.item for unkept in self._unkept.values() if unkept.state != "done" and unkept.item.id not in left_out
        ]
        return inbox_items + unkept

    async def count_attempt(self, ids: Iterable[int]) -> None:
        """Count that work on updates begins, once in a run of the program: the next run then knows what ended it."""
        these = json.dumps(list(ids))
        uncounted = "id IN (SELECT value FROM json_each(?)) AND run IS NOT ?"
        # asked first, since a read waits for no disk, and most were counted when they were kept
        if await self._database.value(f"SELECT EXISTS (SELECT 1 FROM inbox WHERE {uncounted})", (these, self._run)):
            await self._database.write(
                f"UPDATE inbox SET attempts = attempts + 1, run = ? WHERE {uncounted}",
                (self._run, these, self._run),
                first=True,
            )

    async def take_back_attempts(self) -> None:
        """Take back the attempts of this run: it ends in order, and not by what it worked on."""
        await self._database.write(
            "UPDATE inbox SET attempts = attempts - 1, run = NULL WHERE channel = ? AND state <> 'done' AND run = ?",
            (self._channel, self._run),
        )

    async def said_before(self, item: InboxItem, message_id: str) -> str | None:
        """The payload of the newest other update about the message that `item` edits; None when there is none."""
        row = await self._database.row(
            "SELECT id, payload FROM inbox WHERE channel = ? AND session_id = ? AND message_id = ? AND id < ?"
            " ORDER BY id DESC LIMIT 1",
            (self._channel, item.session_id, message_id, item.id),
        )
        if row is None:
            return None
        return (await self._private_payloads([row["id"]])).get(row["id"], str(row["payload"]))

    async def _private_payloads(self, ids: Iterable[int]) -> dict[int, str]:
        if not (numbers := list(ids)):
            return {}
        memory = await self._database.private.memory()
        query = "SELECT id, payload FROM inbox WHERE id IN (SELECT value FROM json_each(?))"
        return {row["id"]: row["payload"] for row in await memory.rows(query, (json.dumps(numbers),))}

    async def correct(self, edit: InboxItem, original: int, payload: str) -> None:
        """Replace a waiting update's text by that of an edit, which is finished with that."""
        # what only waits in memory has no row yet to correct
        await self.keep()
        corrected = "UPDATE inbox SET payload = ? WHERE id = ? AND payload <> ?"
        for memory in self._database.private.databases()[1:]:
            await memory.write(corrected, (payload, original, EMPTY))
        async with self._database.transaction() as connection:
            await connection.execute(corrected, (payload, original, EMPTY))
            await connection.execute("UPDATE inbox SET state = 'done' WHERE id = ?", (edit.id,))

    async def set_aside(self, update: Received, answer: str) -> None:
        """Store, once, an update that can't be read, and put the answer to its sender into the outbox."""
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

    async def previews(self) -> dict[str, str]:
        """By session: the message that shows the beginning of an answer whose turn was never committed."""
        return dict(await self._message_ids("previews"))

    async def keep_preview(self, session_id: str, message_id: str) -> None:
        """Remember the message that is to become the reply, until a turn of the session is committed with it."""
        await self._keep_message_id("previews", session_id, message_id)

    async def reactions(self) -> list[tuple[str, str]]:
        """The messages that a reaction of ours may stand at, by session and the channel's id."""
        return await self._message_ids("reactions")

    async def keep_reaction(self, session_id: str, message_id: str) -> None:
        await self._keep_message_id("reactions", session_id, message_id)

    async def drop_reaction(self, session_id: str, message_id: str) -> None:
        await self._database.write(
            "DELETE FROM reactions WHERE channel = ? AND session_id = ? AND message_id = ?",
            (self._channel, session_id, message_id),
        )

    async def _message_ids(self, table: str) -> list[tuple[str, str]]:
        query = f"SELECT session_id, message_id FROM {table} WHERE channel = ?"
        return [(row["session_id"], row["message_id"]) for row in await self._database.rows(query, (self._channel,))]

    async def _keep_message_id(self, table: str, session_id: str, message_id: str) -> None:
        statement = f"INSERT OR REPLACE INTO {table} (channel, session_id, message_id) VALUES (?, ?, ?)"
        await self._database.write(statement, (self._channel, session_id, message_id))

    async def hold(self, ids: Iterable[int]) -> None:
        """Let updates wait for the user's next message, also over a restart."""
        await self._set_state(ids, "held")

    async def done(self, ids: Iterable[int]) -> None:
        """Updates that need no turn, or whose turn could not be committed, are finished."""
        finished = set(ids)
        await self._end_expected_private(finished)
        await self._set_state(finished, "done")

    async def _end_expected_private(self, finished: Collection[int]) -> None:
        """What was to make a session private has by now, or did not, where its update is among the finished ones.

        An answer to anything else, such as a /status meanwhile, tells nothing of it.
        """
        if self._expected_private:
            sessions = {update: session_id for session_id, update in self._expected_private.items()}
            for update, number in (await self._ids_of(sessions)).items():
                if number in finished:
                    self._expected_private.pop(sessions[update], None)

    async def _set_state(self, ids: Iterable[int], state: str) -> None:
        these = set(ids)
        self._set_in_memory(these, state)
        # their rows are not there yet: `keep` writes them with their state
        these -= {unkept.item.id for unkept in self._unkept.values()}
        if these:
            async with self._database.transaction(first=True) as connection:
                await connection.executemany(
                    "UPDATE inbox SET state = ? WHERE id = ? AND state <> 'done'", [(state, i) for i in these]
                )

    async def answer(
        self,
        session_id: str,
        text: str,
        *,
        inbox_ids: Iterable[int] = (),
        reply_to: str | None = None,
        replaces: str | None = None,
        keyboard: Keyboard = (),
        asker: str | None = None,
        document: Document | None = None,
        unasked: bool = False,
        receiver: str | None = None,
    ) -> None:
        """Put a text that belongs to no turn into the outbox, and finish the updates that it answers.

        replaces: the message that it takes the place of. asker: who alone may press its buttons. unasked: it answers
        nobody, so it comes without a sound where the chat wants that. receiver: who alone is to see it.
        """
        await self.keep()
        finished = set(inbox_ids)
        await self._end_expected_private(finished)
        answered = [(i,) for i in finished]
        quiet = "SELECT EXISTS (SELECT 1 FROM preferences WHERE chat = ? AND notices IN ('quiet', 'off'))"
        silent = unasked and await self._database.value(quiet, (chat_of(session_id),))
        done = "UPDATE inbox SET state = 'done' WHERE id = ?"
        database = await self._database.private.database_of(session_id)
        # the file records that the mail is answered, and none of its words
        if database is not self._database:
            async with self._database.transaction(first=True) as connection:
                await connection.executemany(
                    f"UPDATE inbox SET state = 'done', payload = '{EMPTY}' WHERE id = ?", answered
                )
        async with database.transaction(first=True) as connection:
            await connection.executemany(done, answered)
            reply = OutgoingReply(self._channel, text, reply_to, replaces, keyboard, asker, bool(silent), receiver)
            number = await put_reply(connection, session_id, reply, self._clock())
            if document is not None:
                await connection.execute(
                    "INSERT INTO documents (outbox_id, name, content, is_voice) VALUES (?, ?, ?, ?)",
                    (number, document.name, document.content, document.is_voice),
                )

    async def document(self, item: OutboxItem) -> Document | None:
        """The file that goes with a reply that waits; None where it was forgotten meanwhile."""
        database = self._database.private.database_with(item.id)
        row = await database.row("SELECT * FROM documents WHERE outbox_id = ?", (item.id,))
        return None if row is None else Document(row["name"], row["content"], bool(row["is_voice"]))

    async def provenance_of(self, session_id: str, message_id: str) -> Provenance:
        """What the answer was made of that a chat shows as the message of that id; FOREIGN where that is not known."""
        for database in self._database.private.databases():
            provenance = await database.value(
                "SELECT coalesce(m.provenance, 'typed') FROM outbox o"
                " JOIN messages m ON m.turn_id = o.turn_id AND m.role = 'assistant'"
                " WHERE o.channel = ? AND o.session_id = ?"
                " AND EXISTS (SELECT 1 FROM json_each(o.message_ids) WHERE value = ?) ORDER BY m.id DESC LIMIT 1",
                (self._channel, session_id, message_id),
            )
            if provenance is not None:
                return Provenance(provenance)
        return Provenance.FOREIGN

    async def unsent(self, session_id: str | None = None) -> list[OutboxItem]:
        return [
            _outbox_item(row)
            for database in self._database.private.databases()
            for row in await database.rows(
                f"SELECT *, {PLACED_BUTTONS} AS keyboard, {ASKED} AS asks,"
                " EXISTS (SELECT 1 FROM documents WHERE outbox_id = o.id) AS has_document"
                " FROM outbox o WHERE channel = ? AND state = 'waiting'"
                " AND (? IS NULL OR session_id = ?) ORDER BY id",
                (self._channel, session_id, session_id),
            )
        ]

    async def chunk_sent(self, item: OutboxItem, message_ids: tuple[str, ...]) -> None:
        await self._database.private.database_with(item.id).write(
            "UPDATE outbox SET message_ids = ? WHERE id = ?", (json.dumps(message_ids), item.id)
        )

    async def settle(
        self,
        item: OutboxItem,
        message_ids: tuple[str, ...],
        failure: str | None = None,
        *,
        terminated: bool = False,
    ) -> None:
        """A reply was sent or given up (`failure`). message_ids: of its chunks; terminated: its session is over."""
        if terminated:  # before the reply is settled: what a crash leaves between the two is tried again
            await self._database.write(
                "UPDATE sessions SET state = ? WHERE id = ?", (SessionState.TERMINATED, item.session_id)
            )
        await self._database.private.database_with(item.id).write(
            "UPDATE outbox SET state = ?, failure = ?, settled_at = ?, message_ids = ? WHERE id = ?",
            ("given up" if failure else "sent", failure, now_text(self._clock), json.dumps(message_ids), item.id),
        )


def _outbox_item(row: Row) -> OutboxItem:
    return OutboxItem(
        id=row["id"],
        session_id=row["session_id"],
        text=row["text"],
        reply_to=row["reply_to"],
        preview_id=row["preview_id"],
        message_ids=tuple(json.loads(row["message_ids"])),
        keyboard=parse_placed_buttons(row["keyboard"]),
        has_document=bool(row["has_document"]),
        silent=bool(row["silent"]),
        asks=row["asks"],
        receiver=row["receiver"],
    )
