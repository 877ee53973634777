"""HISTORY.md and HISTORY-YYYY-MM.md: append-only history files that are searched on demand (S2)."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from config.secrets import mask_secrets
from config.texts import _
from memory.clock import to_text
from memory.errors import MemoryRefused
from memory.files.markdown import MarkdownFiles, append, locked, read_text
from memory.messages import make_storable
from memory.store.file_copies import FileCopies

MAX_ENTRY_CHARS = 4_000
MAX_QUERY_CHARS = 200
MAX_SHOWN_CHARS = 500
WHOLE_NAME = "HISTORY.md"
_MONTHS = "HISTORY-????-??.md"
_HEADER = re.compile(r"^## (?P<at>\S+)$", re.MULTILINE)


class HistoryFiles:
    def __init__(self, files: MarkdownFiles, copies: FileCopies | None = None) -> None:
        self._files = files
        self._copies = copies

    async def append(self, owner: str, at: datetime, text: str, key: str) -> bool:
        """Append an entry under a `## {ISO time}` header to HISTORY.md and the month's file.

        Return False if there is an entry with that key already, for example because it is repeated after a crash.

        Args:
            key: The source of the entry, such as `messages 12-40`.
        """
        was_written = await asyncio.to_thread(self._append, owner, at, text, key)
        if self._copies is not None:  # Before the database records that it is written.
            await self._copies.update()
        return was_written

    async def search(self, owner: str, query: str, limit: int) -> list[str]:
        """Return entries with all words of a query, newest first, shortened. Raises MemoryRefused for a bad query."""
        if not query.strip() or len(query) > MAX_QUERY_CHARS:
            raise MemoryRefused(
                _("A search in the history needs a text of 1 to {most} characters.", most=MAX_QUERY_CHARS)
            )
        return await asyncio.to_thread(_find_matching, self._files.get_folder(owner), query.casefold().split(), limit)

    def _append(self, owner: str, at: datetime, text: str, key: str) -> bool:
        folder = self._files.get_folder(owner)
        mark = f"<!-- {key} -->"
        entry = f"## {to_text(at)}\n{_shorten(mask_secrets(make_storable(text)))}\n{mark}\n\n"
        month = folder / f"HISTORY-{self._files.to_local_time(owner, at):%Y-%m}.md"
        whole = folder / WHOLE_NAME
        with locked(whole):
            # A repeated entry may be in the file of an earlier month.
            missing = [] if any(mark in read_text(path) for path in folder.glob(_MONTHS)) else [month]
            missing += [] if mark in read_text(whole) else [whole]
            for path in missing:
                append(path, entry)
        return bool(missing)


def _find_matching(folder: Path, words: Sequence[str], limit: int) -> list[str]:
    matching = (entry[:MAX_SHOWN_CHARS] for entry in _read_entries(folder) if all(w in entry.casefold() for w in words))
    return list(itertools.islice(matching, limit))


def _read_entries(folder: Path) -> Iterator[str]:
    """Return the entries of all files, each once, newest first."""
    entries: dict[str, str] = {}
    for path in (*sorted(folder.glob(_MONTHS)), folder / WHOLE_NAME):
        text = read_text(path)
        starts = [match.start() for match in _HEADER.finditer(text)]
        for start, end in itertools.pairwise([*starts, len(text)]):
            # ISO times sort chronologically.
            header = _HEADER.match(text, start)
            entries.setdefault(re.sub(r"\n<!--.*?-->", "", text[start:end]).strip(), header["at"] if header else "")
    newest_first = [*reversed(entries)]
    return iter(sorted(newest_first, key=entries.__getitem__, reverse=True))


def _shorten(text: str) -> str:
    # A header inside an entry would look like another entry, and a comment like a key.
    lines = text.strip().replace("<!--", "<! --").splitlines()
    plain = "\n".join(f" {line}" if line.startswith("#") else line for line in lines)
    return plain if len(plain) <= MAX_ENTRY_CHARS else f"{plain[:MAX_ENTRY_CHARS]} [...]"
