"""The ledger: the only writer of entries, their names and MEMORY.md.

Each action of a user or a model is one `change`: one transaction, and one step of /undo. The former state is recorded
in the same transaction (see memory/ledger/undo.py).
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial

import aiosqlite

from config.texts import _
from memory.clock import Clock, TimezoneLookup, now_text, to_text
from memory.errors import StoreError
from memory.files.markdown import MarkdownFiles
from memory.ledger.change import Change
from memory.ledger.page import Page
from memory.ledger.undo_outcomes import UNDO_PERIOD
from memory.messages import make_storable
from memory.store.database import Database
from memory.store.effects import record_causes
from memory.store.entry import Author, Operation
from memory.store.entry_rows import get_or_create_owner_id
from memory.store.file_copies import FileCopies
from memory.store.forgotten import mark_words

STORED_VERSIONS = 50
"""Number of versions of each MEMORY.md that are always stored (S2)."""
# Larger than all batches before it, including purged ones: an old button must never undo another change.
_NEXT_BATCH = "SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'changes'"


@dataclass(frozen=True, slots=True)
class _FileEdit:
    """A recorded change of MEMORY.md that may not be in the file yet."""

    record: int
    owner: str
    before: str
    after: str


class Ledger:
    def __init__(
        self,
        database: Database,
        files: MarkdownFiles,
        clock: Clock,
        zone_of: TimezoneLookup,
        copies: FileCopies | None = None,
    ) -> None:
        self._database = database
        self._files = files
        self._clock = clock
        self._zone_of = zone_of
        self._copies = copies

    @contextlib.asynccontextmanager
    async def change(
        self,
        owner: str,
        operation: Operation,
        author: Author,
        *,
        trusted: bool = True,
        continues: int | None = None,
    ) -> AsyncIterator[Change]:
        """Change an owner's memory in one transaction. An exception in the block rolls everything back.

        After the block, `change.number` is the number for /undo, or None if nothing was changed. `change.is_written`
        is False if MEMORY.md did not get the edit because a person has edited it in the meantime.

        Args:
            author: The author of all contents in the change.
            trusted: Whether these contents are trusted.
            continues: The number of an earlier change that one /undo takes back together with this one.
        """
        async with self._database.transaction() as connection:
            owner_id = await get_or_create_owner_id(connection, owner)
            page = Page(self._files, owner, partial(self._finish_edits, connection, owner_id))
            moment = self._clock().astimezone(self._zone_of(owner))
            change = Change(connection, owner_id, page, author, moment, trusted=trusted)
            yield change
            number, edit = await self._record(connection, operation, change, page, continues)
        # MEMORY.md is written after the commit, which has recorded its new text. After a crash in between, finish_edits
        # writes it.
        change.number = number
        if edit is not None:
            change.is_written = await self._write(edit)

    async def read_page(self, owner: str) -> str:
        return await self._files.read_long_term(owner)

    async def find_typed_lines(self, owner: str, text: str) -> list[str]:
        """Return the lines of an owner's MEMORY.md that a person wrote or asked for since its last compression."""
        # These are all lines that no recorded change of a model or of the compression has written.
        rows = await self._database.rows(
            "WITH edits AS (SELECT c.* FROM changes c JOIN owners o ON o.id = c.owner_id"
            " WHERE o.name = ? AND c.entry_id = 0 AND c.undone_at IS NULL) SELECT operation, author, before, after FROM"
            " edits WHERE id >= coalesce((SELECT max(id) FROM edits WHERE operation = ?), 0)",
            (owner, Operation.COMPRESS),
        )
        lines = await self._database.rows(
            "SELECT line FROM entries JOIN owners o ON o.id = owner_id"
            " WHERE o.name = ? AND line IS NOT NULL AND author NOT IN (?, ?)",
            (owner, Author.USER, Author.CAPTURE),
        )
        written = {row["line"] for row in lines}
        for row in rows:
            if row["operation"] == Operation.COMPRESS:
                written |= set(row["after"].splitlines())
            elif row["author"] not in (Author.USER, Author.CAPTURE):
                written |= set(row["after"].splitlines()) - set(row["before"].splitlines())
        return [line for line in text.splitlines() if line.strip() and line not in written]

    async def finish_edits(self) -> None:
        """Write the edits that a crash has left unwritten into each MEMORY.md."""
        async with self._database.transaction() as connection:
            await self._finish_edits(connection, None)

    async def purge(self) -> int:
        """Delete records and removed entries older than 30 days, except the newest versions of MEMORY.md.

        Return the number of deleted entries.
        """
        before = to_text(self._clock() - UNDO_PERIOD)
        async with self._database.transaction() as connection:
            # Edits of MEMORY.md can no longer be undone either, since the records of the change's entries go.
            await connection.execute(
                "UPDATE changes SET undone_at = at WHERE entry_id = 0 AND undone_at IS NULL AND at < ?", (before,)
            )
            # Undone consolidations stay recorded, so that they are not repeated.
            await connection.execute(
                "DELETE FROM changes WHERE at < ? AND entry_id <> 0 AND NOT (operation = ? AND undone_at IS NOT NULL)",
                (before, Operation.CONSOLIDATE),
            )
            await connection.execute(
                "DELETE FROM changes WHERE at < ? AND id IN (SELECT id FROM (SELECT id, row_number() OVER"
                " (PARTITION BY owner_id ORDER BY id DESC) AS age FROM changes WHERE entry_id = 0) WHERE age > ?)",
                (before, STORED_VERSIONS),
            )
            # If its successor is deleted, an entry points to itself, so that it stays superseded.
            await connection.execute(
                "UPDATE entries SET superseded_by = id WHERE superseded_by IN"
                " (SELECT id FROM entries WHERE deleted_at < ?)",
                (before,),
            )
            return (await connection.execute("DELETE FROM entries WHERE deleted_at < ?", (before,))).rowcount

    async def _record(
        self,
        connection: aiosqlite.Connection,
        operation: Operation,
        change: Change,
        page: Page,
        continues: int | None,
    ) -> tuple[int | None, _FileEdit | None]:
        """Record the former state of entries and MEMORY.md. Return the change's number and the edit to write."""
        rows: list[tuple[int, str | None, str | None]] = [(was, state, None) for was, state in change.before.items()]
        if page.is_changed:
            # Entry 0 is MEMORY.md.
            rows.append((0, make_storable(page.former or ""), make_storable(page.known_text)))
        if not rows:
            return None, None
        await record_causes(connection)
        standing = "SELECT batch FROM changes WHERE batch = ? AND owner_id = ? AND undone_at IS NULL LIMIT 1"
        numbers = list(await connection.execute_fetchall(standing, (continues, change.owner_id)))
        ((number,),) = numbers or await connection.execute_fetchall(_NEXT_BATCH)
        record = 0
        for entry_id, state, after in rows:
            about = (change.owner_id, entry_id, operation, change.author, state, after, after is not None)
            ((record,),) = await connection.execute_fetchall(
                "INSERT INTO changes (owner_id, entry_id, operation, author, before, after, unwritten, at, batch)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
                (*about, now_text(self._clock), number),
            )
        for entry in change.forgotten:
            await mark_words(connection, change.owner_id, int(number), entry, now_text(self._clock))
        if not page.is_changed:
            return number, None
        return number, _FileEdit(record, page.owner, make_storable(page.former or ""), page.known_text)

    async def _finish_edits(self, connection: aiosqlite.Connection, owner_id: int | None) -> None:
        rows = await connection.execute_fetchall(
            "SELECT c.id, o.name, c.before, c.after FROM changes c JOIN owners o ON o.id = c.owner_id"
            " WHERE c.unwritten AND c.undone_at IS NULL AND (? IS NULL OR c.owner_id = ?) ORDER BY c.id",
            (owner_id, owner_id),
        )
        for row in rows:
            with contextlib.suppress(OSError):  # The disk may be full. The next change tries again.
                await self._write_to_file(connection, _FileEdit(*row))

    async def _write(self, edit: _FileEdit) -> bool:
        try:
            # Under the write lock, so that no other change or undo writes the file at the same time.
            async with self._database.transaction() as connection:
                waits = "SELECT 1 FROM changes WHERE id = ? AND unwritten"
                if not list(await connection.execute_fetchall(waits, (edit.record,))):
                    return True  # Already written or undone.
                return await self._write_to_file(connection, edit)
        except OSError as error:
            raise StoreError(
                _(
                    "MEMORY.md can't be written ({reason}): fix this, and the next change will bring it up to date.",
                    reason=error.strerror,
                )
            ) from error

    async def _write_to_file(self, connection: aiosqlite.Connection, edit: _FileEdit) -> bool:
        """Write a recorded edit. Return False if a person has edited the file first. That edit wins."""
        written = await self._files.rewrite_long_term(edit.owner, expected=edit.before, text=edit.after)
        # An edit that lost must not be undone later, so its record is deleted.
        settled = "UPDATE changes SET unwritten = 0 WHERE id = ?" if written else "DELETE FROM changes WHERE id = ?"
        await connection.execute(settled, (edit.record,))
        if self._copies is not None:
            await self._copies.store(connection, self._files.long_term_path(edit.owner))
        return written
