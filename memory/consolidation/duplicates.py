"""Which memories say the same: held against each other word by word, carefully, for a merge hides one of them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.text.naming import LONGEST_WORD, telling_words
from memory.text.overlap import negations, numbers
from memory.text.words import query_stems

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.store.entry import Entry

ALIKE = 0.8
"""The part of all their words that two memories must share."""
MOST_WORDS = 200
MOST_HOLDERS = 200
"""A word that more memories have does not help to find those that are alike."""

_MARK = re.compile(r"[-−]?\d+|[^\W\d_]+|[+#$€£¥₴₽%°]")
_FILLERS = frozenset("a an the am is are was were be been being has have had do does did that this user s t".split())
"""Words that can come or go without a change of what is said; `his` and `her`, `from` and `to` are not among them."""
_PAST = re.compile("(?:л|ла|ло|ли)(?:ся|сь)?$")
"""The end of a Russian or Ukrainian word in the past tense, which its stem does not show."""


@dataclass(frozen=True, slots=True)
class _Said:
    """What a memory says.

    words: the telling ones without endings. little: the others, single letters and signs. names: what is written
    with a capital and may lose an ending, by the word without it.
    """

    words: frozenset[str]
    little: frozenset[str]
    numbers: tuple[str, ...]
    negations: int
    names: Mapping[str, str]


def duplicates(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Groups of entries that say the same, in the order in which they came; each entry in one group at most.

    The same: of one kind, scope, subject and trust, the same numbers, as many negations, the same little words, and
    all telling words of the one among those of the other, with at least four fifths in common. `On Monday` and `on
    Tuesday` are not. Each is held against the first of a group: likeness is not handed down a chain.
    """
    said = {entry.id: _said(entry.content) for entry in entries}
    frequency = Counter(word for one in said.values() for word in one.words)
    holders: defaultdict[object, list[Entry]] = defaultdict(list)
    groups: dict[int, list[Entry]] = {}
    for entry in entries:
        one = said[entry.id]
        words = sorted((w for w in one.words if frequency[w] <= MOST_HOLDERS), key=lambda w: (frequency[w], w))
        # of the words of two that are alike, the rarest few of the one must hold one of the other's
        rare = words[: max(1, len(one.words) // 2)]
        whole = (one.words, one.little, one.numbers)
        places = (whole, *rare) if one.words else ()
        like = next((o for place in places for o in holders[place] if _belongs(entry, groups[o.id], said)), None)
        if like is not None:
            groups[like.id].append(entry)
            continue
        groups[entry.id] = [entry]
        for place in (whole, *words):
            if len(holders[place]) < MOST_HOLDERS:
                holders[place].append(entry)
    return [group for group in groups.values() if len(group) > 1]


def _belongs(entry: Entry, group: Sequence[Entry], said: Mapping[int, _Said]) -> bool:
    """Whether an entry says what the first of a group does, about the subject that the group has, if any."""
    first = group[0]
    subjects = {one.subject for one in (*group, entry) if one.subject}
    alike = (entry.kind, entry.scope, entry.trusted) == (first.kind, first.scope, first.trusted)
    return alike and len(subjects) <= 1 and _same(said[entry.id], said[first.id])


def _same(a: _Said, b: _Said) -> bool:
    if (a.numbers, a.negations, a.little) != (b.numbers, b.negations, b.little):
        return False
    if any(b.names.get(word, name) != name for word, name in a.names.items()):
        return False
    inside = a.words <= b.words or b.words <= a.words
    return inside and len(a.words & b.words) >= ALIKE * len(a.words | b.words)


def _said(text: str) -> _Said:
    telling = set(telling_words(text, MOST_WORDS))
    words: set[str] = set()
    little: set[str] = set()
    names: dict[str, str] = {}
    for found in _MARK.finditer(text):
        mark, lower = found.group(), found.group().lower()
        if lower[:LONGEST_WORD] in telling:
            words.update(_plain(lower))
            # the endings that plain words lose tell names apart: Александр, Александра
            if mark[0].isupper() and not mark.isascii():
                names["".join(_plain(lower))] = lower
        elif lower not in _FILLERS:
            little.add(lower)
    return _Said(frozenset(words), frozenset(little), tuple(numbers(text)), negations(text), names)


def _plain(word: str) -> list[str]:
    """A word without what number and case add to it; one without spaces between words in its pairs of characters."""
    if word.isascii():
        return [word[:-1] if len(word) > 3 and word.endswith("s") else word]
    tense = "+" if _PAST.search(word) else ""
    return [piece + tense for piece in query_stems(word)] or [word]
