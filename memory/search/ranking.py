"""Reranking: sorts the hits of the index by their features (features.py) and the learned weights (weights.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from memory.search.features import Question
from memory.search.neighbourhood import read_neighbourhood
from memory.search.types import (
    NOT_COMPARED,
    Features,
    Filter,
    Hit,
    MessageHits,
    Ranking,
    Similarities,
    SimilaritySource,
    make_hit_key,
)
from memory.search.weights import BY_MEANING, RANKING, WITH_VECTORS
from memory.store.database import Database

MIN_SCORE = 0.01
FULL_WORD_COVERAGE = 0.5
"""Coverage from which only words rank. Below it meaning gets a growing share, up to all if no hit covers anything.

R@10 on LoCoMo's development half (group form, cross-fitted) and on held-out paraphrases in six languages: 84.1 and 44
(at 0.65: 83.5 and 46). One set of weights fitted on both has 82.2 and 43, fitted on LoCoMo alone 84.6 and 23.
"""

_FULL_ENTRY = Features(fit=1.0, coverage=1.0).weighted_sum(RANKING)
_FULL_MESSAGE = Features(fit=1.0, coverage=1.0, surroundings=1.0).weighted_sum(RANKING)


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
