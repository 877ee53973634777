"""Comparison of two sentences by their values: days, numbers, languages and names in the same position."""

from __future__ import annotations

import re

from memory.text.classes import classify_first
from memory.text.wording import split_comparable

_VALUES = ("0", "MONTH", "DAY", "LANG", "name")
"""Word classes of values: numbers, months, days of the week, languages, and capitalised words."""
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")


def insert_value(former: str, correction: str) -> str | None:
    """Insert the value of a correction into a known sentence: "My exam is on 15 March" for "15 March".

    Return None unless the sentence contains exactly one value of the same shape.
    """
    values = [item for item in _classify_words(correction, inside=True) if item[1] is not None]
    shape = [kind for _, kind in values]
    if not shape:
        return None
    words = _classify_words(former, inside=False)
    size = len(shape)
    places = [at for at in range(len(words) - size + 1) if [kind for _, kind in words[at : at + size]] == shape]
    if len(places) != 1 or sum(kind in set(shape) for _, kind in words) != size:
        return None
    first, last = words[places[0]][0], words[places[0] + size - 1][0]
    value = correction[values[0][0].start() : values[-1][0].end()]
    text = f"{former[: first.start()]}{value}{former[last.end() :]}"
    return text if text != former else None


def differ_in_value(text: str, other: str) -> bool:
    """Return True if two sentences differ only in values of the same kind: "in German", "in English"."""
    first, second = split_comparable(text), split_comparable(other)
    if len(first) != len(second) or len(first) < 2 or first == second:
        return False
    return all(
        one == two or (_classify_word(one) is not None and _classify_word(one) == _classify_word(two))
        for one, two in zip(first, second, strict=True)
    )


def _classify_words(text: str, *, inside: bool) -> list[tuple[re.Match[str], str | None]]:
    """Return the words of a text, each with its kind of value. With `inside` the first word may be a name too."""
    words = list(_WORD.finditer(text))
    return [(word, _classify_word(word.group(), is_first=not at and not inside)) for at, word in enumerate(words)]


def _classify_word(word: str, *, is_first: bool = False) -> str | None:
    names = classify_first(word)
    known = next((name for name in _VALUES if name in names), None)
    if known is not None or names:
        return known
    return "name" if word[:1].isupper() and not is_first else None
