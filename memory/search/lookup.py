"""Which memories somebody means by words of their own: entries of every kind, and the lines of MEMORY.md."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.ledger.page import format_line, line_digest, said_by
from memory.search.search import Filter
from memory.store.entry import Kind
from memory.text.sought import QueryTerms

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memory.ledger.entries import EntryStore
    from memory.ledger.page import LongTermMemory
    from memory.search.search import Search

MOST = 4
COVERED = 0.5
"""The share of the telling words that must stand in a memory for it to be meant."""
_LOOKED_AT = 20
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class NamedMemory:
    """A memory as it is shown and removed. reference: what commands call it, `#12` or `line:0123456789`."""

    reference: str
    content: str

    @property
    def forget(self) -> str:
        """The command that has it forgotten; that of an entry is one word, which Telegram makes something to tap."""
        return f"/forget {self.reference}" if self.is_line else f"/forget_{self.entry}"

    @property
    def entry(self) -> int | None:
        """The number of the entry; None for a line of MEMORY.md."""
        return None if self.is_line else int(self.reference.removeprefix("#"))

    @property
    def is_line(self) -> bool:
        """Whether it is a line of MEMORY.md."""
        return self.reference.startswith("line:")


class MemoryLookup:
    """Finds what is meant, so that it can be shown and removed by one tap."""

    def __init__(self, search: Search, entries: EntryStore, long_term: LongTermMemory) -> None:
        self._search = search
        self._entries = entries
        self._long_term = long_term

    async def meant_by(self, words: str, owner: str, most: int = MOST) -> list[NamedMemory]:
        """The memories that hold most of the telling words, the best first."""
        sought = QueryTerms(words)
        if not sought.terms:
            return []
        return _best(((_share(sought, memory.content), memory) for memory in await self._like(words, owner)), most)

    async def naming(self, name: str, owner: str) -> list[NamedMemory]:
        """Return all memories that name somebody or something, in whatever form of the word, and lines of MEMORY.md."""
        sought = QueryTerms(name)
        if not sought.terms:
            return []
        entries = [
            NamedMemory(f"#{entry.id}", entry.content)
            for entry in await self._entries.list(owner)
            if entry.kind != Kind.ARCHIVE and entry.superseded_by is None
        ]
        return [memory for memory in entries + await self.lines(owner) if _share(sought, memory.content) == 1.0]

    async def stated_in(self, answer: str, owner: str, most: int = MOST) -> list[NamedMemory]:
        """The memories most of whose telling words stand in an answer, the best first."""
        memories = await self._like(answer, owner)
        return _best(((_share(QueryTerms(memory.content), answer), memory) for memory in memories), most)

    async def _like(self, words: str, owner: str) -> list[NamedMemory]:
        """What may be meant: the nearest entries that hold, and all lines of MEMORY.md."""
        kinds = [kind for kind in await self._entries.counts(owner) if kind != Kind.ARCHIVE]
        hits = await self._search.find(words, owner, only=Filter(kinds), limit=_LOOKED_AT) if kinds else []
        entries = [NamedMemory(f"#{hit.id}", hit.content) for hit in hits if hit.superseded_by is None]
        return entries + await self.lines(owner)

    async def is_written(self, what: str, owner: str) -> bool:
        """Whether MEMORY.md says just this, in a line of its own or in the one that was written for an entry."""
        written = {entry.line for entry in await self._entries.with_lines(owner) if entry.content == what}
        return not (written | {format_line(what)}).isdisjoint(await self._long_term.lines(owner))

    async def lines(self, owner: str) -> list[NamedMemory]:
        """The lines of MEMORY.md that were written for no entry: by a person, or by a model."""
        of_entries = {entry.line.strip() for entry in await self._entries.with_lines(owner) if entry.line is not None}
        return [
            NamedMemory(f"line:{line_digest(line)}", said_by(line))
            for line in await self._long_term.lines(owner)
            if line.strip() not in of_entries
        ]


def is_proper_name(name: str, text: str) -> bool:
    """Return True if a text writes a word of a name with a capital letter."""
    sought = QueryTerms(name)
    return any(word[0].isupper() and bool(sought.term_counts(word)) for word in _WORD.findall(text))


def _share(sought: QueryTerms, text: str) -> float:
    """The share of the telling words that stand in a text."""
    return len(sought.term_counts(text)) / len(sought.terms) if sought.terms else 0.0


def _best(shares: Iterable[tuple[float, NamedMemory]], most: int) -> list[NamedMemory]:
    covered = sorted((item for item in shares if item[0] >= COVERED), key=lambda item: -item[0])
    return [memory for _, memory in covered[:most]]
