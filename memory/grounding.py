"""What a model says it learned, held against what the user said: made-up things are not remembered."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memory.naming import telling_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.consolidation_answer import Fact
    from memory.facts import Learned

GROUNDED = 0.5
"""The part of a text's telling words that must have been said."""
_STEM = 5
"""Words are the same when their first letters are: endings differ between a statement and what is made of it."""
_NUMBER = re.compile(r"\d+")


class Said:
    """The words that may be repeated."""

    def __init__(self, texts: Sequence[str]) -> None:
        whole = " ".join(texts)
        self._words = {word[:_STEM] for word in telling_words(whole, 100_000)}
        self._numbers = set(_NUMBER.findall(whole))

    def grounds(self, text: str) -> bool:
        """Whether at least half of the telling words of `text` were said, and every number in it."""
        words = [word[:_STEM] for word in telling_words(text, 200)]
        if not words or not self._numbers.issuperset(_NUMBER.findall(text)):
            return False
        return sum(word in self._words for word in words) >= GROUNDED * len(words)


def grounded_facts(facts: Sequence[Fact], stated: Sequence[str]) -> list[Fact]:
    """The facts that the user's own statements bear out."""
    said = Said(stated)
    return [fact for fact in facts if said.grounds(fact.text)]


def grounded_update(memory: str, update: str, said: Sequence[str]) -> str:
    """`update` without new lines that nothing bears out: neither the long-term memory nor what was `said`."""
    known = {line.strip() for line in memory.splitlines()}
    ground = Said([memory, *said])
    kept = [
        line
        for line in update.splitlines()
        if line.strip() in known or line.lstrip().startswith("#") or not line.strip() or ground.grounds(line)
    ]
    return "\n".join(kept)


def with_learned(memory: str, learned: Sequence[Learned], *, adding: bool) -> str:
    """`memory` with what was learned: a superseded line replaced and, when `adding`, anything new at the end."""
    lines = memory.rstrip().splitlines()
    for one in learned:
        former = f"- {one.superseded}"
        stands = any(one.text in line for line in lines)
        if one.superseded and former in lines:
            at = lines.index(former)
            lines[at : at + 1] = [] if stands else [f"- {one.text}"]
        elif adding and not stands:
            lines.append(f"- {one.text}")
    return "\n".join(lines) + "\n"
