"""Candidates for the prompt and their order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from memory.search.formatting import AlreadyInPrompt
from memory.store.entry import PRIORITY_RANK
from memory.text.wording import make_wording_key

MAX_WORKFLOWS = 3
MIN_WORKFLOW_RELEVANCE = 0.4
"""Minimum relevance of a workflow, as a share of the best workflow's relevance."""
FADED_RELEVANCE_FACTOR = 0.85
"""Factor on the relevance of a faded memory. Of two memories with similar relevance, the one in use comes first.

On the tune half of the labelled cases (most wanted first / nDCG@5 / kept): 70/84/94% with it, 66/83/94% without.
"""


class Layer(StrEnum):
    """The layers of S4."""

    BASELINE = "A"
    CONTEXT = "B"
    PROCEDURES = "C"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory with the fields that ranking and prompt need. Hundreds are built per message, so it is no full Entry.

    Attributes:
        line: Its line in MEMORY.md.
        turn: The turn of the message that it cites.
        since: The first day of its validity, in the owner's time zone.
        made: The day of its creation, in the owner's time zone.
        relevance: A share of the best candidate's relevance. 0 if it doesn't match the message.
    """

    id: int
    name: str
    kind: str
    priority: str
    content: str
    line: str | None
    turn: int | None
    scope: str | None
    author: str
    since: date
    made: date
    success_count: int
    failure_count: int
    score: float
    relevance: float = 0.0


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates for activation: rules for layer A, the strongest other memories, and those that match the message."""

    rules: list[Candidate]
    strong: list[Candidate]
    fitting: list[Candidate]


@dataclass(frozen=True, slots=True)
class PageLines:
    """Lines of MEMORY.md that need special treatment in a prompt.

    Attributes:
        hidden: Lines to leave out.
        fresh: Lines that were written this week.
        vital: Lines of vital memories, and whether each was written into the file. If it is missing there although it
            was written, a person deleted it.
    """

    hidden: frozenset[str]
    fresh: frozenset[str]
    vital: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class ActivatedMemory:
    """An activated memory with its line in the prompt and the line's cost in tokens."""

    id: int
    layer: Layer
    score: float
    relevance: float
    line: str
    tokens: int


def drop_repetitions(candidates: Iterable[Candidate], already_in_prompt: AlreadyInPrompt) -> list[Candidate]:
    """Drop candidates that the prompt already contains. Of several with the same wording, keep the heaviest."""
    best: dict[tuple[str, str | None], Candidate] = {}
    for candidate in candidates:
        duplicate = best.get(make_candidate_key(candidate))
        if duplicate is None or _weight(candidate) > _weight(duplicate):
            best[make_candidate_key(candidate)] = candidate
    return [
        candidate
        for candidate in best.values()
        if not already_in_prompt.contains(candidate.content, candidate.line, candidate.turn)
    ]


def make_candidate_key(candidate: Candidate) -> tuple[str, str | None]:
    return make_wording_key(candidate.content), candidate.scope


def _weight(candidate: Candidate) -> tuple[int, float, float]:
    return -PRIORITY_RANK[candidate.priority], candidate.relevance, candidate.score


def rank_memories(candidates: Iterable[Candidate], threshold: float) -> list[Candidate]:
    """Return layer B, best first: all memories that match, and the others if they are strong enough."""
    chosen = (candidate for candidate in candidates if candidate.relevance or candidate.score >= threshold)

    def rank(candidate: Candidate) -> tuple[float, float, int]:
        factor = 1.0 if candidate.score >= threshold else FADED_RELEVANCE_FACTOR
        return candidate.relevance * factor, candidate.score, candidate.id

    return sorted(chosen, key=rank, reverse=True)


def rank_workflows(workflows: Iterable[Candidate]) -> list[Candidate]:
    """Return layer C: workflows that match the task, successful ones first."""
    best = max((workflow.relevance for workflow in workflows), default=0.0)
    fitting = [workflow for workflow in workflows if workflow.relevance >= MIN_WORKFLOW_RELEVANCE * best]
    return sorted(fitting, key=lambda c: (c.success_count == 0, -c.relevance, c.id))[:MAX_WORKFLOWS]


def format_record(successes: int, failures: int) -> str:
    return f"worked {successes} of {successes + failures} times" if successes + failures else "not tried yet"
