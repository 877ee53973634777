"""Whether a fact says what the words quoted for it say, as far as code can tell."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from memory.evidence.differences import differences

if TYPE_CHECKING:
    from memory.evidence.differences import Differences, Evidence
    from memory.evidence.fact import Fact

TURNED = 0.4
"""The part of a statement that must be shared before a negation on one side alone counts."""


class Doubt(StrEnum):
    """Why a fact is not confirmed, in the words for a person."""

    NO_SOURCE = "you did not say so in these words"
    NOT_AFFIRMED = "I said so, and you did not confirm it"
    NUMBER = "you did not say that number"
    DATE = "the day does not fit what you said"
    PERSON = "it may be about somebody else"
    TURNED = "you may have said the opposite"
    NAME = "you did not say that name"
    MORE = "it says more than you said"
    CONTRADICTED = "it seems to contradict what you said"


def doubt_of(fact: Fact, evidence: Evidence) -> Doubt | None:
    """The plainest difference between a fact and its evidence; None where there is none."""
    found = differences(fact, evidence)
    doubts = {
        Doubt.NUMBER: found.number > 0,
        Doubt.DATE: found.date > 0,
        Doubt.PERSON: max(found.person, found.pronoun, found.kin) > 0,
        Doubt.TURNED: found.turned >= TURNED or found.opposite > 0,
        Doubt.NAME: found.name > 0,
        Doubt.MORE: _says_more(found),
    }
    return next((doubt for doubt, holds in doubts.items() if holds), None)


def _says_more(found: Differences) -> bool:
    # a fact without a word of its quote may well be another way to say it all
    return found.bare >= (1 if found.shared else 3)
