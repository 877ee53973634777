"""Ranking: turns each hit of the index into features, and sorts the hits by their weighted sum (weights.py)."""

from __future__ import annotations

import datetime
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import regex

from memory.clock import to_text
from memory.messages import Role
from memory.search.neighbourhood import Neighbourhood, read_neighbourhood
from memory.search.types import (
    NOT_COMPARED,
    Features,
    Filter,
    Hit,
    MessageHits,
    Ranking,
    Similarities,
    Similarity,
    SimilaritySource,
    make_hit_key,
)
from memory.search.weights import BY_MEANING, RANKING, WITH_VECTORS
from memory.store.database import Database
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
from memory.text.query_terms import QueryTerms
from memory.text.stemming import stem_word
from memory.text.words import format_date_words, to_plain

PREVIOUS_MESSAGE_WEIGHTS = (0.85, 0.6, 0.45)
"""Weight of a question's word that occurs one, two or three messages before the hit."""
MIN_TEXTS = 200
"""Minimum corpus size for the document frequency. A small memory doesn't tell how rare a word is."""
_MAX_NAMES = 4
_WORD = re.compile(r"[^\W_]+")
# Capitalised words inside a sentence, and quoted text.
_NAME = regex.compile(r"(?<![.!?…] )(?<!^)\b\p{Lu}\w+|[\"“«„「《][^\"”»“」》]+[\"”»“」》]")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_NO_MEANING = Similarity()

MIN_SCORE = 0.01
FULL_WORD_COVERAGE = 0.5
"""Coverage from which only words rank. Below it meaning gets a growing share, up to all if no hit covers anything.

R@10 on LoCoMo's development half (group form, cross-fitted) and on held-out paraphrases in six languages: 84.1 and 44
(at 0.65: 83.5 and 46). One set of weights fitted on both has 82.2 and 43, fitted on LoCoMo alone 84.6 and 23.
"""

_FULL_ENTRY = Features(fit=1.0, coverage=1.0).weighted_sum(RANKING)
_FULL_MESSAGE = Features(fit=1.0, coverage=1.0, surroundings=1.0).weighted_sum(RANKING)


