"""MEMORY.md as something that is changed and can be changed back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from memory.errors import MemoryRefused

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from memory.files.markdown import MarkdownFiles
    from memory.store.changes import ChangeLog
    from memory.store.database import Database
    from memory.store.entry import Author


class LongTermMemory:
    """Changes of an owner's MEMORY.md, each kept for /undo. A person's own edits are not ours to record."""

    def __init__(self, files: MarkdownFiles, database: Database, changes: ChangeLog) -> None:
        self._files = files
        self._database = database
        self._changes = changes

    async def read(self, owner: str) -> str:
        """The text as it stands now."""
        return await self._files.read_long_term(owner)

    async def append(self, owner: str, text: str, author: Author) -> None:
        """Add a part at the end. Raises MemoryRefused for a secret, or when the file would grow too large."""
        await self._change(owner, author, partial(self._files.append_long_term, owner, text))

    async def replace(self, owner: str, part: str, replacement: str, author: Author) -> None:
        """Replace a part that stands there once; an empty replacement deletes it. Raises MemoryRefused."""
        await self._change(owner, author, partial(self._files.replace_in_long_term, owner, part, replacement))

    async def rewrite(self, owner: str, expected: str, text: str, author: Author) -> bool:
        """Replace the whole text if it still says `expected`; whether it did.

        Raises MemoryRefused for a secret, or when the file would grow too large.
        """
        # the version is kept first: a crash in between leaves one too many, never one too few
        record = await self._record(owner, author, expected, text)
        try:
            written = await self._files.rewrite_long_term(owner, expected=expected, text=text)
        except MemoryRefused:
            await self._withdraw(record)
            raise
        if not written:
            await self._withdraw(record)
        return written

    async def _change(self, owner: str, author: Author, change: Callable[[], Awaitable[tuple[str, str]]]) -> None:
        # in one transaction, so that changes are recorded in the order in which they are made
        async with self._database.transaction() as connection:
            before, after = await change()
            await self._changes.record_file(connection, owner, author, before, after)

    async def _record(self, owner: str, author: Author, before: str, after: str) -> int:
        async with self._database.transaction() as connection:
            return await self._changes.record_file(connection, owner, author, before, after)

    async def _withdraw(self, record: int) -> None:
        async with self._database.transaction() as connection:
            await self._changes.withdraw(connection, record)
