"""MEMORY.md within a change of memory: read when it is first needed, written once the change is committed."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Protocol

from config.texts import _, ngettext
from memory.errors import MemoryRefused
from memory.messages import storable
from memory.store.entry import TYPED_KINDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from memory.store.entry import Entry

QUOTE_CHARACTERS = 60
"""How much of a part a refusal quotes."""


class LongTermFile(Protocol):
    """The MEMORY.md of each owner."""

    def long_term_path(self, owner: str) -> Path:
        """Where it is."""

    async def raw_long_term(self, owner: str) -> str:
        """Its text, with bytes that are no UTF-8 as surrogate escapes."""

    def check_long_term(self, former: str, text: str) -> None:
        """Raises MemoryRefused for a text that may not take the place of `former`."""

    async def rewrite_long_term(self, owner: str, *, expected: str, text: str) -> bool:
        """Replace the text if it still is `expected`; whether it did."""


class Page:
    """The MEMORY.md of one owner as a change of memory leaves it."""

    def __init__(self, files: LongTermFile, owner: str, finish_edits: Callable[[], Awaitable[None]]) -> None:
        self._files = files
        self._finish_edits = finish_edits
        self.owner = owner
        self.former: str | None = None
        self.known_text = ""  # once it was read

    @property
    def is_changed(self) -> bool:
        """Whether there is anything to write."""
        return self.former is not None and storable(self.former) != storable(self.known_text)

    async def text(self) -> str:
        """The text as it stands now."""
        if self.former is None:
            await self._finish_edits()
            self.former = self.known_text = await self._files.raw_long_term(self.owner)
        return self.known_text

    async def edit(self, change: Callable[[str], str]) -> None:
        """Change the text. Raises MemoryRefused."""
        text = change(await self.text())
        self._files.check_long_term(self.former or "", text)
        self.known_text = text

    async def has(self, line: str) -> bool:
        """Whether a line stands there word for word."""
        return line in (await self.text()).split("\n")

    async def exchange(self, line: str, new: str | None) -> None:
        """Put another line in the place of one; None takes it out, as does one that there is no room for."""

        def exchanged(text: str) -> str:
            lines = text.split("\n")
            at = lines.index(line)
            return "\n".join([*lines[:at], *([] if new is None else [new]), *lines[at + 1 :]])

        try:
            await self.edit(exchanged)
        except MemoryRefused:
            if new is None:
                raise
            await self.exchange(line, None)


def line_of(entry: Entry) -> str | None:
    """The line that stands for an entry in MEMORY.md, if it does stand there; None for what has none.

    A typed memory for which none was written, as before lines were kept, has the one that says it word for word.
    """
    return entry.line or (format_line(entry.content) if entry.kind in TYPED_KINDS else None)


def format_line(content: str) -> str:
    """The line that says `content`."""
    return f"- {' '.join(content.split())}"


def line_digest(line: str) -> str:
    """A short name for a line of MEMORY.md, which stays the same while other lines change."""
    return hashlib.sha256(line.strip().encode("utf-8", "surrogateescape")).hexdigest()[:10]


def said_by(line: str) -> str:
    """What a line of MEMORY.md says, without the mark of a list."""
    return re.sub(r"^\s*(?:[-*+]|\d+[.)])\s+", "", line).strip()


def without_line(line: str) -> Callable[[str], str]:
    """Takes the first line of these words out of a text."""

    def removed(text: str) -> str:
        lines = text.split("\n")
        if line in lines:
            lines.remove(line)
        return "\n".join(lines)

    return removed


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
        count = text.count(part) if part.strip() else 0
        if count != 1:
            raise MemoryRefused(
                ngettext(
                    "{part} stands {n} time in MEMORY.md: give a part that stands there once.",
                    "{part} stands {n} times in MEMORY.md: give a part that stands there once.",
                    count,
                    part=_quoted(part),
                )
                if count
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
