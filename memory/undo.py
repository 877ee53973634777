"""/undo: the last change of memory is taken back, whoever made it, entries and MEMORY.md alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from config.texts import _
from memory.errors import MemoryRefused
from memory.ledger.changes import MEMORY_FILE, ChangeLog
from memory.ledger.outcomes import Undone, lines_of_entries, outcome_of_entry, outcomes_of_file, telling
from memory.store.entry import Operation
from memory.store.entry_rows import known_owner

if TYPE_CHECKING:
    from memory.files.markdown import MarkdownFiles
    from memory.store.database import Database
    from memory.store.entry import Entry
    from memory.store.file_copies import FileCopies
    from memory.store.pending_erasures import PendingErasures


class Undo:
    """Takes changes back, newest first."""

    def __init__(
        self,
        database: Database,
        changes: ChangeLog,
        files: MarkdownFiles,
        erasures: PendingErasures,
        copies: FileCopies | None = None,
    ) -> None:
        self._database = database
        self._changes = changes
        self._files = files
        self._erasures = erasures
        self._copies = copies

    async def newest_of(self, entry: Entry) -> int | None:
        """The number of the newest change of an entry that still stands."""
        value = await self._database.value(
            "SELECT batch FROM changes WHERE entry_id = ? AND undone_at IS NULL ORDER BY id DESC LIMIT 1", (entry.id,)
        )
        return None if value is None else int(value)

    async def undo(self, owner: str, number: int | None = None) -> Undone | None:
        """Take back the newest change of an owner that still stands, or the one of that number; None without one.

        A person's later edit of MEMORY.md is never lost: the file is left as it is then, and the entries of the
        change are taken back all the same. Raises MemoryRefused when nothing can be: there are none, a name is in
        use again, a later change has to do with the same; after an edit the next undo goes on with the change before.
        """
        owner_id = await known_owner(self._database, owner)
        if owner_id is None:
            return None
        refused: MemoryRefused | None = None
        async with self._database.transaction() as connection:
            batch = await self._changes.standing(connection, owner_id, number)
            if batch is None:
                return None
            if number is not None and await self._changes.is_built_on(connection, owner_id, batch):
                raise MemoryRefused(_("That was changed again since: /undo starts with the newest change."))
            outcomes = [await outcome_of_entry(connection, was) for was in batch.entries]
            lines = await lines_of_entries(connection, batch.entries)
            names = await self._changes.take_back(connection, owner_id, batch)
            if batch.file is not None:
                # the last step before the commit: nothing that is refused after it leaves the two apart
                try:
                    await self._files.put_back(owner, expected=batch.file.after, text=batch.file.before)
                    if self._copies is not None:
                        await self._copies.keep(connection, self._files.long_term_path(owner))
                    names.append(MEMORY_FILE)
                    outcomes = [*outcomes_of_file(batch.file, lines), *outcomes]
                except MemoryRefused as error:
                    refused = error
        if refused is not None and not batch.entries:
            raise MemoryRefused(_("{why} The next /undo continues with the change before it.", why=refused))
        if batch.operation == Operation.IMPORT:
            await self._erasures.remove()
        return Undone(batch.operation, batch.author, tuple(names), telling(outcomes), refused is not None)
