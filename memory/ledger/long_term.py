"""Changes of MEMORY.md on behalf of a person or a tool."""

from __future__ import annotations

from collections.abc import Callable

from config.texts import _
from memory.errors import MemoryRefused
from memory.files.markdown import MarkdownFiles
from memory.ledger.ledger import Ledger
from memory.ledger.page import appending, compute_line_digest, removing_line, replacing, strip_list_marker
from memory.store.entry import Author, Operation

MAX_TRIES = 3
"""How often a change is tried if a person edits the file at the same time."""


class LongTermMemory:
    """Changes of MEMORY.md, each recorded for /undo. Edits that people make in the file itself aren't recorded."""

    def __init__(self, files: MarkdownFiles, ledger: Ledger) -> None:
        self._files = files
        self._ledger = ledger

    async def read(self, owner: str) -> str:
        return await self._files.read_long_term(owner)

    async def read_lines(self, owner: str) -> list[str]:
        """Return the lines of MEMORY.md without headings and empty lines."""
        lines = (await self.read(owner)).splitlines()
        return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]

    async def remove_line(self, owner: str, digest: str, author: Author) -> tuple[str, int | None]:
        """Delete the line with that digest. Return its text and the number of the change. Raises MemoryRefused."""
        line = next((line for line in await self.read_lines(owner) if compute_line_digest(line) == digest), None)
        if line is None:
            raise MemoryRefused(_("That line of MEMORY.md was deleted or changed: see /memory."))
        return strip_list_marker(line), await self._change(owner, author, removing_line(line))

    async def append(self, owner: str, text: str, author: Author) -> int | None:
        """Append a part and return the number of the change. Raise MemoryRefused for a secret or a too large file."""
        return await self._change(owner, author, appending(text))

    async def replace(self, owner: str, part: str, replacement: str, author: Author) -> None:
        """Replace a part that occurs exactly once. An empty replacement deletes it. Raises MemoryRefused."""
        await self._change(owner, author, replacing(part, replacement))

    async def rewrite(self, owner: str, before: str, after: str) -> int | None:
        """Replace the text that a person saw by their edit. Raise MemoryRefused if it has changed since."""

        def edit(text: str) -> str:
            if text.strip() != before.strip():
                raise MemoryRefused(
                    _("MEMORY.md has changed since you loaded it: load it again, then make your change.")
                )
            return after

        return await self._change(owner, Author.USER, edit)

    async def _change(self, owner: str, author: Author, edit: Callable[[str], str]) -> int | None:
        for _try in range(MAX_TRIES):
            async with self._ledger.change(owner, Operation.EDIT, author) as change:
                await change.edit_file(edit)
            if change.is_written:
                return change.number
        raise MemoryRefused(_("MEMORY.md keeps being edited: try again in a moment."))
