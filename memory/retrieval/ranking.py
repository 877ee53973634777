"""Ranking anew what the index found, by what tells how well it answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memory.retrieval.features import Question
from memory.retrieval.neighbourhood import Neighbourhood, neighbourhood
from memory.retrieval.weights import RANKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.retrieval.search import Hit
    from memory.store.database import Database

LEAST_SCORE = 0.01


@dataclass(frozen=True, slots=True)
class Ranked:
    """Hits, best first, and what was said around them. coverage: the most of the question that one covers."""

    hits: list[Hit]
    coverage: float
    around: Neighbourhood


async def ranked(question: str, hits: Sequence[Hit], database: Database) -> Ranked:
    """`hits` by how well they answer `question`; all are read, so let them be few."""
    around = await neighbourhood(database, [hit.id for hit in hits if hit.turn_id is not None])
    # what was forgotten meanwhile is no longer there
    there = [hit for hit in hits if hit.turn_id is None or hit.id in around]
    asked = Question(question, there, around)
    scored = [(features := asked.features(hit), max(LEAST_SCORE, features.weighed(RANKING)), hit) for hit in there]
    scored.sort(key=lambda one: one[1], reverse=True)
    coverage = max((features.coverage for features, _, _ in scored), default=0.0)
    return Ranked([replace(hit, score=score) for _, score, hit in scored], coverage, around)
