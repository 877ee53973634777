"""What the classifier sees of a text: its words, their parts, the classes that they belong to, and their order."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from memory.text.classes import ASKS, MASK, STOPS, classes, pieces_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST_READ = 600
"""Characters that are read of one text."""
_NOTHING: frozenset[str] = frozenset()
_OTHER = ("_",)


def features(text: str) -> tuple[list[str], ...]:
    """The features of `text` in groups that count alike: words, parts of words, classes, their order."""
    pieces = pieces_of(text[:_LONGEST_READ])
    row = [*classes(pieces)]
    return [*_words(pieces)], [*_parts(pieces)], [*_present(row)], [*_order(row)]


def _words(pieces: list[str]) -> Iterator[str]:
    """Words, neighbours and those with one or two between; a clause's first and last words by their place."""
    words: list[str] = []
    for piece in pieces:
        words += piece if "\u3400" <= piece[0] <= "\u9fff" else [_folded(piece)]
    for size in (1, 2, 3):
        for at in range(len(words) - size + 1):
            yield "w" + " ".join(words[at : at + size])
    for apart in (2, 3):
        for at in range(len(words) - apart):
            yield f"s{words[at]} {words[at + apart]}"
    for is_gap, group in itertools.groupby(words, lambda word: word in STOPS or word in ASKS):
        if not is_gap:
            clause = list(group)
            for size in (1, 2, 3):
                yield "^" + " ".join(clause[:size])
            yield "$" + " ".join(clause[-2:])


def _folded(piece: str) -> str:
    return "0" if piece.isdigit() else MASK if piece[0] == MASK else piece.casefold()


def _parts(pieces: list[str]) -> Iterator[str]:
    for piece in pieces:
        if "\u3400" <= piece[0] <= "\u9fff":
            word, longest = piece, 4
        elif piece[0].isalpha():
            word, longest = f" {piece.casefold()} ", 5
        else:
            continue
        for size in range(2, longest + 1):
            for at in range(len(word) - size + 1):
                yield "c" + word[at : at + size]


def _present(row: list[frozenset[str]]) -> Iterator[str]:
    """Which classes there are, and pairs of them."""
    present = sorted(frozenset().union(*row) - {"|"})
    yield from ("k" + name for name in present)
    yield from (f"p{one}+{other}" for one, other in itertools.combinations(present, 2))


def _order(row: list[frozenset[str]]) -> Iterator[str]:
    """How classes follow each other, and with which a clause begins."""
    is_start = True
    following = [*row[1:], _NOTHING, _NOTHING]
    for one, second, third in zip(row, following, following[1:], strict=False):
        if "|" in one or "?" in one:
            is_start = True
        elif is_start:
            is_start = False
            yield from ("^" + name for name in one)
            yield from _joined("^^", one, second)
            yield from _joined("^^^", one, second, third)
        yield from _joined("b", one, second)
        yield from (f"g{a} * {b}" for a in one for b in third)


def _joined(mark: str, *places: frozenset[str]) -> Iterator[str]:
    return (mark + " ".join(names) for names in itertools.product(*(place or _OTHER for place in places)))
