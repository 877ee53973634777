"""What the judge sees of a text: its words, their parts, the classes they belong to, and what the phrases say."""

from __future__ import annotations

import functools
import itertools
import re
from pathlib import Path
from typing import TYPE_CHECKING

from memory.learning.sentences import MASK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CLASSES = Path(__file__).with_name("word_classes.txt")
"""A class a line: its name, and the words of all languages that belong to it; a star stands for any ending."""

_HAN = "\u3400-\u9fff"
_PIECE = re.compile(rf"{MASK}+|[{_HAN}]+|[^\W_\d{_HAN}]+(?:['-][^\W_\d{_HAN}]+)*|\d+|[^\w\s]")
_STRAIGHT = {ord("’"): "'", ord("ʼ"): "'"}
_STOPS = frozenset(",;，；、.!。！…:：()—–-")
_ASKS = frozenset("?？")
_ELISION = re.compile(r"(?:[jmnldsct]|qu)'")
_LONGEST_STEM = 14
_LONGEST_HAN = 5
_LONGEST_READ = 600
"""Characters that are read of one text."""
_NOTHING: frozenset[str] = frozenset()
_NAME, _NUMBER, _QUOTED = frozenset({"name"}), frozenset({"0"}), frozenset({"quoted"})
_OTHER = ("_",)


def signs(text: str) -> tuple[list[str], ...]:
    """The signs of `text` in groups that count alike: words, parts of words, classes, their order."""
    said = text[:_LONGEST_READ].translate(_STRAIGHT)
    pieces = _PIECE.findall(said)
    row = [*_classes(pieces)]
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
    for is_gap, group in itertools.groupby(words, lambda word: word in _STOPS or word in _ASKS):
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


def _classes(pieces: Iterable[str]) -> Iterator[frozenset[str]]:
    """The classes of each word; an empty one for a word of none."""
    exact, stems = _known()
    for number, piece in enumerate(pieces):
        if "\u3400" <= piece[0] <= "\u9fff":
            yield from _han(piece, exact)
        elif piece[0].isalpha():
            found = _spelt(piece.casefold(), exact, stems)
            yield found if found or not number or not piece[0].isupper() else _NAME
        elif piece[0].isdigit() or piece[0] == MASK:
            yield _NUMBER if piece[0].isdigit() else _QUOTED
        else:
            mark = "?" if piece in _ASKS else "|" if piece in _STOPS else "smile" if piece > "\u2600" else ""
            if mark:
                yield frozenset((mark,))


def _spelt(word: str, exact: dict[str, frozenset[str]], stems: dict[str, frozenset[str]]) -> frozenset[str]:
    """The classes of a word, also of what it is joined of: "l'ami", "beau-père"."""
    found = _of_word(word, exact, stems)
    elided = _ELISION.match(word)
    if elided:
        found |= _of_word(elided.group(), exact, stems) | _of_word(word[elided.end() :], exact, stems)
    for part in word.split("-") if "-" in word else ():
        found |= _of_word(part, exact, stems)
    return found


def _han(piece: str, exact: dict[str, frozenset[str]]) -> Iterator[frozenset[str]]:
    at, was_other = 0, False
    while at < len(piece):
        for size in range(_LONGEST_HAN, 0, -1):
            found = exact.get(piece[at : at + size])
            if found is not None and at + size <= len(piece):
                yield found
                at, was_other = at + size, False
                break
        else:
            if not was_other:
                yield _NOTHING
            at, was_other = at + 1, True


def _of_word(word: str, exact: dict[str, frozenset[str]], stems: dict[str, frozenset[str]]) -> frozenset[str]:
    found = exact.get(word, _NOTHING)
    for size in range(min(len(word), _LONGEST_STEM), 1, -1):
        begun = stems.get(word[:size])
        if begun is not None:
            return found | begun
    return found


@functools.cache
def _known() -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    """The classes of words, and of the beginnings of words."""
    exact: dict[str, frozenset[str]] = {}
    stems: dict[str, frozenset[str]] = {}
    for line in CLASSES.read_text(encoding="utf-8").splitlines():
        name, *words = line.split()
        for word in words:
            table, written = (stems, word[:-1]) if word.endswith("*") else (exact, word)
            table[written] = table.get(written, _NOTHING) | {name}
    return exact, stems
