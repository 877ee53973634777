"""Ranking anew what the index found, by what tells how well it answers and what was said around it."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memory.search.features import Features, Question
from memory.search.search import NOT_COMPARED, Filter, key_of
from memory.search.weights import BY_MEANING, RANKING, WITH_VECTORS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from memory.search.search import Found, Hit, Similarities
    from memory.search.vector_search import VectorSearch
    from memory.store.database import Database, Row

REACH = 4
"""How many messages before and after one belong to its surroundings."""
_AROUND = f"""
WITH found AS (SELECT id, conversation_id, turn_id FROM messages WHERE id IN (SELECT value FROM json_each(?))),
before AS (
    SELECT n.id FROM found f JOIN messages n ON n.id IN (
        SELECT id FROM spoken WHERE conversation_id = f.conversation_id AND id <= f.id
        ORDER BY id DESC LIMIT {REACH + 1})
    UNION SELECT m.id FROM found f JOIN messages m ON m.turn_id = f.turn_id)
SELECT id, conversation_id, turn_id, role, speaker, content, coalesce(provenance, 'typed') AS provenance
FROM spoken WHERE id IN (SELECT id FROM before) ORDER BY id
"""


class Neighbourhood:
    """The messages around those that were found.

    Of each that was found all that stood up to REACH before it is here, so that two of them which are at most REACH
    apart here are so in their conversation.
    """

    def __init__(self, results: Iterable[int], rows: Sequence[Row]) -> None:
        conversations: defaultdict[int, list[Row]] = defaultdict(list)
        self._turns: defaultdict[int, list[Row]] = defaultdict(list)
        for row in rows:
            conversations[row["conversation_id"]].append(row)
            self._turns[row["turn_id"]].append(row)
        self._places = {
            row["id"]: (place, conversation)
            for conversation in conversations.values()
            for place, row in enumerate(conversation)
        }
        self._near: defaultdict[int, list[int]] = defaultdict(list)
        ranked = set(results) & self._places.keys()
        for conversation in conversations.values():
            ids = [row["id"] for row in conversation]
            for place, item in enumerate(ids):
                for other in ids[max(0, place - REACH) : place]:
                    if item in ranked and other in ranked:
                        self._near[item].append(other)
                        self._near[other].append(item)

    def __contains__(self, message: int) -> bool:
        return message in self._places

    def until(self, message: int, most: int) -> list[Row]:
        """A message and what was said before it, the nearest first."""
        place, conversation = self._places[message]
        return conversation[max(0, place + 1 - most) : place + 1][::-1]

    def near(self, message: int) -> list[int]:
        """The messages that were found too and stand at most REACH before or after one."""
        return self._near[message]

    def turn(self, number: int) -> list[Row]:
        """What was said in a turn."""
        return self._turns[number]


async def neighbourhood(database: Database, results: Sequence[int]) -> Neighbourhood:
    """What was said around messages, in one read; none where there are none."""
    return Neighbourhood(results, await database.rows(_AROUND, (json.dumps(results),)) if results else [])


LEAST_SCORE = 0.01
ENOUGH_COVERED = 0.5
"""Where no hit covers so much of a question, meaning takes the place of its words; where none covers any, all of it.

R@10 of weights fitted on LoCoMo's development half in the group form and on half of the paraphrases in six languages,
on the former cross-fitted and on the other half: 84.1 and 44 (0.65: 83.5 and 46). One set of weights fitted on both
has 82.2 and 43, one fitted on LoCoMo alone 84.6 and 23.
"""

_FULL_ENTRY = Features(fit=1.0, coverage=1.0).weighed(RANKING)
_FULL_MESSAGE = Features(fit=1.0, coverage=1.0, surroundings=1.0).weighed(RANKING)


@dataclass(frozen=True, slots=True)
class Ranked:
    """Hits, best first, the score and the features of each, and what was said around them.

    standing_out: how far the nearest in meaning stands out from the rest, in deviations; 0 without vectors.
    answering: the best score by words alone, as a part of what one of its kind has that is first, stands beside such
    ones and covers all of the question.
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
class RankingRequest:
    """A question, whose memory it is asked of (None: of all), and what may be found.

    wanted: tells of what is found by meaning whether it is wanted, as `hits` have been sorted out before.
    """

    question: str
    owner: str | None
    only: Filter
    wanted: Callable[[Hit], bool]


class Ranker:
    """Ranks hits, by meaning too where there is an embedder."""

    def __init__(self, database: Database, vector_search: VectorSearch | None = None) -> None:
        self._database = database
        self._vector_search = vector_search

    def expect(self, question: str) -> None:
        """Begin with what takes long, as far as nothing need be found for it."""
        if self._vector_search is not None:
            self._vector_search.expect(question)

    async def compared(self, lookup: Found, visible: int) -> Found:
        """What was found for a message, with how near in meaning it is.

        visible: messages that the conversation holds.
        """
        if self._vector_search is None or lookup.owner is None:
            return lookup
        hits = {key_of(hit): hit for hit in (*lookup.memories, *lookup.workflows, *lookup.passages)}
        only = Filter(archived=False, current=True)
        near = await self._vector_search.of(lookup.message, lookup.owner, [*hits.values()], only, visible)
        return replace(lookup, similarities=near)

    async def ranked(
        self, ranking_request: RankingRequest, hits: Sequence[Hit], similarities: Similarities | None = None
    ) -> Ranked:
        """`hits`, and what is near in meaning, by how well they answer; all are read, so let them be few.

        similarities: where they were compared before.
        """
        if similarities is None:
            similarities = NOT_COMPARED
            if self._vector_search is not None and ranking_request.owner is not None:
                similarities = await self._vector_search.of(
                    ranking_request.question, ranking_request.owner, hits, ranking_request.only
                )
        candidates = [*hits, *filter(ranking_request.wanted, similarities.found)]
        return await by_features(ranking_request.question, candidates, self._database, similarities)


async def by_features(
    question: str, hits: Sequence[Hit], database: Database, similarities: Similarities = NOT_COMPARED
) -> Ranked:
    """`hits` by how well their features say that they answer `question`."""
    around = await neighbourhood(database, [hit.id for hit in hits if hit.turn_id is not None])
    # what was forgotten meanwhile is no longer there
    there = [hit for hit in hits if hit.turn_id is None or hit.id in around]
    asked_question = Question(question, there, around, similarities)
    described = [(asked_question.features(hit), hit) for hit in there]
    weights = RANKING
    if similarities:
        weights = WITH_VECTORS.mixed(BY_MEANING, share_of_words([features for features, _ in described]))
    scored = [(features, max(LEAST_SCORE, features.weighed(weights)), hit) for features, hit in described]
    scored.sort(key=lambda item: item[1], reverse=True)
    parts = (
        features.weighed(RANKING) / (_FULL_ENTRY if hit.turn_id is None else _FULL_MESSAGE)
        for features, hit in described
    )
    return Ranked(
        [hit for _, _, hit in scored],
        [score for _, score, _ in scored],
        [features for features, _, _ in scored],
        around,
        similarities.standing_out,
        max(parts, default=0.0),
    )


def share_of_words(features: Sequence[Features]) -> float:
    """How much the words of a question tell of what was found for it, beside its meaning; from 0 to 1."""
    return min(1.0, max((each.coverage for each in features), default=0.0) / ENOUGH_COVERED)
