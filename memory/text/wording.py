"""Comparison of names and wordings: keys without differences of form, equality word by word, and quotation."""

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

_ELLIPSIS = re.compile(r"\s*(?:\[?(?:\.{3,}|…)\]?)\s*")
_APOSTROPHES = re.compile("['’‘ʼ`´]")
_ELIDED = re.compile(r"\b([cdjlmnst]|qu)['’](?=\w)", re.IGNORECASE)
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
# Numbers are one token. Scripts without spaces have a token per character, since quotes may start inside a run.
_TOKEN = re.compile(rf"\d+(?:[.,:/-]\d+)*|[{_UNSPACED}]|[^\W\d_{_UNSPACED}]+")
_UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED}]")


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


def split_comparable(text: str) -> list[str]:
    """Return the words and numbers of `text`, without differences of case, width, spaces and punctuation."""
    apart = _ELIDED.sub(r"\1 ", text)
    plain = _APOSTROPHES.sub("", unicodedata.normalize("NFKC", apart).casefold().replace("ё", "е"))
    return _TOKEN.findall(plain)


def has_same_words(text: str, other: str) -> bool:
    """Return True if two texts differ only in case, width, spaces and punctuation."""
    return split_comparable(text) == split_comparable(other)


def is_quoted_from(quote: str, text: str) -> bool:
    """Return True if `text` contains `quote` verbatim. An ellipsis in the quote matches any text."""
    words = split_comparable(text)
    parts = [part for part in (split_comparable(piece) for piece in _ELLIPSIS.split(quote)) if part]
    start = 0
    for part in parts:
        place = _find(part, words, start)
        if place is None:
            return False
        start = place + len(part)
    return bool(parts)


def is_unspaced(character: str) -> bool:
    return _UNSPACED_CHARACTER.match(character) is not None


def _find(part: list[str], words: list[str], start: int) -> int | None:
    places = (at for at, word in itertools.islice(enumerate(words), start, None) if word == part[0])
    return next((at for at in places if words[at : at + len(part)] == part), None)
