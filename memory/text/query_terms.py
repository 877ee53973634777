"""Query terms: matches the telling words of a query in a text, with the same stemming as the index."""

from __future__ import annotations

import re
from functools import lru_cache

from memory.text.stemming import stem_word
from memory.text.words import (
    BARE_WORD,
    MAX_INDEXED_CHARS,
    MAX_TERMS,
    extract_sought_parts,
    find_prefixes,
    has_gaps,
    split_at_function_words,
    split_into_pairs,
    to_plain,
)

MAX_CACHED_QUERIES = 512

_ASCII_WORD = re.compile("[a-z0-9]+")


class QueryTerms:
    """The telling words of a query.

    Attributes:
        terms: The stems of the words, or pairs of characters in scripts without spaces.
    """

    def __init__(self, question: str) -> None:
        words, languages = extract_sought_parts(question)
        self._beginnings: dict[str, tuple[str, ...]] = {}
        self._pairs: dict[str, None] = {}
        starts: list[str] = []
        for word in map(to_plain, words[:MAX_TERMS]):
            if has_gaps(word):
                stem = stem_word(word)
                self._beginnings[stem] = tuple(find_prefixes(word, languages))
                # All forms share this beginning. The last letter of the stem may differ.
                starts += [word[: max(2, len(stem) - 1)], *self._beginnings[stem]]
            else:
                self._pairs |= dict.fromkeys(
                    pair for part in split_at_function_words(word) for pair in split_into_pairs(part)
                )
        self._starts = tuple(starts)  # A quick filter for the words of a text.
        self.terms = (*self._beginnings, *self._pairs)

    def count_terms(self, text: str) -> dict[str, int]:
        folded = to_plain(text[:MAX_INDEXED_CHARS])
        counts: dict[str, int] = {}
        if any(map(folded.__contains__, self._starts)):
            for word in (_ASCII_WORD if folded.isascii() else BARE_WORD).findall(folded):
                if word.startswith(self._starts):
                    for term in self._find_terms(word):
                        counts[term] = counts.get(term, 0) + 1
        for pair in self._pairs:
            if pair in folded:
                counts[pair] = counts.get(pair, 0) + folded.count(pair)
        return counts

    def compute_coverage(self, text: str) -> float:
        """Return the share of the terms that a text contains, from 0 to 1. It is 0 if there are no terms."""
        return len(self.count_terms(text)) / len(self.terms) if self.terms else 0.0

    def find_positions(self, text: str) -> list[tuple[int, str]]:
        """Return the offset and the term of each occurrence in a text, in order."""
        made_plain = to_plain(text)
        # If folding changes the length, keep the accents, so that the offsets are right.
        folded = made_plain if len(made_plain) == len(text) else text.lower()
        matches = [
            (word.start(), term)
            for word in BARE_WORD.finditer(folded)
            if word.group().startswith(self._starts)
            for term in self._find_terms(word.group())
        ]
        matches += [(at.start(), pair) for pair in self._pairs for at in re.finditer(re.escape(pair), folded)]
        return sorted(matches)

    def _find_terms(self, word: str) -> list[str]:
        stem = stem_word(word)
        return [term for term, starts in self._beginnings.items() if stem == term or word.startswith(starts)]


@lru_cache(maxsize=MAX_CACHED_QUERIES)
def get_query_terms(text: str) -> QueryTerms:
    """Return the query terms of a text that is compared in most turns."""
    return QueryTerms(text)
