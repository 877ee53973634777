"""HISTORY.md and HISTORY-YYYY-MM.md: what happened, append-only, searched on demand (S2). No model, no network."""

from __future__ import annotations

import asyncio
import math
import re
import time
from typing import TYPE_CHECKING

import regex

from config.secrets import without_secrets
from config.texts import _
from memory.clock import to_text
from memory.errors import MemoryRefused
from memory.files.markdown import append, locked, text_of
from memory.messages import storable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

    from memory.files.markdown import MarkdownFiles
    from memory.store.file_copies import FileCopies

ENTRY_CHARACTERS = 4_000
"""How long one entry may get: whatever goes into a file has a cap."""
MATCH_SECONDS = 1.0
"""How long a search may take in all; a pattern that runs away is cut off."""
LONGEST_PATTERN = 200
MOST_REPETITIONS = 1_000
"""What the counts in a pattern may multiply to: `regex` spells `a{1000}` out, so `a{9999999}` alone takes 2.7 GB."""
SEARCHED_CHARACTERS = 10_000
"""How much of an entry a pattern sees: people may write longer ones into the file."""
SHOWN_CHARACTERS = 500
# enough for an entry and a pattern that is no trouble; zero is not allowed
_SHORTEST_TIMEOUT = 0.001
_MONTHS = "HISTORY-????-??.md"

_ESCAPED = re.compile(r"\\[pPN]\{[\w =&:-]*\}|\\.", re.DOTALL)
# opens a group that calls itself, takes a time or a memory of its own, or lets blanks stand within a count
_GROUP = re.compile(r"\(\?(?!:|=|!|<=|<!|P?<\w|i\))|\(\*")
_COUNT = re.compile(r"\{(\d{0,4})(?:,(\d{0,4}))?\}", re.ASCII)
_HEADER = re.compile(r"^## (?P<at>\S+)$", re.MULTILINE)


class HistoryFiles:
    """The history of each owner, in the folders of `MarkdownFiles`."""

    def __init__(self, files: MarkdownFiles, copies: FileCopies | None = None) -> None:
        self._files = files
        self._copies = copies

    async def append(self, owner: str, at: datetime, text: str, key: str) -> bool:
        """Append an entry under a `## {ISO time}` header to the file of all time and that of the month.

        key: what the entry is made of, such as `messages 12-40`. An entry with the same key is not written
        again, so that what a crash interrupted can simply be repeated; whether it was written.
        """
        was_written = await asyncio.to_thread(self._append, owner, at, text, key)
        if self._copies is not None:  # before anybody marks that it is written
            await self._copies.look()
        return was_written

    async def search(self, owner: str, query: str, *, literal: bool, limit: int) -> list[str]:
        """Entries in which each word of `query` occurs, whatever its case, newest first, each cut short.

        literal: False takes the query for a regular expression. Raises MemoryRefused for one that is none, is too
        long, repeats too much or takes too long.
        """
        if not query.strip() or len(query) > LONGEST_PATTERN:
            raise MemoryRefused(
                _("A search in the history takes a text of 1 to {most} characters.", most=LONGEST_PATTERN)
            )
        matches = _all_words(query) if literal else _regular_expression(query)
        return await asyncio.to_thread(_matching, self._files.folder(owner), matches, limit)

    def _append(self, owner: str, at: datetime, text: str, key: str) -> bool:
        folder = self._files.folder(owner)
        mark = f"<!-- {key} -->"
        entry = f"## {to_text(at)}\n{_bounded(without_secrets(storable(text)))}\n{mark}\n\n"
        month = folder / f"HISTORY-{self._files.local(owner, at):%Y-%m}.md"
        whole = folder / "HISTORY.md"
        with locked(whole):
            # what is repeated after a crash may be repeated in the next month
            missing = [] if any(mark in text_of(path) for path in folder.glob(_MONTHS)) else [month]
            missing += [] if mark in text_of(whole) else [whole]
            for path in missing:
                append(path, entry)
        return bool(missing)


def _all_words(query: str) -> Callable[[str], bool]:
    words = query.casefold().split()

    def matches(entry: str) -> bool:
        folded = entry.casefold()
        return all(word in folded for word in words)

    return matches


def _regular_expression(query: str) -> Callable[[str], bool]:
    """Raises MemoryRefused for what is none or would take too much; its result, for what takes too long."""
    if not _is_bounded(query):
        raise MemoryRefused(
            _(
                "That pattern is too large: use plain groups and repeat at most {most} times in all.",
                most=MOST_REPETITIONS,
            )
        )
    try:
        # not kept in the library's cache: a model sends another one each time
        pattern = regex.compile(query, regex.IGNORECASE, cache_pattern=False)
    except regex.error as error:
        raise MemoryRefused(
            _("{text!r} is no regular expression ({error}): search for it literally.", text=query, error=error)
        ) from error
    end = time.monotonic() + MATCH_SECONDS

    def matches(entry: str) -> bool:
        rest = max(end - time.monotonic(), _SHORTEST_TIMEOUT)
        try:
            return pattern.search(entry, endpos=SEARCHED_CHARACTERS, timeout=rest) is not None
        except TimeoutError:
            raise MemoryRefused(_("That pattern takes too long: use a simpler one, or search literally.")) from None

    return matches


def _is_bounded(pattern: str) -> bool:
    """Whether a pattern is small once it is compiled, and can't fill the memory while it matches."""
    plain = _ESCAPED.sub("", pattern)
    counts = [max((int(count) for count in match.groups() if count), default=1) for match in _COUNT.finditer(plain)]
    return (
        _GROUP.search(plain) is None
        and "{" not in _COUNT.sub("", plain)  # such as {e}: about this many errors
        and math.prod(counts) <= MOST_REPETITIONS
    )


def _matching(folder: Path, matches: Callable[[str], bool], limit: int) -> list[str]:
    results: list[str] = []
    for entry in _entries(folder):
        if matches(entry):
            results.append(entry[:SHOWN_CHARACTERS])
        if len(results) == limit:
            break
    return results


def _entries(folder: Path) -> Iterator[str]:
    """The entries of the monthly files, newest first."""
    for path in sorted(folder.glob(_MONTHS), reverse=True):
        text = text_of(path)
        starts = [match.start() for match in _HEADER.finditer(text)]
        for start, end in reversed(list(zip(starts, [*starts[1:], len(text)], strict=True))):
            yield re.sub(r"\n<!--.*?-->", "", text[start:end]).strip()


def _bounded(text: str) -> str:
    # a header inside an entry would look like an entry of its own, and a comment like the key of another
    lines = text.strip().replace("<!--", "<! --").splitlines()
    plain = "\n".join(f" {line}" if line.startswith("#") else line for line in lines)
    return plain if len(plain) <= ENTRY_CHARACTERS else f"{plain[:ENTRY_CHARACTERS]} [...]"
