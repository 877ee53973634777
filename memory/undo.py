"""/undo: the last change of memory is taken back, whoever made it, be it of an entry or of MEMORY.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.entry_rows import owner_number

if TYPE_CHECKING:
    from memory.changes import ChangeLog, Undone
    from memory.database import Database
    from memory.markdown import MarkdownFiles


class Undo:
    """Takes changes back, newest first."""

    def __init__(self, database: Database, changes: ChangeLog, files: MarkdownFiles) -> None:
        self._database = database
        self._changes = changes
        self._files = files

    async def undo(self, owner: str) -> Undone | None:
        """Take back the newest change of an owner that still stands; None when there is none.

        Raises MemoryRefused when it can't be: a name is in use again, or a person has edited the file since.
        """
        async with self._database.transaction() as connection:
            owner_id = await owner_number(connection, owner)
            change = await self._changes.newest(connection, owner_id)
            if change is None:
                return None
            if change.file is not None:
                await self._files.put_back(owner, expected=change.file.after, text=change.file.before)
            return await self._changes.take_back(connection, owner_id, change)
