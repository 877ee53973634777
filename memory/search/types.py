"""The types of a search: filters, hits, their features and the ranked result."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from operator import attrgetter
from typing import Protocol

from memory.messages import Provenance
from memory.search.neighbourhood import Neighbourhood
from memory.store.entry import Kind

MESSAGE_KIND = "message"
"""The kind of log messages in filters and hits."""
PASSAGE_KINDS = (MESSAGE_KIND, Kind.NOTE, Kind.ARCHIVE, Kind.EPISODE)
"""Kinds that are quoted in a prompt. Typed memories activate instead (memory/search/activation.py)."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Filters of a search.

    Attributes:
        kinds: None means all kinds.
        path: Only entries with a scope that contains this path.
        tags: Only entries with all of these tags, case-insensitively.
        since: Earliest creation time.
        until: Latest creation time, exclusive.
        archived: None means both archived and other entries.
        current: Only valid entries: not superseded, not past and not unconfirmed.
    """

    kinds: Collection[str] | None = None
    path: str | None = None
    tags: Collection[str] = ()
    since: datetime | None = None
    until: datetime | None = None
    archived: bool | None = None
    current: bool = False


@dataclass(frozen=True, slots=True)
class Hit:
    """A search result: an entry or a message.

    Attributes:
        name: None for messages.
        score: The negated BM25. Greater is better.
        turn_id: None for entries.
        outcome: Only episodes have one.
        shared_by: The family member who shared it, or None if it belongs to the owner who searches.
        title: The title of a message's conversation, if it has one.
        of_failed_turn: Whether a message got no answer, as without a working model.
    """

    id: int
    name: str | None
    kind: Kind | str
    content: str
    score: float
    created_at: datetime
    owner: str
    source: str
    scope: str | None
    conversation_id: int | None
    turn_id: int | None
    archived: bool
    superseded_by: int | None
    valid_from: datetime | None
    superseded_at: datetime | None
    valid_until: datetime | None
    unconfirmed: str | None
    provenance: Provenance
    outcome: str | None
    shared_by: str | None = None
    title: str | None = None
    of_failed_turn: bool = False


def make_hit_key(hit: Hit) -> int:
    """Return a unique number of a message or an entry: its row in the index, negated for an entry."""
    return -2 * hit.id if hit.turn_id is None else 2 * hit.id + 1


@dataclass(frozen=True, slots=True)
class Similarity:
    """Similarity of a hit to a question, in standard deviations from the mean of the owner's texts.

    Attributes:
        whole: Similarity to the question.
        bare: Similarity to the question without the names of speakers.
        nearby: The best similarity of the surrounding messages to the bare question.
    """

    whole: float = 0.0
    bare: float = 0.0
    nearby: float = 0.0


@dataclass(frozen=True, slots=True)
class Similarities:
    """The result of comparing vectors. It is empty if there are none, so that words alone rank.

    Attributes:
        found: Additional hits, which the index did not find.
        by_key: Similarity by the `make_hit_key` of the hit.
        standing_out: How much nearer the best text is than the best of equally many random texts would be, in
            standard deviations.
    """

    found: Sequence[Hit] = ()
    by_key: Mapping[int, Similarity] = field(default_factory=dict)
    standing_out: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.by_key)


NOT_COMPARED = Similarities()


class SimilaritySource(Protocol):
    """Finds texts that are similar in meaning."""

    def expect(self, question: str) -> None:
        """Prepare for a question that is about to be compared."""

    async def compare(
        self, question: str, owner: str, hits: Sequence[Hit], only: Filter, visible: int = 0
    ) -> Similarities:
        """Return the similarities of `hits` to `question`, and additional near hits of `owner`. Never fails.

        Args:
            visible: Number of messages in the visible conversation. They are usually near, so as many more are fetched.
        """


@dataclass(frozen=True, slots=True)
class Features:
    """A number for each feature. For a hit it is the feature's value, for a ranking the feature's weight.

    Attributes:
        fit: BM25 score, as a share of the best hit's score.
        coverage: The share of the question that occurs in the hit or shortly before it.
        surroundings: The best fit of the hits at most four messages away.
        speaker: Whether the question names its speaker.
        names: For questions about a person, place or choice: how many names the hit contains.
        times: For questions about a time: whether the hit contains a time.
        follows_question: Whether the message before is a question.
        is_question: Whether the hit is a question.
        length_before: Logarithm of the number of words in the message before.
        meaning: Similarity to the question (bot/features/vectors/search.py). 0 without vectors.
        bare_meaning: Similarity to the question without names. 0 without vectors.
        meaning_nearby: The best similarity of the surrounding messages. 0 without vectors.
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

    def weighted_sum(self, weights: Features) -> float:
        return sum(map(float.__mul__, self.values, weights.values), start=0.0)

    def interpolate(self, other: Features, share: float) -> Features:
        """Interpolate: `share` of these features, and the rest of `other`."""
        pairs = zip(self.values, other.values, strict=True)
        return Features(*(share * mine + (1 - share) * theirs for mine, theirs in pairs))

    @property
    def values(self) -> tuple[float, ...]:
        return _VALUES(self)


_VALUES: Callable[[Features], tuple[float, ...]] = attrgetter(*(feature.name for feature in fields(Features)))


@dataclass(frozen=True, slots=True)
class Ranking:
    """Hits, best first, with scores, features and surroundings.

    Attributes:
        standing_out: How far the most similar hit stands out, in standard deviations. 0 without vectors.
        answering: The best score by words alone, as a share of a full score: one with the best fit, the best
            surroundings and complete coverage.
    """

    hits: list[Hit]
    scores: list[float]
    features: list[Features]
    around: Neighbourhood
    standing_out: float = 0.0
    answering: float = 0.0

    def select_best(self, part: float) -> list[Hit]:
        best = max(self.scores, default=0.0)
        return [hit for hit, score in zip(self.hits, self.scores, strict=True) if score >= best * part]

    @property
    def coverage(self) -> float:
        return max((features.coverage for features in self.features), default=0.0)


@dataclass(frozen=True, slots=True)
class MessageHits:
    """The hits for `message`, best first.

    Attributes:
        memories: Typed memories, including workflows.
        workflows: The best workflows.
        passages: Messages, notes and other hits that are quoted.
        owner: The owner of the message, or None if there was no search.
        similarities: Similarities of the hits to the message, and additional near hits.
        answer: The ranked passages, or None if they don't answer the message.
        asked: The results for each part of the message that was searched for separately.
    """

    memories: Sequence[Hit] = ()
    workflows: Sequence[Hit] = ()
    passages: Sequence[Hit] = ()
    message: str = ""
    owner: str | None = None
    similarities: Similarities = NOT_COMPARED
    answer: Ranking | None = None
    asked: Sequence[MessageHits] = ()


NOTHING = MessageHits()
