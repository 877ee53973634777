"""What tells how well something that was found answers a question, in numbers.

The conversation is the neighbourhood: what answers a question often says it in other words, a message or two after
the one that the words stand in.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING

import regex

from memory.clock import to_text
from memory.messages import Role
from memory.search.search import NOT_COMPARED, Similarity, key_of
from memory.text.cues import (
    ASKED,
    ASKED_PHRASES,
    ASKER,
    ASKER_PHRASES,
    ASKING_WHEN,
    ASKING_WHEN_PHRASES,
    ASKING_WHO,
    ASKING_WHO_PHRASES,
    TIME_PHRASES,
    TIMES,
)
from memory.text.sought import QueryTerms
from memory.text.stemming import stem_of
from memory.text.words import date_words, plain

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from memory.search.ranking import Neighbourhood
    from memory.search.search import Hit, Similarities

BEFORE = (0.85, 0.6, 0.45)
"""What a word of the question counts one, two and three messages before."""
LEAST_TEXTS = 200
"""As many texts are taken for known where there are fewer: a small memory does not tell how rare a word is."""
_MOST_NAMES = 4
_WORD = re.compile(r"[^\W_]+")
# words inside a sentence with a capital, and what is quoted
_NAME = regex.compile(r"(?<![.!?…] )(?<!^)\b\p{Lu}\w+|[\"“«„「《][^\"”»“」》]+[\"”»“」》]")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_NO_MEANING = Similarity()


@dataclass(frozen=True, slots=True)
class Features:
    """One number for each feature: of something that was found, its value; of a ranking, its weight.

    fit: the index's score, by the best one's. coverage: how much of the question stands in it or shortly before.
    surroundings: the best fit at most four messages away. speaker: it was said by the one that the question names.
    names: for a question after a person, place or choice, the names in it.
    times: for a question after a time, words for times in it. follows_question, is_question: the message before, or it
    itself, asks. length_before: the logarithm of the words in the message before. Where vectors are compared also
    (memory/search/vector_search.py): meaning and bare_meaning: how near it is to the question with and without names.
    meaning_nearby: of what was said around.
    """

    fit: float
    coverage: float = 0.0
    surroundings: float = 0.0
    speaker: float = 0.0
    names: float = 0.0
    times: float = 0.0
    follows_question: float = 0.0
    is_question: float = 0.0
    length_before: float = 0.0
    meaning: float = 0.0
    bare_meaning: float = 0.0
    meaning_nearby: float = 0.0

    def weighed(self, weights: Features) -> float:
        """Their sum, each as it counts."""
        return sum(map(float.__mul__, self.values, weights.values), start=0.0)

    def mixed(self, other: Features, share: float) -> Features:
        """This by `share`, the rest of `other`."""
        pairs = zip(self.values, other.values, strict=True)
        return Features(*(share * mine + (1 - share) * theirs for mine, theirs in pairs))

    @property
    def values(self) -> tuple[float, ...]:
        """One after the other."""
        return _VALUES(self)


_VALUES: Callable[[Features], tuple[float, ...]] = attrgetter(*(feature.name for feature in fields(Features)))


class Question:
    """A question, held against what was found for it.

    What is rare among that and around it tells more; as measured, that serves as well as counting the whole log.
    """

    def __init__(
        self, text: str, hits: Sequence[Hit], around: Neighbourhood, similarities: Similarities = NOT_COMPARED
    ) -> None:
        self._around = around
        self._similarities = similarities.of
        self._sought = QueryTerms(text)
        words = set(_words(text))
        lower = text.casefold()
        self._asks_name = _has(words, lower, ASKING_WHO, ASKING_WHO_PHRASES)
        self._asks_time = _has(words, lower, ASKING_WHEN, ASKING_WHEN_PHRASES)
        self._speaker = _speaker_meant(words, lower, {hit.source for hit in hits if hit.turn_id is not None})
        self._said_before = {
            hit.id: around.until(hit.id, 1 + len(BEFORE))[1:] for hit in hits if hit.turn_id is not None
        }
        self._counts = {hit.id: self._sought.term_counts(hit.content) for hit in hits if hit.turn_id is not None}
        for row in itertools.chain.from_iterable(self._said_before.values()):
            if row["id"] not in self._counts:
                self._counts[row["id"]] = self._sought.term_counts(row["content"])
        self._of_labels: dict[tuple[str, datetime.date], dict[str, int]] = {}
        self._heads = {_key(hit): self._head(hit) for hit in hits}
        self._rarity = self._rarities([*self._counts.values(), *self._heads.values()])
        self._told_by_all = sum(self._rarity.values()) or 1.0
        self._fits = {_key(hit): hit.score for hit in hits}
        self._best_fit = max(self._fits.values(), default=0.0) or 1.0

    def features(self, hit: Hit) -> Features:
        """The features of one of the hits."""
        meaning = self._similarities.get(key_of(hit), _NO_MEANING)
        fit = hit.score / self._best_fit
        if hit.turn_id is None:
            return Features(
                fit,
                self._coverage(hit),
                meaning=meaning.whole,
                bare_meaning=meaning.bare,
                meaning_nearby=meaning.nearby,
            )
        said_before = next((row["content"] for row in self._said_before[hit.id]), "")
        by_meant = hit.source == self._speaker
        return Features(
            fit,
            self._coverage(hit),
            max((self._fits[True, number] for number in self._around.near(hit.id)), default=0.0) / self._best_fit,
            speaker=float(by_meant),
            names=min(_MOST_NAMES, len(_NAME.findall(hit.content))) / _MOST_NAMES if self._asks_name else 0.0,
            times=float(self._asks_time and _tells_time(hit.content)),
            follows_question=float(_asks(said_before)),
            is_question=float(_asks(hit.content)),
            length_before=math.log1p(len(said_before.split())),
            meaning=meaning.whole,
            bare_meaning=meaning.bare,
            meaning_nearby=meaning.nearby,
        )

    def _coverage(self, hit: Hit) -> float:
        """The part of the question that stands in a hit or shortly before it, words by how much they tell."""
        remaining = dict(self._rarity)
        covered = 0.0
        # each text counts less than the one before, so a word counts by the first one that it stands in
        for part, counts in zip((1.0, *BEFORE), self._lately(hit), strict=False):
            covered += part * sum(remaining.pop(term, 0.0) for term in counts)
        return covered / self._told_by_all

    def _lately(self, hit: Hit) -> Iterator[dict[str, int]]:
        """The question's words in a hit and in what was said before it."""
        yield self._heads[_key(hit)]
        if hit.turn_id is not None:
            yield from (self._counts[row["id"]] for row in self._said_before[hit.id])

    def _head(self, hit: Hit) -> dict[str, int]:
        """What the index has of a hit itself: its text, who said it or what it is called, and its day."""
        if hit.turn_id is None:
            day = date_words(to_text(hit.created_at))
            return self._sought.term_counts(f"{hit.content} {hit.name} {hit.scope or ''} {hit.outcome or ''} {day}")
        label = hit.source, hit.created_at.date()  # of many messages the same
        if label not in self._of_labels:
            self._of_labels[label] = self._sought.term_counts(f"{hit.source} {date_words(to_text(hit.created_at))}")
        own, more = self._counts[hit.id], self._of_labels[label]
        return {term: own.get(term, 0) + more.get(term, 0) for term in own | more} if more else own

    def _rarities(self, texts: Collection[dict[str, int]]) -> dict[str, float]:
        """BM25's inverse document frequency of each term."""
        having = Counter(term for counts in texts for term in counts)
        total = max(LEAST_TEXTS, len(texts))
        return {t: math.log(1 + (total - having[t] + 0.5) / (having[t] + 0.5)) for t in self._sought.terms}


