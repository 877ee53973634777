"""MEMORY.md within a change, and edits of its text by parts and lines."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable

from config.texts import _, ngettext
from memory.errors import MemoryRefused
from memory.files.markdown import MarkdownFiles
from memory.messages import make_storable
from memory.store.entry import TYPED_KINDS, Entry

MAX_QUOTE_CHARS = 60
"""Maximum length of a part that is quoted in a refusal."""


class Page:
    """The MEMORY.md of one owner within a change: read on first use, written at the end."""

    def __init__(self, files: MarkdownFiles, owner: str, finish_edits: Callable[[], Awaitable[None]]) -> None:
        self._files = files
        self._finish_edits = finish_edits
        self.owner = owner
        self.former: str | None = None
        self.known_text = ""

    @property
    def is_changed(self) -> bool:
        return self.former is not None and make_storable(self.former) != make_storable(self.known_text)

    async def read(self) -> str:
        if self.former is None:
            # A crash may have left an earlier edit unwritten.
            await self._finish_edits()
            self.former = self.known_text = await self._files.read_raw_long_term(self.owner)
        return self.known_text

    async def edit(self, change: Callable[[str], str]) -> None:
        text = change(await self.read())
        self._files.check_long_term(self.former or "", text)
        self.known_text = text

    async def has_line(self, line: str) -> bool:
        return line in (await self.read()).split("\n")

    async def replace_line(self, line: str, new: str | None) -> None:
        """Replace a line. Delete it if `new` is None or exceeds the file's limit."""

        def exchange(text: str) -> str:
            lines = text.split("\n")
            at = lines.index(line)
            return "\n".join([*lines[:at], *([] if new is None else [new]), *lines[at + 1 :]])

        try:
            await self.edit(exchange)
        except MemoryRefused:
            if new is None:
                raise
            # There is no room for the new line, but the outdated one must not stay.
            await self.replace_line(line, None)


def get_line(entry: Entry) -> str | None:
    """Return the line that an entry has in MEMORY.md, or None."""
    # Before lines were recorded, typed memories had one with their content.
    return entry.line or (format_line(entry.content) if entry.kind in TYPED_KINDS else None)


def format_line(content: str) -> str:
    return f"- {' '.join(content.split())}"


def compute_line_digest(line: str) -> str:
    """Return a short hash that identifies a line of MEMORY.md."""
    # The file is read with surrogateescape, since people may save it in any encoding.
    return hashlib.sha256(line.strip().encode("utf-8", "surrogateescape")).hexdigest()[:10]


def strip_list_marker(line: str) -> str:
    """Return a line of MEMORY.md without its list marker."""
    return re.sub(r"^\s*(?:[-*+]|\d+[.)])\s+", "", line).strip()


def removing_line(line: str) -> Callable[[str], str]:
    def remove(text: str) -> str:
        lines = text.split("\n")
        if line in lines:
            lines.remove(line)
        return "\n".join(lines)

    return remove


def appending(part: str) -> Callable[[str], str]:
    added = make_storable(part.strip())
    return lambda text: f"{text.rstrip()}\n{added}\n" if text.strip() else f"{added}\n"


def replacing(part: str, replacement: str) -> Callable[[str], str]:
    """Return a function that replaces `part` in a text.

    An empty replacement also deletes the line if it becomes empty. The function raises MemoryRefused unless
    the part occurs exactly once.
    """

    def replace(text: str) -> str:
        count = text.count(part) if part.strip() else 0
        if count != 1:
            raise MemoryRefused(
                ngettext(
                    "{part} appears {n} time in MEMORY.md: give a part that appears exactly once.",
                    "{part} appears {n} times in MEMORY.md: give a part that appears exactly once.",
                    count,
                    part=_quote(part),
                )
                if count
                else _("{part} doesn't appear in MEMORY.md: give a part that appears exactly once.", part=_quote(part))
            )
        before, after = text.split(part)
        if replacement or part.endswith("\n"):
            return before + make_storable(replacement) + after
        return _join_without_empty_line(before, after)

    return replace


def _join_without_empty_line(before: str, after: str) -> str:
    start = before.rpartition("\n")[2]
    end, _line_break, rest = after.partition("\n")
    return before + after if (start + end).strip() else before.removesuffix(start) + rest


def _quote(part: str) -> str:
    line = " ".join(part.split())
    return f'"{line}"' if len(line) <= MAX_QUOTE_CHARS else f'"{line[:MAX_QUOTE_CHARS]}..."'
