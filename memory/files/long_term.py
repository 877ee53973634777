"""MEMORY.md as something that is changed and can be changed back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from config.texts import _
from memory.errors import MemoryRefused
from memory.ledger.page import appending, replacing
from memory.store.entry import Operation

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.files.markdown import MarkdownFiles
    from memory.ledger.ledger import Ledger
    from memory.store.entry import Author

TRIES = 3
"""How often a change is made anew because a person was faster."""


class LongTermMemory:
    """Changes of an owner's MEMORY.md, each kept for /undo. A person's own edits are not ours to record."""

    def __init__(self, files: MarkdownFiles, ledger: Ledger) -> None:
        self._files = files
        self._ledger = ledger

    async def read(self, owner: str) -> str:
        """The text as it stands now."""
        return await self._files.read_long_term(owner)

    async def append(self, owner: str, text: str, author: Author) -> int | None:
        """Add a part at the end; the number of the change. Raises MemoryRefused for a secret, or a file too large."""
        return await self._change(owner, author, appending(text))

    async def replace(self, owner: str, part: str, replacement: str, author: Author) -> None:
        """Replace a part that stands there once; an empty replacement deletes it. Raises MemoryRefused."""
        await self._change(owner, author, replacing(part, replacement))

    async def _change(self, owner: str, author: Author, edit: Callable[[str], str]) -> int | None:
        for _try in range(TRIES):
            async with self._ledger.change(owner, Operation.EDIT, author) as change:
                await change.edit_file(edit)
            if change.is_written:
                return change.number
        raise MemoryRefused(_("MEMORY.md is being edited again and again: try it once more in a moment."))
