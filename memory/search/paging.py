"""Long results in pages that fit a number of tokens."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from memory.errors import MnemeError
from memory.messages import Passage, Provenance, find_least_trusted
from memory.text.tokens import TokenCounter

LINES_PER_FETCH = 50
MIN_PAGE_TOKENS = 10
"""Minimum tokens of an entry's text on a page, even if its heading uses up the budget."""
_ENDING = "(9999 more: page=99)"


class NoSuchPage(MnemeError):
    """The requested page number is beyond the last page."""


@dataclass(frozen=True, slots=True)
class Line:
    """A result in one line.

    Attributes:
        entry: The entry's id, or None if it is not an entry.
        headings: Headings of the group that it belongs to, outermost first.
    """

    text: str
    provenance: Provenance
    entry: int | None = None
    headings: tuple[str, ...] = ()


Fetch = Callable[[int], Awaitable[Sequence[Line]]]
"""Reads LINES_PER_FETCH lines, starting at the given index (from 0)."""


@dataclass(slots=True)
class ResultPage:
    """A page of results.

    Attributes:
        entries: Ids of the entries on the page.
        left: Number of lines after this page.
    """

    number: int
    lines: list[str] = field(default_factory=list)
    provenances: list[Provenance] = field(default_factory=list)
    entries: set[int] = field(default_factory=set)
    left: int = 0

    @property
    def passage(self) -> Passage:
        """Return the page for a model, with a hint how to get the next page."""
        rest = [f"({self.left} more: page={self.number + 1})"] if self.left else []
        return Passage("\n".join([*self.lines, *rest]), find_least_trusted(self.provenances))


class Paging:
    """Splits lines into pages of at most `tokens`, including the hint to the next page."""

    def __init__(self, tokens: int, counter: TokenCounter) -> None:
        self._tokens = tokens
        self._counter = counter

    async def fill_page(self, fetch: Fetch, total: int, number: int = 1, head: str = "") -> ResultPage:
        """Return page `number` (from 1) of `total` lines. `head` is the first line of every page. Raises NoSuchPage."""
        filling, done = _Filling(1, self._tokens, self._counter, head), 0
        for start in range(0, total, LINES_PER_FETCH):
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

    def split_into_pages(self, about: str, text: str) -> list[str]:
        """Split `text` into pages with room for `about`. If there are several, each starts with its page number."""
        if self._counter.count(f"{about} {text}") <= self._tokens:
            return [text]
        longest = " (page 99 of 99, page=99 shows more) "
        room = max(MIN_PAGE_TOKENS, self._tokens - self._counter.count(f"{about}{longest}"))
        parts: list[str] = []
        while text:
            part = take_fitting(text, room, self._counter)
            # Break between words if possible.
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
        self.page = ResultPage(number, [head] if head else [])
        self._counter = counter
        self._reserved = counter.count(_ENDING) + 1
        self._left = tokens - (counter.count(head) + 1 if head else 0)
        self._headings: tuple[str, ...] = ()
        self._is_empty = True

    def add(self, line: Line, *, is_last: bool) -> bool:
        """Add a line and return True if there is room. The first line of a page is cut to fit."""
        text = "\n".join([*_drop_repeated_headings(line.headings, self._headings), line.text])
        room = self._left - (0 if is_last else self._reserved)
        if (cost := self._counter.count(text) + 1) > room + 1:
            if not self._is_empty:
                return False
            text = cut_to_tokens(text, max(1, room), self._counter)
            cost = self._counter.count(text) + 1
        self._left -= cost
        self._headings = line.headings
        self._is_empty = False
        self.page.lines.append(text)
        self.page.provenances.append(line.provenance)
        self.page.entries |= {line.entry} if line.entry is not None else set()
        return True


def _drop_repeated_headings(headings: Sequence[str], above: Sequence[str]) -> Sequence[str]:
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(headings, above, strict=False))
    return headings[len([*same]) :]


def cut_to_tokens(text: str, tokens: int, counter: TokenCounter) -> str:
    """Return `text`, or the longest beginning that fits, with an ellipsis."""
    return text if counter.count(text) <= tokens else f"{take_fitting(text, tokens, counter, '…')}…"


def take_fitting(text: str, tokens: int, counter: TokenCounter, end: str = "") -> str:
    """Return the longest beginning of `text` that fits with `end` after it, but at least one character."""
    while len(text) > 1 and (cost := counter.count(f"{text}{end}")) > tokens:
        text = text[: max(1, min(len(text) - 1, len(text) * tokens // cost))]
    return text
