"""What a fact says beyond its quote: names and words that nobody said."""

from __future__ import annotations

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


def strange_names(text: str, evidence: Evidence, language: Language) -> float:
    """How many names of a fact nobody said and nobody knows."""
    if language in (Language.GERMAN, Language.HAN):
        return 0.0  # German writes every noun large, Chinese none
    user = USER.match(text)
    rest = text[user.end() :] if user else text
    allowed = (evidence.said, evidence.speaker or "")
    return float(sum(not sounds_in(name, *allowed) for name in names_in(rest)))


def surplus(text: str, evidence: Evidence) -> tuple[float, float, int]:
    """Words of the fact that nobody said, those that no word of the quote is left for, and words of both."""
    said = roots(f"{evidence.said}\n{evidence.speaker or ''}")
    user = USER.match(text)
    told = roots(text[user.end() :] if user else text)
    wanted = [root for root in told if not mentions(root) and not is_month(root)]
    own = [root for root in wanted if not _is_explained(root, said)]
    quoted = roots(evidence.quote)
    left = len(quoted) - in_common(quoted, wanted)
    shared = in_common(wanted, quoted)
    # a word of Chinese has two characters as a rule, and a fact says it in other ones
    scale = 3 if language_of(text) is Language.HAN else 1
    return len(own) / scale, max(0, len(own) - left) / scale, shared


def _is_explained(root: str, said: list[str]) -> bool:
    """Whether a word was said, or says by itself no more than others: "takes" and "his mother" do not."""
    return is_light(root) or bool(people_in(root)) or in_common([root], said) > 0
