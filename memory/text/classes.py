"""Word classes across languages, from word_classes.txt: "my", "allergic" and "tonight" each belong to one."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

WORD_CLASSES = Path(__file__).with_name("word_classes.txt")
"""Each line is the name of a class and its words in all languages. A star matches any ending."""
MASK = "\ue000"
"""Replaces each character of quoted text."""
_HAN = "\u3400-\u9fff"
STOPS = frozenset(",;，；、.!。！…:：()—–-")
ASKS = frozenset("?？")

_PIECE = re.compile(rf"{MASK}+|[{_HAN}]+|[^\W_\d{_HAN}]+(?:['-][^\W_\d{_HAN}]+)*|\d+|[^\w\s]")
_STRAIGHT = {ord("’"): "'", ord("ʼ"): "'"}
_ELISION = re.compile(r"(?:[jmnldsct]|qu)'")
_MAX_STEM_CHARS = 14
_MAX_HAN_CHARS = 5
_NOTHING: frozenset[str] = frozenset()
_NAME, _NUMBER, _QUOTED = frozenset({"name"}), frozenset({"0"}), frozenset({"quoted"})


def split_pieces(text: str) -> list[str]:
    """Split a text into words, numbers and punctuation marks. A run of Chinese characters is one piece."""
    return _PIECE.findall(text.translate(_STRAIGHT))


def classify(pieces: Iterable[str]) -> Iterator[frozenset[str]]:
    """Yield the classes of each piece, or an empty set for an unknown word. A Chinese run yields several sets."""
    exact, stems = _load_classes()
    for number, piece in enumerate(pieces):
        if "\u3400" <= piece[0] <= "\u9fff":
            yield from _classify_han(piece, exact)
        elif piece[0].isalpha():
            results = _look_up(piece.casefold(), exact, stems)
            # An unknown capitalised word is a name, except at the start of a sentence.
            yield results if results or not number or not piece[0].isupper() else _NAME
        elif piece[0].isdigit() or piece[0] == MASK:
            yield _NUMBER if piece[0].isdigit() else _QUOTED
        else:
            mark = "?" if piece in ASKS else "|" if piece in STOPS else "smile" if piece > "\u2600" else ""
            if mark:
                yield frozenset((mark,))


def classify_words(pieces: Iterable[str]) -> list[frozenset[str]]:
    """Return the classes of the pieces without punctuation marks."""
    return [names for names in classify(pieces) if "|" not in names]


def classify_first(text: str) -> frozenset[str]:
    """Return the classes of the first piece of a text, or an empty set if it has none."""
    return next(classify(split_pieces(text)), _NOTHING)


def _look_up(word: str, exact: dict[str, frozenset[str]], stems: dict[str, frozenset[str]]) -> frozenset[str]:
    """Return the classes of a word and of its parts, as in "l'ami" and "beau-père"."""
    results = _look_up_part(word, exact, stems)
    elided = _ELISION.match(word)
    if elided:
        results |= _look_up_part(elided.group(), exact, stems) | _look_up_part(word[elided.end() :], exact, stems)
    for part in word.split("-") if "-" in word else ():
        results |= _look_up_part(part, exact, stems)
    return results


def _classify_han(piece: str, exact: dict[str, frozenset[str]]) -> Iterator[frozenset[str]]:
    at, was_other = 0, False
    while at < len(piece):
        for size in range(_MAX_HAN_CHARS, 0, -1):
            results = exact.get(piece[at : at + size])
            if results is not None and at + size <= len(piece):
                yield results
                at, was_other = at + size, False
                break
        else:
            if not was_other:
                yield _NOTHING
            at, was_other = at + 1, True


def _look_up_part(word: str, exact: dict[str, frozenset[str]], stems: dict[str, frozenset[str]]) -> frozenset[str]:
    exact_classes = exact.get(word, _NOTHING)
    for size in range(min(len(word), _MAX_STEM_CHARS), 1, -1):
        by_prefix = stems.get(word[:size])
        if by_prefix is not None:
            return exact_classes | by_prefix
    return exact_classes


@functools.cache
def _load_classes() -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    exact: dict[str, frozenset[str]] = {}
    stems: dict[str, frozenset[str]] = {}
    for line in WORD_CLASSES.read_text(encoding="utf-8").splitlines():
        name, *words = line.split()
        for word in words:
            table, written = (stems, word[:-1]) if word.endswith("*") else (exact, word)
            table[written] = table.get(written, _NOTHING) | {name}
    return exact, stems
