"""Whether a fact denies what its quote says, or says what its quote denies: word by word."""

from __future__ import annotations

from dataclasses import dataclass

from memory.evidence.clauses import content, is_han, parts_of, plain, same
from memory.evidence.lexicon import AVERSE, CONTRAST, CORRECTING, IDLE_NEGATIVE, INSTEAD, NEGATIVES, SET_OFF, WITHOUT
from memory.text.forms import is_light
from memory.text.languages import Language

LOST, GAINED, WEAKLY, PARTLY = 0.3, 0.5, 0.75, 0.75
"""The part of a fact's words that must be shared before a denial on one side counts: where all of them are denied in
the quote alone; in the fact alone, by "not", or by a word like "hates"; where most of them are on one side."""


@dataclass(frozen=True, slots=True)
class Sign:
    """How a word stands. negated: under a "not"; averse: beside a word like "hates" or "sold", or negated.

    is_open: before a "not" that is about what follows, or under two: it may be meant either way.
    """

    negated: bool = False
    averse: bool = False
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Turned:
    """How many words of a fact stand in its quote too, and which of these are denied on one side alone.

    words: of the fact. decided: those that are shared and stand clearly. lost: denied in the quote alone. gained,
    weakly: in the fact alone, by "not" or by "hates". numbers: how many of these are numbers. by_characters: of
    Chinese, where these are no words.
    """

    words: int
    shared: int
    decided: int
    lost: int
    gained: int
    weakly: int
    numbers: int
    by_characters: bool

    @property
    def is_clear(self) -> bool:
        """Whether the fact turns the quote round."""
        coverage, denied = self.shared / max(1, self.words), self.lost + self.gained
        if not self.decided:
            return False
        return (
            (self.lost == self.decided and coverage >= LOST and 2 * self.decided >= self.shared)
            or (self.gained == self.decided and coverage >= GAINED)
            or (denied + self.weakly == self.decided and coverage >= WEAKLY)
            or (2 * denied > self.decided and coverage >= PARTLY and not self.by_characters)
            or (self.numbers > 0 and coverage >= PARTLY)
        )

    @property
    def is_possible(self) -> bool:
        """Whether any word is denied on one side alone."""
        return self.lost + self.gained + self.weakly > 0


NOTHING_TURNED = Turned(0, 0, 0, 0, 0, 0, 0, by_characters=False)
"""Of a fact whose words can't be held against the quote's, which are of another language."""


def turned(text: str, language: Language, quote: str, said_in: Language) -> Turned:
    """How a fact and its quote differ in what they deny."""
    told, said = signs(text, language), signs(quote, said_in)
    shared = decided = lost = gained = weakly = numbers = 0
    for word, mine in told.items():
        theirs = [sign for other, sign in said.items() if same(word, other)]
        if not theirs:
            continue
        shared += 1
        if mine.is_open or any(sign.is_open for sign in theirs):
            continue
        decided += 1
        if all(sign.averse != mine.averse for sign in theirs):
            lost += not mine.averse
            gained += mine.negated
            weakly += mine.averse and not mine.negated
            numbers += word[0].isdigit()
    return Turned(len(content(text)), shared, decided, lost, gained, weakly, numbers, by_characters=is_han(text))


def signs(text: str, language: Language) -> dict[str, Sign]:
    """How each telling word and number of a text stands, but those that deny; of a word that stands twice the worst."""
    found: dict[str, Sign] = {}

    def put(word: str, sign: Sign) -> None:
        before = found.get(word, Sign())
        found[word] = Sign(before.negated or sign.negated, before.averse or sign.averse, before.is_open or sign.is_open)

    correcting = CORRECTING.match(text)
    text = text[correcting.end() :] if correcting else text
    for pattern in (CONTRAST, SET_OFF, INSTEAD):
        for match in pattern.finditer(text):
            for word in content(match.group()):
                put(word, Sign(negated=True, averse=True))
        text = pattern.sub(" ; ", text)
    for clause in parts_of(text):
        part = IDLE_NEGATIVE.sub(" ", plain(clause))
        is_averse = AVERSE.search(part) is not None
        negated, undecided = _scope(part, language)
        for word in content(clause):
            put(word, Sign(word in negated, is_averse or word in negated, word in undecided))
    denying = NEGATIVES[language]
    return {word: sign for word, sign in found.items() if not (AVERSE.fullmatch(word) or denying.fullmatch(word))}


def _scope(part: str, language: Language) -> tuple[list[str], list[str]]:
    """The words of a clause that its "not" is about, and those of which it can't be told.

    It is about what stands behind it, or about all of the clause where nothing that tells stands there.
    """
    match = NEGATIVES[language].search(part)
    if match is None:
        return [], []
    everything, behind = content(part), content(part[match.end() :])
    if len(WITHOUT.findall(part)) == 1 and len(NEGATIVES[language].findall(part)) > 1:
        return [], everything  # "not without my cat"
    if language is Language.HAN or all(is_light(word) for word in behind):
        return everything, []
    return behind, [word for word in everything if word not in behind]
