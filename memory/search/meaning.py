"""How near in meaning what was found is to a question, as the ranking takes it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memory.text.words import plain

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from memory.search.search import Hit

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Meaning:
    """How near something is: in standard deviations, from how near the owner's texts are as a rule.

    whole: to the question as it stands. bare: to the question without the names of speakers. nearby: the best of the
    messages around it, to the bare question.
    """

    whole: float = 0.0
    bare: float = 0.0
    nearby: float = 0.0


@dataclass(frozen=True, slots=True)
class Meanings:
    """What comparing vectors told. found: hits that no word found.

    standing_out: by how many deviations the nearest is nearer than the nearest of so many texts would be by chance.
    Empty where nothing is known: then words alone rank.
    """

    found: Sequence[Hit] = ()
    of: Mapping[int, Meaning] = field(default_factory=dict)
    standing_out: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.of)


NOT_COMPARED = Meanings()


def key_of(hit: Hit) -> int:
    """A number for a message or an entry: its row in the index, an entry's below 0."""
    return -2 * hit.id if hit.turn_id is None else 2 * hit.id + 1


def without_names(question: str, speakers: Collection[str]) -> str:
    """A question without the speakers' names: what they are called says nothing of what they said."""
    names = {plain(name) for speaker in speakers for name in _WORD.findall(speaker)}
    bare = _WORD.sub(lambda word: "" if _stem(word.group()) in names else word.group(), question) if names else question
    left = " ".join(bare.split())
    return left if _WORD.search(left) else question


def _stem(word: str) -> str:
    return plain(re.sub(r"['’]s?$", "", word))
