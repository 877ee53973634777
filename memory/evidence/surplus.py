"""What a fact says beyond its quote: names and words that nobody said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.evidence.lexicon import USER
from memory.text.days import is_month
from memory.text.forms import in_common, is_light, roots
from memory.text.languages import Language, language_of
from memory.text.numbers import mentions
from memory.text.people import people_in
from memory.text.sounds import names_in, sounds_in

if TYPE_CHECKING:
    from memory.evidence.evidence import Evidence


def strange_names(text: str, evidence: Evidence, language: Language) -> int:
    """How many names of a fact nobody said and nobody knows."""
    if language in (Language.GERMAN, Language.HAN):
        return 0  # German writes every noun large, Chinese none
    allowed = (evidence.said, evidence.speaker or "", *evidence.others)
    # some write "Nutzer" large wherever it stands
    names = (name for name in names_in(text) if USER.match(name) is None)
    return sum(not sounds_in(name, *allowed) for name in names)


def borrowed(text: str, evidence: Evidence) -> float:
    """How many words of a fact nobody said, and a foreign text has; those of Chinese in thirds."""
    if not evidence.foreign:
        return 0
    said, foreign = _said(evidence), roots(evidence.foreign)
    own = (root for root in roots(text) if not USER.fullmatch(root))
    return sum(in_common([root], foreign) > in_common([root], said) for root in own) / _characters_a_word(text)


@dataclass(frozen=True, slots=True)
class Surplus:
    """Words of a fact beyond its quote; those of Chinese in thirds.

    more: that nobody said. left: words of the quote that the fact does not take up, for which they may stand.
    bare: more than these. shared: words of both, the other way round.
    """

    more: float
    left: int
    bare: float
    shared: int


NO_SURPLUS = Surplus(0, 0, 0, 0)
"""Of a fact whose words can't be held against the quote's, which are of another language."""


def surplus(text: str, evidence: Evidence) -> Surplus:
    """What a fact says beyond its quote."""
    said = _said(evidence)
    user = USER.match(text)
    told = roots(text[user.end() :] if user else text)
    wanted = [root for root in told if not mentions(root) and not is_month(root)]
    own = [root for root in wanted if not _is_explained(root, said)]
    quoted = roots(evidence.quote)
    left = len(quoted) - in_common(quoted, wanted)
    shared = in_common(wanted, quoted)
    scale = _characters_a_word(text)
    return Surplus(len(own) / scale, left, max(0, len(own) - left) / scale, shared)


def _said(evidence: Evidence) -> list[str]:
    """The words that a fact may take up: those that were said or are known, and who said them."""
    return roots(f"{evidence.said}\n{evidence.speaker or ''}")


def _is_explained(root: str, said: list[str]) -> bool:
    """Whether a word was said, or says by itself no more than others: "takes" and "his mother" do not."""
    return is_light(root) or bool(people_in(root)) or in_common([root], said) > 0


def _characters_a_word(text: str) -> int:
    """What counts as a word of Chinese: it has two characters as a rule, and a fact says it in other ones."""
    return 3 if language_of(text) is Language.HAN else 1
