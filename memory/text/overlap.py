"""What was said, so that something else can be held against it word by word."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memory.text.naming import telling_words

if TYPE_CHECKING:
    from collections.abc import Sequence

GROUNDED = 0.5
"""The part of a text's telling words that must have been said."""
LONGEST_SUBJECT = 4
"""Words of a subject in front of a short fact."""
_STEM = 5
"""Words are the same when their first letters are: endings differ between a statement and what is made of it."""
_NUMBER = re.compile(r"\d+")
_WHOLE_NUMBER = re.compile(r"(?:(?<!\w)[-−])?\d+(?:[.,:]\d+)*")
NEGATION = re.compile(
    r"\b(?:no|not|never|none|don['’]?t|doesn['’]?t|isn['’]?t|won['’]?t|can['’]?t|without|"
    r"не|нет|нельзя|никогда|без|ні|немає|ніколи|"
    r"nicht|kein\w*|nie|niemals|ohne|nunca|jamás|sin|ne|pas|jamais|sans)\b|[不没沒无無别別]",
    re.IGNORECASE,
)
"""Words that turn around what is said."""


class Overlap:
    """The words that may be repeated."""

    def __init__(self, texts: Sequence[str]) -> None:
        whole = " ".join(texts)
        self._words = {word[:_STEM] for word in telling_words(whole, 100_000)}
        self._numbers = set(_NUMBER.findall(whole))

    def share_of(self, text: str) -> float:
        """The part of the telling words of `text` that were said; 0 for a text without any."""
        words = [word[:_STEM] for word in telling_words(text, 200)]
        return sum(word in self._words for word in words) / len(words) if words else 0.0

    def covers(self, text: str, share: float = GROUNDED) -> bool:
        """Whether at least `share` of the telling words of `text` were said."""
        return self.share_of(text) >= share

    def grounds(self, text: str) -> bool:
        """Whether at least half of the telling words of `text` were said, and every number in it."""
        return self._numbers.issuperset(_NUMBER.findall(text)) and self.covers(text)


def says_whole(line: str, fact: str) -> bool:
    """Whether `line` says all of `fact`: its telling words, whole, and its numbers, with as many negations."""
    said, meant = _whole_words(line), _whole_words(value_of(fact))
    return meant <= said and len(NEGATION.findall(line)) == len(NEGATION.findall(fact))


def _whole_words(text: str) -> set[str]:
    return set(telling_words(text, 200)) | set(_WHOLE_NUMBER.findall(text)) or {text.strip()}


def value_of(fact: str) -> str:
    """What a short fact says without the subject in front of it: `Kyiv` of `home city: Kyiv`."""
    subject, _, value = fact.partition(": ")
    return value if value and len(subject.split()) <= LONGEST_SUBJECT else fact
