"""Whether a fact says what the words quoted for it say, as far as code can tell."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from config.texts import N_
from memory.evidence.about import given_to_another
from memory.evidence.clauses import clause_of
from memory.evidence.direction import gives_to_giver, is_crossed, mixes_up, swaps_places
from memory.evidence.opposites import is_opposite
from memory.evidence.polarity import NOTHING_TURNED, Turned, turned
from memory.evidence.quantities import days_fit, missing_numbers
from memory.evidence.surplus import NO_SURPLUS, strange_names, surplus
from memory.text.languages import Language, language_of
from memory.text.overlap import value_of

if TYPE_CHECKING:
    from memory.evidence.evidence import Evidence
    from memory.evidence.fact import Fact

SHORT = 40
"""Characters below which a message does not tell its language."""
BARE, BARE_APART = 2, 3
"""Words that nobody said, and no word of the quote is left for, that are too many; and those where the fact leaves
words of the quote aside, for which they may stand together."""


class Doubt(StrEnum):
    """Why a fact is not confirmed, in the words for a person, to be translated where they are shown."""

    NO_SOURCE = N_("you did not say so in these words")
    NOT_AFFIRMED = N_("I said so, and you did not confirm it")
    NUMBER = N_("you did not say that number")
    DATE = N_("the day does not fit what you said")
    PERSON = N_("it may be about somebody else")
    TURNED = N_("you may have said the opposite")
    NAME = N_("you did not say that name")
    MORE = N_("it says more than you said")
    CONTRADICTED = N_("it seems to contradict what you said")


@dataclass(frozen=True, slots=True)
class Agreement:
    """What code can tell. doubt: the plainest difference, None where there is none.

    is_plain: whether fact and quote share words and no other is new, so that nobody need be asked.
    """

    doubt: Doubt | None
    is_plain: bool


def agreement(fact: Fact, evidence: Evidence) -> Agreement:
    """How a fact agrees with its evidence."""
    text = value_of(fact.text)  # the subject in front of a short fact is the model's own word for it
    quote = evidence.quote
    language, said_in = _languages(text, evidence)
    clause = clause_of(text, quote)
    is_comparable = language is said_in
    denied = turned(text, language, quote, said_in) if is_comparable else NOTHING_TURNED
    beyond = surplus(text, evidence) if is_comparable else NO_SURPLUS
    doubts = (
        (Doubt.NUMBER, missing_numbers(text, evidence) > 0),
        (Doubt.DATE, not days_fit(fact, evidence)),
        (Doubt.PERSON, given_to_another(text, clause, evidence, said_in)),
        (Doubt.TURNED, _is_turned(text, language, evidence, said_in, denied)),
        (Doubt.NAME, strange_names(text, evidence, language) > 0),
        (Doubt.MORE, beyond.bare >= (BARE_APART if beyond.left else BARE)),
    )
    doubt = next((doubt for doubt, holds in doubts if holds), None)
    return Agreement(doubt, is_plain=beyond.shared > 0 and beyond.more == 0 and not denied.is_possible)


def _is_turned(text: str, language: Language, evidence: Evidence, said_in: Language, denied: Turned) -> bool:
    """Whether the fact denies what the quote says, or says its opposite or the other way round, but not both at once.

    "Ann is younger than Bob" for "Bob is older than Ann" is both, and the same.
    """
    quote = evidence.quote
    # the assistant says "you" where the fact says "the user"
    by_roles = evidence.is_users and (gives_to_giver(text, quote, said_in) or mixes_up(text, quote, said_in))
    if is_opposite(text, language, clause_of(text, quote), said_in):
        return not (by_roles or swaps_places(text, quote, said_in) or is_crossed(text, quote, said_in))
    return denied.is_clear or by_roles or swaps_places(text, quote, said_in)


def _languages(text: str, evidence: Evidence) -> tuple[Language, Language]:
    """The languages of fact and message; of a short message that of the conversation, since a few words hardly tell."""
    message = evidence.message
    said_in = language_of(message if len(message) >= SHORT else "\n".join((message, *evidence.before)))
    language = language_of(text)
    if language is not Language.HAN and said_in is not Language.HAN and text.isascii() and message.isascii():
        said_in = language if said_in is Language.OTHER else said_in
        language = said_in if language is Language.OTHER else language
    if {language, said_in} == {Language.RUSSIAN, Language.UKRAINIAN}:
        language = said_in = Language.UKRAINIAN  # a few words of it may have none of its own letters
    return language, said_in
