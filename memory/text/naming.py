"""Names and wordings: when two are the same, and how a name is made from a text."""

from __future__ import annotations

import re
import unicodedata

from memory.messages import storable
from memory.text.words import STOP_WORDS

_WORD = re.compile(r"[^\W_]{2,}")
# words that don't say what a text is about
_COMMON = STOP_WORDS | frozenset(
    "after asked assistant conversation conversations discussed earlier into out said spoke summary talked told "
    "topics under user wants remember please запомни запамятай merke recuerda".split()
)
LONGEST_WORD = 24
_AT_THE_END = " .!?…。！？"


def plain_name(name: str) -> str:
    """`name` as it is stored: with single spaces and without control characters."""
    spaced = " ".join(storable(name).split())
    if spaced.isprintable():
        return spaced
    return "".join(character for character in spaced if unicodedata.category(character) != "Cc")


def name_key(name: str) -> str:
    """What two names that are the same have in common: case, width and spaces don't count."""
    return " ".join(unicodedata.normalize("NFKC", plain_name(name)).casefold().split())


def wording(text: str) -> str:
    """What two texts in the same words have in common: case, width, spaces and how they end don't count."""
    key = name_key(text)
    return key.rstrip(_AT_THE_END) or key


def telling_words(text: str, most: int) -> list[str]:
    """The first words of `text` that say what it is about, in lower case."""
    words: dict[str, None] = {}
    for word in _WORD.findall(text.lower()):
        if word not in _COMMON and not word.isdigit():
            words[word[:LONGEST_WORD]] = None
        if len(words) == most:
            break
    return list(words)


def free_name(stem: str, used: set[str]) -> str:
    """`stem`, or `stem-2`, `stem-3` ... whichever is not among the keys in `used`."""
    name, number = stem, 1
    while name_key(name) in used:
        number += 1
        name = f"{stem}-{number}"
    return name