class Question:
    """Computes the features of hits for one question.

    Words that are rare among the hits and their surroundings weigh more. In measurements this was as good as counting
    words in the whole log.
    """

    def __init__(
        self, text: str, hits: Sequence[Hit], around: Neighbourhood, similarities: Similarities = NOT_COMPARED
    ) -> None:
        self._around = around
        self._similarities = similarities.by_key
        self._sought = QueryTerms(text)
        words = set(_split_words(text))
        lower = text.casefold()
        self._asks_name = _has(words, lower, ASKING_WHO, ASKING_WHO_PHRASES)
        self._asks_time = _has(words, lower, ASKING_WHEN, ASKING_WHEN_PHRASES)
        self._speaker = _find_speaker(words, lower, {hit.source for hit in hits if hit.turn_id is not None})
        self._said_before = {
            hit.id: around.get_until(hit.id, 1 + len(PREVIOUS_MESSAGE_WEIGHTS))[1:]
            for hit in hits
            if hit.turn_id is not None
        }
        self._counts = {hit.id: self._sought.count_terms(hit.content) for hit in hits if hit.turn_id is not None}
        for row in itertools.chain.from_iterable(self._said_before.values()):
            if row["id"] not in self._counts:
                self._counts[row["id"]] = self._sought.count_terms(row["content"])
        self._of_labels: dict[tuple[str, str | None, datetime.date], dict[str, int]] = {}
        self._heads = {_make_key(hit): self._count_head(hit) for hit in hits}
        self._rarity = self._compute_rarities([*self._counts.values(), *self._heads.values()])
        self._told_by_all = sum(self._rarity.values()) or 1.0
        self._fits = {_make_key(hit): hit.score for hit in hits}
        self._best_fit = max(self._fits.values(), default=0.0) or 1.0

    def compute_features(self, hit: Hit) -> Features:
        meaning = self._similarities.get(make_hit_key(hit), _NO_MEANING)
        fit = hit.score / self._best_fit
        if hit.turn_id is None:
            return Features(
                fit,
                self._compute_coverage(hit),
                meaning=meaning.whole,
                bare_meaning=meaning.bare,
                meaning_nearby=meaning.nearby,
            )
        said_before = next((row["content"] for row in self._said_before[hit.id]), "")
        by_meant = hit.source == self._speaker
        return Features(
            fit,
            self._compute_coverage(hit),
            max((self._fits[True, number] for number in self._around.find_near_hits(hit.id)), default=0.0)
            / self._best_fit,
            speaker=float(by_meant),
            names=min(_MAX_NAMES, len(_NAME.findall(hit.content))) / _MAX_NAMES if self._asks_name else 0.0,
            times=float(self._asks_time and _mentions_time(hit.content)),
            follows_question=float(_asks(said_before)),
            is_question=float(_asks(hit.content)),
            length_before=math.log1p(len(said_before.split())),
            meaning=meaning.whole,
            bare_meaning=meaning.bare,
            meaning_nearby=meaning.nearby,
        )

    def _compute_coverage(self, hit: Hit) -> float:
        """Return the share of the question that occurs in the hit or shortly before it, weighted by rarity."""
        remaining = dict(self._rarity)
        covered = 0.0
        # The weights decrease, so each word counts in the first text that contains it.
        for weight, counts in zip((1.0, *PREVIOUS_MESSAGE_WEIGHTS), self._count_recent(hit), strict=False):
            covered += weight * sum(remaining.pop(term, 0.0) for term in counts)
        return covered / self._told_by_all

    def _count_recent(self, hit: Hit) -> Iterator[dict[str, int]]:
        """Yield the counts of the question's terms in a hit, then in each message before it."""
        yield self._heads[_make_key(hit)]
        if hit.turn_id is not None:
            yield from (self._counts[row["id"]] for row in self._said_before[hit.id])

    def _count_head(self, hit: Hit) -> dict[str, int]:
        """Count the question's terms in the hit's indexed fields: text, speaker, name or title, and date."""
        if hit.turn_id is None:
            day = format_date_words(to_text(hit.created_at))
            return self._sought.count_terms(f"{hit.content} {hit.name} {hit.scope or ''} {hit.outcome or ''} {day}")
        label = hit.source, hit.title, hit.created_at.date()  # Many messages share it, so it is cached.
        if label not in self._of_labels:
            self._of_labels[label] = self._sought.count_terms(
                f"{hit.source} {hit.title or ''} {format_date_words(to_text(hit.created_at))}"
            )
        own, more = self._counts[hit.id], self._of_labels[label]
        return {term: own.get(term, 0) + more.get(term, 0) for term in own | more} if more else own

    def _compute_rarities(self, texts: Collection[dict[str, int]]) -> dict[str, float]:
        """Return BM25's inverse document frequency of each term."""
        having = Counter(term for counts in texts for term in counts)
        total = max(MIN_TEXTS, len(texts))
        return {t: math.log(1 + (total - having[t] + 0.5) / (having[t] + 0.5)) for t in self._sought.terms}


def _make_key(hit: Hit) -> tuple[bool, int]:
    """Return a key that keeps the ids of messages and entries apart."""
    return hit.turn_id is not None, hit.id


def _split_words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _has(words: Collection[str], lower: str, existing: frozenset[str], phrases: Iterable[str]) -> bool:
    return not existing.isdisjoint(words) or any(phrase in lower for phrase in phrases)


def _mentions_time(text: str) -> bool:
    return _YEAR.search(text) is not None or _has(_split_words(text), text, TIMES, TIME_PHRASES)


def _asks(text: str) -> bool:
    return text.rstrip(" ]").endswith(("?", "？"))