def _key(hit: Hit) -> tuple[bool, int]:
    """Messages and entries are numbered each on their own."""
    return hit.turn_id is not None, hit.id


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _has(words: Collection[str], lower: str, existing: frozenset[str], phrases: Iterable[str]) -> bool:
    return not existing.isdisjoint(words) or any(phrase in lower for phrase in phrases)


def _tells_time(text: str) -> bool:
    return _YEAR.search(text) is not None or _has(_words(text), text, TIMES, TIME_PHRASES)


def _asks(text: str) -> bool:
    return text.rstrip(" ]").endswith(("?", "？"))


def _speaker_meant(words: set[str], lower: str, sources: Collection[str]) -> str | None:
    """Whose messages a question points at: of the one speaker whom it names, or by "I" and "you" in a private chat."""
    roots = {stem_of(plain(word)) for word in words}
    named = {source for source in sources if roots & {stem_of(plain(word)) for word in _words(source) if len(word) > 1}}
    named -= {*Role}
    if len(named) == 1:
        return named.pop()
    of_asker, of_asked = _has(words, lower, ASKER, ASKER_PHRASES), _has(words, lower, ASKED, ASKED_PHRASES)
    if named or of_asker == of_asked:
        return None
    return Role.USER if of_asker else Role.ASSISTANT
