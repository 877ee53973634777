"""The ledger: the only writer of entries and names, and of MEMORY.md together with them.

One action of a person or of the model is one `change`: one transaction, one batch for /undo.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING

from config.texts import _
from memory.clock import to_text
from memory.errors import StoreError
from memory.ledger.change import Change, WriteContext
from memory.ledger.changes import UNDO_PERIOD, ChangeLog
from memory.ledger.page import Page
from memory.messages import storable
from memory.store.entry_rows import owner_number

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import aiosqlite

    from memory.clock import Clock, TimezoneLookup
    from memory.ledger.changes import Recorded, Unwritten
    from memory.ledger.page import LongTermFile
    from memory.store.database import Database
    from memory.store.entry import Author, Operation
    from memory.store.file_copies import FileCopies


class Ledger:
    """Changes the memory of all owners, one change at a time."""

    def __init__(
        self,
        database: Database,
        files: LongTermFile,
        clock: Clock,
        zone_of: TimezoneLookup,
        copies: FileCopies | None = None,
    ) -> None:
        self._database = database
        self._files = files
        self._changes = ChangeLog(clock)
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
        """One change of an owner's memory; whatever is raised in the block leaves everything as it was.

        author and trusted: who writes, and whether that is to be trusted; they go with every content. continues: the
        number of an action that this is another step of, so that one /undo takes back both. MEMORY.md is
        written after the commit, which says what it is to become: a crash in between loses neither the edit, which
        `finish_edits` makes up for, nor its undo. `change.is_written` tells whether a person was faster there, and
        `change.number` by which number it can be taken back; None where nothing was changed.
        """
        recorded: Recorded | None = None
        async with self._database.transaction() as connection:
            owner_id = await owner_number(connection, owner)
            page = Page(self._files, owner, partial(self._finish_edits, connection, owner_id))
            context = WriteContext(author, trusted, self._clock().astimezone(self._zone_of(owner)))
            change = Change(connection, owner_id, context, page)
            yield change
            recorded = await self._changes.record(
                connection, owner_id, operation, author, [*change.before.values()], page, continues
            )
        if recorded is not None:
            change.number = recorded.number
            if recorded.unwritten is not None:
                change.is_written = await self._write(recorded.unwritten)

    async def page(self, owner: str) -> str:
        """The text of an owner's MEMORY.md as it stands now."""
        return storable(await self._files.raw_long_term(owner))

    async def typed_lines(self, owner: str, text: str) -> list[str]:
        """The lines of `text`, an owner's MEMORY.md, that a person wrote since it was last compressed."""
        async with self._database.transaction() as connection:
            return await self._changes.typed_lines(connection, await owner_number(connection, owner), text)

    async def finish_edits(self) -> None:
        """Write into each MEMORY.md what a crash kept from being written."""
        async with self._database.transaction() as connection:
            await self._finish_edits(connection, None)

    async def purge(self) -> int:
        """Delete for good what was removed or changed more than 30 days ago; how many entries went.

        Of MEMORY.md the newest versions stay, however old they are.
        """
        before = to_text(self._clock() - UNDO_PERIOD)
        async with self._database.transaction() as connection:
            await self._changes.purge(connection, before)
            # what was superseded stays so when its successor goes: it then points to itself
            await connection.execute(
                "UPDATE entries SET superseded_by = id WHERE superseded_by IN"
                " (SELECT id FROM entries WHERE deleted_at < ?)",
                (before,),
            )
            cursor = await connection.execute("DELETE FROM entries WHERE deleted_at < ?", (before,))
        return cursor.rowcount

    async def _finish_edits(self, connection: aiosqlite.Connection, owner_id: int | None) -> None:
        for unwritten in await self._changes.unwritten(connection, owner_id):
            with contextlib.suppress(OSError):  # such as a full disk: the next change of it tries again
                await self._put(connection, unwritten)

    async def _write(self, unwritten: Unwritten) -> bool:
        try:
            # under the write lock, so that no undo and no other change comes between the commit and the file
            async with self._database.transaction() as connection:
                if not await self._changes.is_unwritten(connection, unwritten):
                    return True
                return await self._put(connection, unwritten)
        except OSError as error:
            raise StoreError(
                _(
                    "MEMORY.md can't be written ({reason}): see to it, its next change makes up for it.",
                    reason=error.strerror,
                )
            ) from error

    async def _put(self, connection: aiosqlite.Connection, unwritten: Unwritten) -> bool:
        """Write what is recorded into the file; whether it says that now. A person's edit wins."""
        written = await self._files.rewrite_long_term(unwritten.owner, expected=unwritten.before, text=unwritten.after)
        await (self._changes.mark_written if written else self._changes.withdraw)(connection, unwritten)
        if self._copies is not None:
            await self._copies.keep(connection, self._files.long_term_path(unwritten.owner))
        return written
