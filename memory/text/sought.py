"""The telling words of a question, and where they stand in a text; words are the same here as they are to the index."""

from __future__ import annotations

import itertools
import re

from memory.text.words import (
    BARE_WORD,
    LONGEST_INDEXED,
    MOST_TERMS,
    beginning_of,
    between_function_words,
    has_gaps,
    plain,
    sought_parts,
    stem_of,
)

_ENDINGS = ("ings", "ing", "ies", "ied", "es", "ed", "er", "ly", "s", "e", "y")
"""Of English, longest first: nearly what FTS5 takes away, and measured to rank as well."""
_SHORTEST = 3
_ASCII_WORD = re.compile("[a-z0-9]+")


def root(word: str) -> str:
    """A word of `plain` text without its ending."""
    if not word.isascii():
        return stem_of(word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
            return word[: -len(ending)]
    return word


class Sought:
    """What a question looks for. terms: its telling words without endings; of Chinese pairs of letters."""

    def __init__(self, question: str) -> None:
        words, is_inflected = sought_parts(question)
        self._beginnings: dict[str, str | None] = {}
        self._pairs: dict[str, None] = {}
        for word in map(plain, words[:MOST_TERMS]):
            if has_gaps(word):
                self._beginnings[root(word)] = beginning_of(word) if is_inflected else None
            else:
                self._pairs |= dict.fromkeys(_pairs(word))
        # what ends differently begins with these all the same: most words of a text are passed by
        self._starts = (*self._beginnings, *filter(None, self._beginnings.values()))
        self._known: dict[str, list[str]] = {}
        self.terms = (*self._beginnings, *self._pairs)

    def counts(self, text: str) -> dict[str, int]:
        """How often each term stands in a text, of those that do."""
        folded = plain(text[:LONGEST_INDEXED])
        found: dict[str, int] = {}
        if any(map(folded.__contains__, self._starts)):
            for word in (_ASCII_WORD if folded.isascii() else BARE_WORD).findall(folded):
                if word.startswith(self._starts):
                    for term in self._terms_of(word):
                        found[term] = found.get(term, 0) + 1
        for pair in self._pairs:
            if pair in folded:
                found[pair] = found.get(pair, 0) + folded.count(pair)
        return found

    def places(self, text: str) -> list[tuple[int, str]]:
        """Where the terms stand in a text, and which, first to last."""
        made_plain = plain(text)
        # a text whose length changes when it is made plain keeps its accents: places must be right
        folded = made_plain if len(made_plain) == len(text) else text.lower()
        found = [
            (word.start(), term)
            for word in BARE_WORD.finditer(folded)
            if word.group().startswith(self._starts)
            for term in self._terms_of(word.group())
        ]
        found += [(at.start(), pair) for pair in self._pairs for at in re.finditer(re.escape(pair), folded)]
        return sorted(found)

    def _terms_of(self, word: str) -> list[str]:
        known = self._known.get(word)
        if known is None:
            short = root(word)
            known = self._known[word] = [
                term
                for term, beginning in self._beginnings.items()
                if short == term or (beginning is not None and word.startswith(beginning))
            ]
        return known


def _pairs(run: str) -> list[str]:
    parts = between_function_words(run)
    return [pair for part in parts for pair in ([part] if len(part) == 1 else map("".join, itertools.pairwise(part)))]
