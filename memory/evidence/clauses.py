"""The parts of what was said, and which of them a fact is most like."""

from __future__ import annotations

from memory.evidence.lexicon import CLAUSES
from memory.text.forms import akin, comparable, in_common, roots, unelided
from memory.text.languages import Language, language_of


def clause_of(text: str, quote: str) -> str:
    """The parts of a quote that a fact is most like; the whole quote where that is all of them, or none."""
    parts = parts_of(quote)
    if len(parts) < 2:
        return quote
    wanted = roots(text)
    shares = [in_common(roots(part), wanted) for part in parts]
    best = max(shares)
    if best == 0:
        return quote
    return " ".join(part for part, share in zip(parts, shares, strict=True) if share == best)


def parts_of(text: str) -> list[str]:
    """The clauses of a text, in order."""
    pieces = text.split() if is_han(text) else [text]
    return [part for piece in pieces for part in CLAUSES.split(piece) if part and part.strip()]


def plain(text: str) -> str:
    """A text as the patterns of the lexicon take it."""
    return text if is_han(text) else " ".join(comparable(unelided(text)))


def content(text: str) -> list[str]:
    """The words that tell something and the numbers of a text, each once, in order."""
    text = unelided(text)
    telling = set(roots(text))
    return [word for word in dict.fromkeys(comparable(text)) if word[0].isdigit() or word in telling]


def same(one: str, other: str) -> bool:
    """Whether two words are forms of one, or two numbers the same."""
    return one == other or (not (one[0].isdigit() or other[0].isdigit()) and akin(one, other))


def is_han(text: str) -> bool:
    """Whether a text is Chinese or Japanese, without gaps between its words."""
    return language_of(text) is Language.HAN
