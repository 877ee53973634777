"""Lines on pages of so many tokens, of which one is shown; how many are left is said."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memory.errors import MnemeError
from memory.messages import Passage, Provenance, worst

if TYPE_CHECKING:
    from memory.text.tokens import TokenCounter

CHUNK = 50
"""So many lines are read at a time."""
SHORTEST_PAGE = 10
"""Tokens of an entry's text on a page at the least, whatever its name and its source take of the result."""
_ENDING = "(9999 more: page=99)"


class NoSuchPage(MnemeError):
    """What was asked for has fewer pages."""


@dataclass(frozen=True, slots=True)
class Line:
    """Something found, in one line. entry: its id where it is one; headings: what stands above it and its like."""

    text: str
    provenance: Provenance
    entry: int | None = None
    headings: tuple[str, ...] = ()


@dataclass(slots=True)
class Page:
    """What stands on a page. entries: the ids of those on it; left: how many lines come after it."""

    number: int
    lines: list[str] = field(default_factory=list)
    provenances: list[Provenance] = field(default_factory=list)
    entries: set[int] = field(default_factory=set)
    left: int = 0

    @property
    def passage(self) -> Passage:
        """All of it for a model, with what is left and how to get it."""
        rest = [f"({self.left} more: page={self.number + 1})"] if self.left else []
        return Passage("\n".join([*self.lines, *rest]), worst(self.provenances))


Fetch = Callable[[int], Awaitable[Sequence[Line]]]
"""Reads the lines from the one with that number (from 0) on, CHUNK of them."""


class Paging:
    """Fills pages of `tokens`, the line included that says what is left."""

    def __init__(self, tokens: int, counter: TokenCounter) -> None:
        self._tokens = tokens
        self._counter = counter

    async def page(self, fetch: Fetch, total: int, number: int = 1, head: str = "") -> Page:
        """Page `number` (from 1) of `total` lines. head: stands first on every page. Raises NoSuchPage."""
        filling, done = _Filling(1, self._tokens, self._counter, head), 0
        for start in range(0, total, CHUNK):
            for line in await fetch(start):
                if not filling.add(line, is_last=done + 1 == total):
                    page = filling.page
                    if page.number == number:
                        page.left = total - done
                        return page
                    filling = _Filling(page.number + 1, self._tokens, self._counter, head)
                    filling.add(line, is_last=done + 1 == total)
                done += 1
        if filling.page.number < number:
            raise NoSuchPage(f"there is no page {number}: {filling.page.number} is the last")
        return filling.page

    def pages_of(self, about: str, text: str) -> list[str]:
        """`text` in pages that have room after `about`; where there are several, each begins with its number."""
        if self._counter.text(f"{about} {text}") <= self._tokens:
            return [text]
        longest = " (page 99 of 99, page=99 shows more) "
        room = max(SHORTEST_PAGE, self._tokens - self._counter.text(f"{about}{longest}"))
        parts: list[str] = []
        while text:
            part = fitting(text, room, self._counter)
            # between words, where there are any
            end = max(part.rfind("\n"), part.rfind(" ")) + 1
            part = part if part == text or end <= len(part) // 2 else part[:end]
            parts.append(part)
            text = text[len(part) :]
        return [
            f"(page {number} of {len(parts)}{f', page={number + 1} shows more' if number < len(parts) else ''}) {part}"
            for number, part in enumerate(parts, 1)
        ]


class _Filling:
    """A page that is being filled."""

    def __init__(self, number: int, tokens: int, counter: TokenCounter, head: str) -> None:
        self.page = Page(number, [head] if head else [])
        self._counter = counter
        self._reserved = counter.text(_ENDING) + 1
        self._left = tokens - (counter.text(head) + 1 if head else 0)
        self._headings: tuple[str, ...] = ()
        self._is_empty = True

    def add(self, line: Line, *, is_last: bool) -> bool:
        """Add a line if there is room; of the first one as much as there is room for."""
        text = "\n".join([*_new(line.headings, self._headings), line.text])
        room = self._left - (0 if is_last else self._reserved)
        if (cost := self._counter.text(text) + 1) > room + 1:
            if not self._is_empty:
                return False
            text = cut(text, max(1, room), self._counter)
            cost = self._counter.text(text) + 1
        self._left -= cost
        self._headings = line.headings
        self._is_empty = False
        self.page.lines.append(text)
        self.page.provenances.append(line.provenance)
        self.page.entries |= {line.entry} if line.entry is not None else set()
        return True


def _new(headings: Sequence[str], above: Sequence[str]) -> Sequence[str]:
    """The headings from the first on that is not above already."""
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(headings, above, strict=False))
    return headings[len([*same]) :]


def cut(text: str, tokens: int, counter: TokenCounter) -> str:
    """`text`, or as much of its beginning as fits, with a mark that it goes on."""
    return text if counter.text(text) <= tokens else f"{fitting(text, tokens, counter, '…')}…"


def fitting(text: str, tokens: int, counter: TokenCounter, end: str = "") -> str:
    """As much of the beginning of `text` as fits with `end` after it; one character at the least."""
    while len(text) > 1 and (cost := counter.text(f"{text}{end}")) > tokens:
        text = text[: max(1, min(len(text) - 1, len(text) * tokens // cost))]
    return text
