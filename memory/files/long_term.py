"""MEMORY.md as something that is changed and can be changed back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from config.texts import _, ngettext
from memory.errors import MemoryRefused
from memory.messages import storable
from memory.store.entry import Author, Operation

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.files.markdown import MarkdownFiles
    from memory.ledger.ledger import Ledger

QUOTE_CHARACTERS = 60
"""How much of a part a refusal quotes."""
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


def appending(part: str) -> Callable[[str], str]:
    """Adds a part with lines of its own at the end of a text."""
    added = storable(part.strip())
    return lambda text: f"{text.rstrip()}\n{added}\n" if text.strip() else f"{added}\n"


def replacing(part: str, replacement: str) -> Callable[[str], str]:
    """Replaces `part`, which must stand exactly once in a text.

    An empty replacement deletes the part together with the line that it leaves empty. Raises MemoryRefused when the
    part is not there, or there more than once.
    """

    def replaced(text: str) -> str:
        found = text.count(part) if part.strip() else 0
        if found != 1:
            raise MemoryRefused(
                ngettext(
                    "{part} stands {n} time in MEMORY.md: give a part that stands there once.",
                    "{part} stands {n} times in MEMORY.md: give a part that stands there once.",
                    found,
                    part=_quoted(part),
                )
                if found
                else _("{part} stands nowhere in MEMORY.md: give a part that stands there once.", part=_quoted(part))
            )
        before, after = text.split(part)
        if replacement or part.endswith("\n"):
            return before + storable(replacement) + after
        return _without_emptied_line(before, after)

    return replaced


def _without_emptied_line(before: str, after: str) -> str:
    start = before.rpartition("\n")[2]
    end, _line_break, rest = after.partition("\n")
    return before + after if (start + end).strip() else before.removesuffix(start) + rest


def _quoted(part: str) -> str:
    line = " ".join(part.split())
    return f'"{line}"' if len(line) <= QUOTE_CHARACTERS else f'"{line[:QUOTE_CHARACTERS]}..."'
