"""Which memories say the same: held against each other word by word, carefully, for a merge hides one of them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.naming import telling_words
from memory.words import landmarks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.entry import Entry

ALIKE = 0.8
"""The part of all their words that two memories must share."""
MOST_WORDS = 200
MOST_HOLDERS = 200
"""A word that more memories have does not help to find those that are alike."""

_NUMBER = re.compile(r"\d+")
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|don['’]?t|doesn['’]?t|isn['’]?t|won['’]?t|can['’]?t|without|"
    r"не|нет|нельзя|никогда|без|ні|немає|ніколи|"
    r"nicht|kein\w*|nie|niemals|ohne|nunca|jamás|sin|ne|pas|jamais|sans)\b|[不没沒无無别別]",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Said:
    """What a memory says: its telling words without endings, its numbers, and how often it says no."""

    words: frozenset[str]
    numbers: tuple[str, ...]
    negations: int


def duplicates(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Groups of entries that say the same, in the order in which they came; each entry in one group at most.

    The same: of one kind, scope and subject, the same numbers, as many negations, and all words of the one among
    those of the other, with at least four fifths in common. `On Monday` and `on Tuesday` are not.
    """
    said = {entry.id: _said(entry.content) for entry in entries}
    holders: defaultdict[str, list[Entry]] = defaultdict(list)
    groups: list[list[Entry]] = []
    group_of: dict[int, list[Entry]] = {}
    frequency = Counter(word for one in said.values() for word in one.words)
    for entry in entries:
        words = sorted(said[entry.id].words, key=lambda word: (frequency[word], word))
        # of the words of two that are alike, the rarest few of the one must hold one of the other's
        rare = [word for word in words if frequency[word] <= MOST_HOLDERS][: max(1, len(words) // 2)]
        like = next((o for word in rare for o in holders[word] if _same(entry, o, said)), None)
        if like is None:
            groups.append([entry])
            group_of[entry.id] = groups[-1]
        else:
            group_of[like.id].append(entry)
            continue  # held against the group's first from now on: likeness is not handed down a chain
        for word in words:
            if frequency[word] <= MOST_HOLDERS:
                holders[word].append(entry)
    return [group for group in groups if len(group) > 1]


def _same(one: Entry, other: Entry, said: dict[int, _Said]) -> bool:
    if (one.kind, one.scope) != (other.kind, other.scope) or (one.subject or other.subject) != (
        other.subject or one.subject
    ):
        return False
    a, b = said[one.id], said[other.id]
    if a.numbers != b.numbers or a.negations != b.negations:
        return False
    inside = a.words <= b.words or b.words <= a.words
    return inside and len(a.words & b.words) >= ALIKE * len(a.words | b.words)


def _said(text: str) -> _Said:
    words = telling_words(text, MOST_WORDS)
    return _Said(
        frozenset(piece for word in words for piece in _plain(word)),
        tuple(_NUMBER.findall(text)),
        len(_NEGATION.findall(text)),
    )


def _plain(word: str) -> list[str]:
    """A word without what number and case add to it; one without spaces between words in its pairs of characters."""
    if word.isascii():
        return [word[:-1] if len(word) > 3 and word.endswith("s") else word]
    return landmarks(word) or [word]
