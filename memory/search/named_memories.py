"""Memory lookup: finds the memories that a user refers to in a command, such as `/forget my address`.

Unlike search.py and recall.py it returns current entries and lines of MEMORY.md with the reference that commands use.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from memory.ledger.entries import EntryStore
from memory.ledger.long_term import LongTermMemory
from memory.ledger.page import compute_line_digest, format_line, strip_list_marker
from memory.search.search import Search
from memory.search.types import Filter
from memory.store.entry import Kind
from memory.text.query_terms import QueryTerms

MAX_NAMED_MEMORIES = 4
MIN_COVERAGE = 0.5
"""Minimum share of the query's telling words that a memory must contain."""
_MAX_CANDIDATES = 20
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class NamedMemory:
    """A memory with the reference that commands use for it: `#12` or `line:0123456789`."""

    reference: str
    content: str

    @property
    def forget_command(self) -> str:
        """Return the command that forgets it. For an entry it is one word, so that Telegram makes it a link."""
        return f"/forget {self.reference}" if self.is_line else f"/forget_{self.entry_id}"

    @property
    def entry_id(self) -> int | None:
        """Return the entry's number, or None for a line of MEMORY.md."""
        return None if self.is_line else int(self.reference.removeprefix("#"))

    @property
    def is_line(self) -> bool:
        return self.reference.startswith("line:")


class MemoryLookup:
    """Finds the memories that a user's words refer to, so that they can be shown and removed."""

    def __init__(self, search: Search, entries: EntryStore, long_term: LongTermMemory) -> None:
        self._search = search
        self._entries = entries
        self._long_term = long_term

    async def find_meant(self, words: str, owner: str, most: int = MAX_NAMED_MEMORIES) -> list[NamedMemory]:
        """Return the memories that contain most of the telling words, best first."""
        sought = QueryTerms(words)
        if not sought.terms:
            return []
        return _select_covered(
            ((sought.compute_coverage(memory.content), memory) for memory in await self._find_candidates(words, owner)),
            most,
        )

    async def find_naming(self, name: str, owner: str) -> list[NamedMemory]:
        """Return all memories and lines of MEMORY.md that contain a name, in any inflected form."""
        sought = QueryTerms(name)
        if not sought.terms:
            return []
        entries = [
            NamedMemory(f"#{entry.id}", entry.content)
            for entry in await self._entries.list(owner)
            if entry.kind != Kind.ARCHIVE and entry.superseded_by is None
        ]
        return [
            memory
            for memory in entries + await self.read_lines(owner)
            if sought.compute_coverage(memory.content) == 1.0
        ]

    async def find_stated(self, answer: str, owner: str, most: int = MAX_NAMED_MEMORIES) -> list[NamedMemory]:
        """Return the memories with most of their telling words in an answer, best first."""
        memories = await self._find_candidates(answer, owner)
        return _select_covered(
            ((QueryTerms(memory.content).compute_coverage(answer), memory) for memory in memories), most
        )

    async def _find_candidates(self, words: str, owner: str) -> list[NamedMemory]:
        """Return the candidates: the best matching current entries, and all lines of MEMORY.md."""
        kinds = [kind for kind in await self._entries.count_by_kind(owner) if kind != Kind.ARCHIVE]
        hits = await self._search.find(words, owner, only=Filter(kinds), limit=_MAX_CANDIDATES) if kinds else []
        entries = [NamedMemory(f"#{hit.id}", hit.content) for hit in hits if hit.superseded_by is None]
        return entries + await self.read_lines(owner)

    async def is_in_file(self, what: str, owner: str) -> bool:
        """Return True if MEMORY.md has a line with this text, written for an entry or not."""
        written = {entry.line for entry in await self._entries.list_with_lines(owner) if entry.content == what}
        return not (written | {format_line(what)}).isdisjoint(await self._long_term.read_lines(owner))

    async def read_lines(self, owner: str) -> list[NamedMemory]:
        """Return the lines of MEMORY.md that belong to no entry. A person or a model wrote them."""
        of_entries = {
            entry.line.strip() for entry in await self._entries.list_with_lines(owner) if entry.line is not None
        }
        return [
            NamedMemory(f"line:{compute_line_digest(line)}", strip_list_marker(line))
            for line in await self._long_term.read_lines(owner)
            if line.strip() not in of_entries
        ]


def is_proper_name(name: str, text: str) -> bool:
    """Return True if the text capitalises a word of the name."""
    sought = QueryTerms(name)
    return any(word[0].isupper() and bool(sought.count_terms(word)) for word in _WORD.findall(text))


def _select_covered(shares: Iterable[tuple[float, NamedMemory]], most: int) -> list[NamedMemory]:
    covered = sorted((item for item in shares if item[0] >= MIN_COVERAGE), key=lambda item: -item[0])
    return [memory for _, memory in covered[:most]]
