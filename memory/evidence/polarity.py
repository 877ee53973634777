"""Which way round a fact and its quote say what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.evidence.clauses import clause_of, is_han, parts_of, plain
from memory.evidence.lexicon import (
    AVERSE,
    CONTRAST,
    IDLE_NEGATIVE,
    NEGATIVE,
    OPPOSITES,
    OPPOSITES_HAN,
    RATHER,
    ROUTE,
)
from memory.text.forms import akin, comparable, in_common, roots

if TYPE_CHECKING:
    import re

AVERSION = 0.7
"""How surely words like "hates" and "sold" turn a statement round, where "not" does with 1."""


def turned(text: str, quote: str) -> float:
    """How much of a part of the fact is said, where one of the two negates it and the other does not."""
    if CONTRAST.search(text):
        return 0.0  # "on Tuesday, not on Monday" says both
    parts = parts_of(text)
    worst = 0.0
    for part in parts if not is_han(text) and all(len(roots(part)) > 2 for part in parts) else [text]:
        clause = clause_of(part, CONTRAST.sub(" ", quote))
        wanted, said = roots(part), roots(clause)
        if len(wanted) > 1 and _is_negative(part) != _is_negative(clause):
            share = in_common(wanted, said) / len(wanted)
            # "allergic" and "sold" turn less surely round than "not"
            worst = max(worst, share if _negates(part) != _negates(clause) else share * AVERSION)
    return worst


def _is_negative(text: str) -> bool:
    return _negates(text) or AVERSE.search(plain(text)) is not None


def _negates(text: str) -> bool:
    return NEGATIVE.search(IDLE_NEGATIVE.sub(" ", plain(text))) is not None


def is_opposite(text: str, clause: str) -> bool:
    """Whether one says "before" or "loves" where the other says "after" or "hates"."""
    if _negates(text) or _negates(clause):
        return False  # "does not like" is "hates"
    fact, said = " ".join(comparable(text)), " ".join(comparable(clause))
    for one, other in OPPOSITES:
        for mine, theirs in ((one, other), (other, one)):
            if mine.search(fact) and theirs.search(said) and not theirs.search(fact) and not mine.search(said):
                return True
    return any(
        (a in text and b in clause and b not in text and a not in clause)
        or (b in text and a in clause and a not in text and b not in clause)
        for a, b in OPPOSITES_HAN
    )


def swaps_places(text: str, quote: str) -> bool:
    """`from Lviv to Kyiv` for `from Kyiv to Lviv`, and `Bob is taller than Ann` for `Ann is taller than Bob`."""
    for pattern in (ROUTE, RATHER):
        ways = [_ends(found) for found in pattern.finditer(quote)]
        for found in pattern.finditer(text):
            a, b = _ends(found)
            if any(akin(a, d) and akin(b, c) and not akin(a, c) for c, d in ways):
                return True
    return False


def _ends(found: re.Match[str]) -> tuple[str, str]:
    ends = [part.casefold() for part in found.groups() if part]
    return ends[0], ends[1]
