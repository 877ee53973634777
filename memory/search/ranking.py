"""Ranking anew what the index found, by what tells how well it answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memory.search.features import Features, Question
from memory.search.meaning import NOT_COMPARED, key_of
from memory.search.neighbourhood import Neighbourhood, neighbourhood
from memory.search.search import Filter
from memory.search.weights import RANKING, WITH_VECTORS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory.search.meaning import Meanings
    from memory.search.nearness import Nearness
    from memory.search.search import Found, Hit
    from memory.store.database import Database

LEAST_SCORE = 0.01

_FULL_ENTRY = Features(fit=1.0, coverage=1.0)
_FULL_MESSAGE = replace(_FULL_ENTRY, surroundings=1.0)


@dataclass(frozen=True, slots=True)
class Ranked:
    """Hits, best first, the score and the features of each, and what was said around them.

    standing_out: how far the nearest in meaning stands out from the rest, in deviations; 0 without vectors.
    answering: the best score, as a part of what one of its kind has that is first by its words, stands beside such ones
    and covers all of the question.
    """

    hits: list[Hit]
    scores: list[float]
    features: list[Features]
    around: Neighbourhood
    standing_out: float = 0.0
    answering: float = 0.0

    def worth(self, part: float) -> list[Hit]:
        """The hits whose scores are at least this part of the best one's."""
        best = max(self.scores, default=0.0)
        return [hit for hit, score in zip(self.hits, self.scores, strict=True) if score >= best * part]

    @property
    def coverage(self) -> float:
        """The most of the question that one of them covers."""
        return max((features.coverage for features in self.features), default=0.0)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, whose memory it is asked of (None: of all), and what may be found.

    wanted: tells of what is found by meaning whether it is wanted, as `hits` have been sorted out before.
    """

    question: str
    owner: str | None
    only: Filter
    wanted: Callable[[Hit], bool]


class Ranker:
    """Ranks hits, by meaning too where there is an embedder."""

    def __init__(self, database: Database, nearness: Nearness | None = None) -> None:
        self._database = database
        self._nearness = nearness

    def expect(self, question: str) -> None:
        """Begin with what takes long, as far as nothing need be found for it."""
        if self._nearness is not None:
            self._nearness.expect(question)

    async def compared(self, found: Found, visible: int) -> Found:
        """What was found for a message, with how near in meaning it is.

        visible: messages that the conversation holds.
        """
        if self._nearness is None or found.owner is None:
            return found
        hits = {key_of(hit): hit for hit in (*found.memories, *found.workflows, *found.passages)}
        only = Filter(archived=False, current=True)
        near = await self._nearness.of(found.message, found.owner, [*hits.values()], only, visible)
        return replace(found, meanings=near)

    async def ranked(self, asked: Asked, hits: Sequence[Hit], meanings: Meanings | None = None) -> Ranked:
        """`hits`, and what is near in meaning, by how well they answer; all are read, so let them be few.

        meanings: where they were compared before.
        """
        if meanings is None:
            meanings = NOT_COMPARED
            if self._nearness is not None and asked.owner is not None:
                meanings = await self._nearness.of(asked.question, asked.owner, hits, asked.only)
        candidates = [*hits, *filter(asked.wanted, meanings.found)]
        return await by_features(asked.question, candidates, self._database, meanings)


async def by_features(
    question: str, hits: Sequence[Hit], database: Database, meanings: Meanings = NOT_COMPARED
) -> Ranked:
    """`hits` by how well their features say that they answer `question`."""
    around = await neighbourhood(database, [hit.id for hit in hits if hit.turn_id is not None])
    # what was forgotten meanwhile is no longer there
    there = [hit for hit in hits if hit.turn_id is None or hit.id in around]
    asked = Question(question, there, around, meanings)
    weights = WITH_VECTORS if meanings else RANKING
    scored = [(features := asked.features(hit), max(LEAST_SCORE, features.weighed(weights)), hit) for hit in there]
    scored.sort(key=lambda one: one[1], reverse=True)
    scores = [score for _, score, _ in scored]
    full_entry, full_message = _FULL_ENTRY.weighed(weights), _FULL_MESSAGE.weighed(weights)
    parts = (score / (full_entry if hit.turn_id is None else full_message) for _, score, hit in scored)
    return Ranked(
        [hit for _, _, hit in scored],
        scores,
        [features for features, _, _ in scored],
        around,
        meanings.standing_out,
        max(parts, default=0.0),
    )