def _find_speaker(words: set[str], lower: str, sources: Collection[str]) -> str | None:
    """Return the speaker that a question refers to, by name or by "I" and "you". None if that is unclear."""
    roots = {stem_word(to_plain(word)) for word in words}
    named = {
        source
        for source in sources
        if roots & {stem_word(to_plain(word)) for word in _split_words(source) if len(word) > 1}
    }
    named -= {*Role}
    if len(named) == 1:
        return named.pop()
    of_asker, of_asked = _has(words, lower, ASKER, ASKER_PHRASES), _has(words, lower, ASKED, ASKED_PHRASES)
    if named or of_asker == of_asked:
        return None
    return Role.USER if of_asker else Role.ASSISTANT


@dataclass(frozen=True, slots=True)
class RankingRequest:
    """A question and the filters for its hits.

    Attributes:
        owner: The owner to search, or None for all owners.
        wanted: Filters the hits that are added for their meaning. The hits of the index have been filtered before.
    """

    question: str
    owner: str | None
    only: Filter
    wanted: Callable[[Hit], bool]


class Ranker:
    """Ranks hits by words and, if there are similarities, by meaning."""

    def __init__(self, database: Database, similarity: SimilaritySource | None = None) -> None:
        self._database = database
        self.similarity = similarity

    def expect(self, question: str) -> None:
        """Prepare for a question that is about to be searched for."""
        if self.similarity is not None:
            self.similarity.expect(question)

    async def add_similarities(self, lookup: MessageHits, visible: int) -> MessageHits:
        """Add similarities to the search results of a message.

        Args:
            visible: Number of messages in the visible conversation.
        """
        if self.similarity is None or lookup.owner is None:
            return lookup
        hits = {make_hit_key(hit): hit for hit in (*lookup.memories, *lookup.workflows, *lookup.passages)}
        only = Filter(archived=False, current=True)
        near = await self.similarity.compare(lookup.message, lookup.owner, [*hits.values()], only, visible)
        return replace(lookup, similarities=near)

    async def rank(
        self, ranking_request: RankingRequest, hits: Sequence[Hit], similarities: Similarities | None = None
    ) -> Ranking:
        """Rank `hits` and the messages that are near in meaning. All are read, so pass few.

        Args:
            similarities: The result of an earlier comparison. If None, it is computed.
        """
        if similarities is None:
            similarities = NOT_COMPARED
            if self.similarity is not None and ranking_request.owner is not None:
                similarities = await self.similarity.compare(
                    ranking_request.question, ranking_request.owner, hits, ranking_request.only
                )
        candidates = [*hits, *filter(ranking_request.wanted, similarities.found)]
        return await rank_by_features(ranking_request.question, candidates, self._database, similarities)


async def rank_by_features(
    question: str, hits: Sequence[Hit], database: Database, similarities: Similarities = NOT_COMPARED
) -> Ranking:
    around = await read_neighbourhood(database, [hit.id for hit in hits if hit.turn_id is not None])
    # Messages may have been forgotten since they were found.
    present = [hit for hit in hits if hit.turn_id is None or hit.id in around]
    asked_question = Question(question, present, around, similarities)
    described = [(asked_question.compute_features(hit), hit) for hit in present]
    weights = RANKING
    if similarities:
        weights = WITH_VECTORS.interpolate(BY_MEANING, compute_word_share([features for features, _ in described]))
    scored = [(features, max(MIN_SCORE, features.weighted_sum(weights)), hit) for features, hit in described]
    scored.sort(key=lambda item: item[1], reverse=True)
    parts = (
        features.weighted_sum(RANKING) / (_FULL_ENTRY if hit.turn_id is None else _FULL_MESSAGE)
        for features, hit in described
    )
    return Ranking(
        [hit for _, _, hit in scored],
        [score for _, score, _ in scored],
        [features for features, _, _ in scored],
        around,
        similarities.standing_out,
        max(parts, default=0.0),
    )


def compute_word_share(features: Sequence[Features]) -> float:
    """Return the weight of words against meaning in the ranking, from 0 to 1."""
    return min(1.0, max((each.coverage for each in features), default=0.0) / FULL_WORD_COVERAGE)
