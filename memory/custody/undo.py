"""/undo: the last change of memory is taken back, whoever made it, be it of an entry or of MEMORY.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.errors import MemoryRefused

if TYPE_CHECKING:
    from memory.files.markdown import MarkdownFiles
    from memory.store.changes import ChangeLog, Undone
    from memory.store.database import Database


class Undo:
    """Takes changes back, newest first."""

    def __init__(self, database: Database, changes: ChangeLog, files: MarkdownFiles) -> None:
        self._database = database
        self._changes = changes
        self._files = files

    async def undo(self, owner: str) -> Undone | None:
        """Take back the newest change of an owner that still stands; None when there is none.

        Raises MemoryRefused when it can't be: a name is in use again, or a person has edited the file since. That
        edit is never lost; the next undo goes on with the change before.
        """
        owner_id = await self._database.value("SELECT id FROM owners WHERE name = ?", (owner,))
        if owner_id is None:
            return None
        async with self._database.transaction() as connection:
            change = await self._changes.newest(connection, owner_id)
            if change is None:
                return None
            if change.file is None:
                return await self._changes.take_back(connection, owner_id, change)
            try:
                await self._files.put_back(owner, expected=change.file.after, text=change.file.before)
            except MemoryRefused as refused:
                await self._changes.give_up(connection, change)
                reason = refused
            else:
                return await self._changes.take_back(connection, owner_id, change)
        raise MemoryRefused(f"{reason} The next /undo goes on with the change before.")
