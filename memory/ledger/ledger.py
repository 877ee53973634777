"""The ledger: the only writer of entries and names, and of MEMORY.md together with them.

One action of a person or of the model is one `change`: one transaction, one batch for /undo. What memory was before it
is recorded in the same transaction, so that it can be taken back (memory/ledger/undo.py).
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from config.texts import _
from memory.clock import now_text, to_text
from memory.errors import StoreError
from memory.ledger.change import Change
from memory.ledger.page import Page
from memory.ledger.undo import UNDO_PERIOD
from memory.messages import storable
from memory.store.effects import keep_causes
from memory.store.entry import Author, Operation
from memory.store.entry_rows import owner_number
from memory.store.forgotten import mark_words

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import aiosqlite

    from memory.clock import Clock, TimezoneLookup
    from memory.files.markdown import MarkdownFiles
    from memory.store.database import Database
    from memory.store.file_copies import FileCopies

VERSIONS = 50
"""Versions of each MEMORY.md that are kept (S2)."""
_NEXT_BATCH = "SELECT coalesce(max(batch), 0) + 1 FROM changes"


@dataclass(frozen=True, slots=True)
class _FileEdit:
    """A change of MEMORY.md that is recorded and not known to be in the file."""

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
        """One change of an owner's memory; whatever is raised in the block leaves everything as it was.

        author, trusted: who writes, and whether that is to be trusted; they go with every content. continues: the
        number of an action that this is another step of, so that one /undo takes back both. Afterwards `change.number`
        is what /undo takes it back by, None where nothing was changed, and `change.is_written` whether MEMORY.md has
        its edit: not where a person was faster.
        """
        async with self._database.transaction() as connection:
            owner_id = await owner_number(connection, owner)
            page = Page(self._files, owner, partial(self._finish_edits, connection, owner_id))
            moment = self._clock().astimezone(self._zone_of(owner))
            change = Change(connection, owner_id, page, author, moment, trusted=trusted)
            yield change
            number, edit = await self._record(connection, operation, change, page, continues)
        # MEMORY.md is written after the commit, which records what it is to become: after a crash in between
        # finish_edits writes it, and /undo knows of it
        change.number = number
        if edit is not None:
            change.is_written = await self._write(edit)

    async def page(self, owner: str) -> str:
        return await self._files.read_long_term(owner)

    async def typed_lines(self, owner: str, text: str) -> list[str]:
        """The lines of `text`, an owner's MEMORY.md, that a person wrote or asked for since it was last compressed."""
        # told by exclusion: a line is a person's where no change of a model or of compression is known to have written
        # it
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
        """Write into each MEMORY.md the edits that a crash left unwritten."""
        async with self._database.transaction() as connection:
            await self._finish_edits(connection, None)

    async def purge(self) -> int:
        """Delete for good what was changed more than 30 days ago, but MEMORY.md's newest; how many entries went."""
        before = to_text(self._clock() - UNDO_PERIOD)
        async with self._database.transaction() as connection:
            # an action whose entries can't be taken back any more is not taken back by half
            await connection.execute(
                "UPDATE changes SET undone_at = at WHERE entry_id = 0 AND undone_at IS NULL AND at < ?", (before,)
            )
            # what the weekly tidying is not to do again stays known
            await connection.execute(
                "DELETE FROM changes WHERE at < ? AND entry_id <> 0 AND NOT (operation = ? AND undone_at IS NOT NULL)",
                (before, Operation.CONSOLIDATE),
            )
            await connection.execute(
                "DELETE FROM changes WHERE at < ? AND id IN (SELECT id FROM (SELECT id, row_number() OVER"
                " (PARTITION BY owner_id ORDER BY id DESC) AS age FROM changes WHERE entry_id = 0) WHERE age > ?)",
                (before, VERSIONS),
            )
            # what was superseded stays so when its successor goes: it then points to itself
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
        """Record a change by what entries and MEMORY.md were before it; its number, and what the file is to become.

        continues: the change that this is another step of, if it still stands.
        """
        rows: list[tuple[int, str | None, str | None]] = [(was, state, None) for was, state in change.before.items()]
        if page.is_changed:
            # entry 0 stands for MEMORY.md
            rows.append((0, storable(page.former or ""), storable(page.known_text)))
        if not rows:
            return None, None
        await keep_causes(connection)
        standing = "SELECT batch FROM changes WHERE batch = ? AND owner_id = ? AND undone_at IS NULL LIMIT 1"
        numbers = list(await connection.execute_fetchall(standing, (continues, change.owner_id)))
        ((number,),) = numbers or await connection.execute_fetchall(_NEXT_BATCH)
        record = 0
        # one by one, since most changes are of one entry
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
        return number, _FileEdit(record, page.owner, storable(page.former or ""), page.known_text)

    async def _finish_edits(self, connection: aiosqlite.Connection, owner_id: int | None) -> None:
        rows = await connection.execute_fetchall(
            "SELECT c.id, o.name, c.before, c.after FROM changes c JOIN owners o ON o.id = c.owner_id"
            " WHERE c.unwritten AND c.undone_at IS NULL AND (? IS NULL OR c.owner_id = ?) ORDER BY c.id",
            (owner_id, owner_id),
        )
        for row in rows:
            with contextlib.suppress(OSError):  # such as a full disk: the next change of it tries again
                await self._put(connection, _FileEdit(*row))

    async def _write(self, edit: _FileEdit) -> bool:
        try:
            # under the write lock, so that no undo and no other change comes between the commit and the file
            async with self._database.transaction() as connection:
                waits = "SELECT 1 FROM changes WHERE id = ? AND unwritten"
                if not list(await connection.execute_fetchall(waits, (edit.record,))):
                    return True  # somebody else has written it, or taken it back
                return await self._put(connection, edit)
        except OSError as error:
            raise StoreError(
                _(
                    "MEMORY.md can't be written ({reason}): see to it, its next change makes up for it.",
                    reason=error.strerror,
                )
            ) from error

    async def _put(self, connection: aiosqlite.Connection, edit: _FileEdit) -> bool:
        """Write a recorded edit into the file; whether the file has it now. A person's edit wins."""
        written = await self._files.rewrite_long_term(edit.owner, expected=edit.before, text=edit.after)
        # where a person was faster our edit never happened: /undo must not take it back
        settled = "UPDATE changes SET unwritten = 0 WHERE id = ?" if written else "DELETE FROM changes WHERE id = ?"
        await connection.execute(settled, (edit.record,))
        if self._copies is not None:
            await self._copies.keep(connection, self._files.long_term_path(edit.owner))
        return written
