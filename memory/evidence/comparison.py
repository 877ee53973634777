"""How a fact and the words quoted for it compare: what each rule of this room finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.evidence.about import given_to_another, names_another
from memory.evidence.clauses import clause_of
from memory.evidence.direction import gives_to_giver, is_crossed, mixes_up, swaps_places
from memory.evidence.opposites import is_opposite
from memory.evidence.polarity import NOTHING_TURNED, Turned, turned
from memory.evidence.quantities import days_fit, missing_numbers
from memory.evidence.surplus import NO_SURPLUS, Surplus, borrowed, strange_names, surplus
from memory.text.languages import Language, language_of
from memory.text.overlap import value_of

if TYPE_CHECKING:
    from memory.evidence.evidence import Evidence
    from memory.evidence.fact import Fact

SHORT = 40
"""Characters below which a message does not tell its language."""
KEEPS = 0.6
"""The part of a fact's words that stands in the quote where it keeps to these."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A fact's text beside its evidence. clause: the part of the quote that it is most like.

    numbers, names: how many of it nobody said; borrowed: how many words only a foreign text has. days_fit: its days may
    have been worked out from what was said. of_other_speaker: it gives what one in a group said to another who speaks
    there. of_another: it gives one person's thing to another. is_opposite: it has a word that says the opposite.
    by_roles: it turns who does it to whom. is_swapped: the one stands in the other's place. is_crossed: what both share
    stands in another order.
    """

    text: str
    evidence: Evidence
    language: Language
    said_in: Language
    clause: str
    numbers: int
    names: int
    borrowed: float
    days_fit: bool
    of_other_speaker: bool
    of_another: bool
    is_opposite: bool
    by_roles: bool
    is_swapped: bool
    is_crossed: bool
    turned: Turned
    surplus: Surplus

    @property
    def keeps_to_quote(self) -> bool:
        """Whether the fact is in the words of its quote, or their opposites: then the rules are hardly ever wrong."""
        return self.turned.shared + self.is_opposite >= KEEPS * max(1, self.turned.words)

    @property
    def is_in_words_of_quote(self) -> bool:
        """Whether all words and numbers of the fact stand in its quote, and none is denied on one side alone."""
        return 0 < self.turned.words == self.turned.shared and not self.turned.is_possible

    @property
    def is_turned(self) -> bool:
        """Whether it denies what the quote says, or says its opposite or the other way round, but not both at once.

        "Ann is younger than Bob" for "Bob is older than Ann" is both, and the same.
        """
        if self.is_opposite:
            return not (self.by_roles or self.is_swapped or self.is_crossed)
        return self.turned.is_clear or self.by_roles or self.is_swapped


def compare(fact: Fact, evidence: Evidence) -> Comparison:
    """How a fact compares with its evidence."""
    text = value_of(fact.text)  # the subject in front of a short fact is the model's own word for it
    quote = evidence.quote
    language, said_in = _languages(text, evidence)
    clause = clause_of(text, quote)
    is_comparable = language is said_in
    return Comparison(
        text,
        evidence,
        language,
        said_in,
        clause,
        numbers=missing_numbers(text, evidence),
        names=strange_names(text, evidence, language),
        borrowed=borrowed(fact.text, evidence),
        days_fit=days_fit(fact, evidence),
        of_other_speaker=names_another(text, evidence),
        of_another=given_to_another(text, clause, evidence, said_in),
        is_opposite=is_opposite(text, language, clause, said_in),
        # the assistant says "you" where the fact says "the user"
        by_roles=evidence.is_users and (gives_to_giver(text, quote, said_in) or mixes_up(text, quote, said_in)),
        is_swapped=swaps_places(text, quote, said_in),
        is_crossed=is_crossed(text, quote, said_in),
        turned=turned(text, language, quote, said_in) if is_comparable else NOTHING_TURNED,
        surplus=surplus(text, evidence) if is_comparable else NO_SURPLUS,
    )


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
