"""Normalised keys for comparing names and wordings, and names derived from a text."""

from __future__ import annotations

import itertools
import re
import unicodedata

from memory.messages import make_storable
from memory.text.words import STOP_WORDS

_WORD = re.compile(r"[^\W_]{2,}")
# Words that don't say what a text is about.
_COMMON = STOP_WORDS | frozenset(
    "after asked assistant conversation conversations discussed earlier into out said spoke summary talked told "
    "topics under user wants remember please запомни запамятай merke recuerda".split()
)
MAX_WORD_CHARS = 24
_SENTENCE_ENDS = " .!?…。！？"


def clean_name(name: str) -> str:
    """Return `name` with single spaces and without control characters, as it is stored."""
    spaced = " ".join(make_storable(name).split())
    if spaced.isprintable():
        return spaced
    return "".join(character for character in spaced if unicodedata.category(character) != "Cc")


def make_name_key(name: str) -> str:
    """Return a key for comparing names, without differences of case, width and spaces."""
    return " ".join(unicodedata.normalize("NFKC", clean_name(name)).casefold().split())


def make_wording_key(text: str) -> str:
    """Return a key for comparing texts, without differences of case, width, spaces and final punctuation."""
    key = make_name_key(text)
    return key.rstrip(_SENTENCE_ENDS) or key


def find_telling_words(text: str, most: int) -> list[str]:
    """Return the first `most` words of `text` that are neither common words nor numbers, in lower case."""
    words: dict[str, None] = {}
    for word in _WORD.findall(text.lower()):
        if word not in _COMMON and not word.isdigit():
            words[word[:MAX_WORD_CHARS]] = None
        if len(words) == most:
            break
    return list(words)


def find_free_name(stem: str, used: set[str]) -> str:
    """Return the first of `stem`, `stem-2`, `stem-3` ... that is not among the keys in `used`."""
    if make_name_key(stem) not in used:
        return stem
    # A name that is used hundreds of times, such as that of a topic, is normalized only once.
    prefix = make_name_key(f"{stem}-")
    number = next(number for number in itertools.count(2) if f"{prefix}{number}" not in used)
    return f"{stem}-{number}"
