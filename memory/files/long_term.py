"""MEMORY.md as something that is changed and can be changed back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from config.texts import _
from memory.errors import MemoryRefused
from memory.ledger.page import appending, line_digest, replacing, said_by, without_line
from memory.store.entry import Author, Operation

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.files.markdown import MarkdownFiles
    from memory.ledger.ledger import Ledger

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

    async def lines(self, owner: str) -> list[str]:
        """Its lines that say something: no headings, no empty ones."""
        lines = (await self.read(owner)).splitlines()
        return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]

    async def remove_line(self, owner: str, digest: str, author: Author) -> tuple[str, int | None]:
        """Take out the line of that digest; its words, and the number of the change. Raises MemoryRefused."""
        line = next((line for line in await self.lines(owner) if line_digest(line) == digest), None)
        if line is None:
            raise MemoryRefused(_("That line of MEMORY.md is gone, or says something else by now: see /memory."))
        return said_by(line), await self._change(owner, author, without_line(line))

    async def append(self, owner: str, text: str, author: Author) -> int | None:
        """Add a part at the end; the number of the change. Raises MemoryRefused for a secret, or a file too large."""
        return await self._change(owner, author, appending(text))

    async def replace(self, owner: str, part: str, replacement: str, author: Author) -> None:
        """Replace a part that stands there once; an empty replacement deletes it. Raises MemoryRefused."""
        await self._change(owner, author, replacing(part, replacement))

    async def rewrite(self, owner: str, before: str, after: str) -> int | None:
        """Have a person's new text in the place of the one that they saw; the number of the change.

        Raises MemoryRefused where it says something else by now.
        """

        def edit(text: str) -> str:
            if text.strip() != before.strip():
                raise MemoryRefused(_("MEMORY.md was changed meanwhile: load it again, then make your change."))
            return after

        return await self._change(owner, Author.USER, edit)

    async def _change(self, owner: str, author: Author, edit: Callable[[str], str]) -> int | None:
        for _try in range(TRIES):
            async with self._ledger.change(owner, Operation.EDIT, author) as change:
                await change.edit_file(edit)
            if change.is_written:
                return change.number
        raise MemoryRefused(_("MEMORY.md is being edited again and again: try it once more in a moment."))
