"""Whether a fact says what the words quoted for it say, as far as code can tell."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from config.texts import N_
from memory.evidence.comparison import compare
from memory.evidence.judge import judge

if TYPE_CHECKING:
    from memory.evidence.comparison import Comparison
    from memory.evidence.evidence import Evidence
    from memory.evidence.fact import Fact

BARE, BARE_APART = 2, 3
"""Words that nobody said, and no word of the quote is left for, that are too many; and those where the fact leaves
words of the quote aside, for which they may stand together."""
BORROWED = 2
"""Words that only a foreign text has which are too many."""


class Doubt(StrEnum):
    """Why a fact is not confirmed, in the words for a person, to be translated where they are shown."""

    NO_SOURCE = N_("you did not say so in these words")
    NOT_AFFIRMED = N_("I said so, and you did not confirm it")
    NUMBER = N_("you did not say that number")
    DATE = N_("the day does not fit what you said")
    NAME = N_("you did not say that name")
    PERSON = N_("it may be about somebody else")
    TURNED = N_("you may have said the opposite")
    MORE = N_("it says more than you said")
    UNLIKE = N_("it may not follow from what you said")
    CONTRADICTED = N_("it seems to contradict what you said")


@dataclass(frozen=True, slots=True)
class Agreement:
    """What code can tell. doubt: the plainest difference, None where there is none.

    is_plain: whether all words of the fact are the quote's, so that nobody need be asked.
    """

    doubt: Doubt | None
    is_plain: bool


def agreement(fact: Fact, evidence: Evidence) -> Agreement:
    """How a fact agrees with its evidence."""
    compared = compare(fact, evidence)
    doubt = certain_doubt(compared)
    if doubt is None:
        found = _found(compared)
        # what cites nothing is held against the user's words alone: the judge knows only what is cited
        follows = found is None if fact.citation is None else judge().follows(compared)
        doubt = None if follows else found or Doubt.UNLIKE
    return Agreement(doubt, is_plain=compared.is_in_words_of_quote)


def certain_doubt(compared: Comparison) -> Doubt | None:
    """What is a doubt whatever else there is, None for nothing.

    Words that only a foreign text has; a number, a day, a name or a speaker that nobody said; what the rules of this
    room find where the fact keeps to the words of its quote.
    """
    keeps = compared.keeps_to_quote
    return _first(
        (Doubt.NO_SOURCE, compared.borrowed >= BORROWED),
        (Doubt.NUMBER, compared.numbers > 0),
        (Doubt.DATE, not compared.days_fit),
        (Doubt.PERSON, compared.of_other_speaker or (keeps and compared.of_another)),
        (Doubt.TURNED, keeps and compared.is_turned),
        (Doubt.NAME, compared.names > 0),
    )


def _found(compared: Comparison) -> Doubt | None:
    """What the rules find, right or wrong."""
    beyond = compared.surplus
    return _first(
        (Doubt.PERSON, compared.of_another),
        (Doubt.TURNED, compared.is_turned),
        (Doubt.MORE, beyond.bare >= (BARE_APART if beyond.left else BARE)),
    )


def _first(*found: tuple[Doubt, bool]) -> Doubt | None:
    return next((doubt for doubt, holds in found if holds), None)
