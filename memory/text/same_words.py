"""Comparison of texts word by word: equality and verbatim quotation."""

from __future__ import annotations

import itertools
import re
import unicodedata

_ELLIPSIS = re.compile(r"\s*(?:\[?(?:\.{3,}|…)\]?)\s*")
_APOSTROPHES = re.compile("['’‘ʼ`´]")
_ELIDED = re.compile(r"\b([cdjlmnst]|qu)['’](?=\w)", re.IGNORECASE)
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
# Numbers are one token. Scripts without spaces have a token per character, since quotes may start inside a run.
_TOKEN = re.compile(rf"\d+(?:[.,:/-]\d+)*|[{_UNSPACED}]|[^\W\d_{_UNSPACED}]+")
_UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED}]")


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
