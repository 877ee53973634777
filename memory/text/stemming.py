"""Stemming that matches the index, so that other code can compare words with it.

FTS5 stems Latin words with Porter, like Snowball's `porter`. Lemma tables would know more forms, but take 340 MB and
two seconds for four languages.
"""

from __future__ import annotations

import functools
import re
import threading

import Stemmer

MIN_PREFIX_CHARS = 4
"""Minimum length of a stem that is searched for as a prefix."""
MIN_STEMMED_CHARS = 3
"""FTS5 doesn't stem shorter Latin words."""
_CACHE_SIZE = 1_000
_CYRILLIC = re.compile("[\u0400-\u04ff]")
_APOSTROPHE = re.compile("['’\u02bc]")
# Snowball has no Ukrainian stemmer. Most endings are the Russian ones in other letters.
_AS_RUSSIAN = str.maketrans("іїєґё", "ииеге")
_LOCK = threading.Lock()  # Stemmers are not thread-safe, and the index runs in a separate thread.


@functools.lru_cache(_CACHE_SIZE)
def stem_word(word: str) -> str:
    """Return the stem of a word of `to_plain` text as in the index."""
    if not _CYRILLIC.search(word):
        return _stem_with(word, "porter") if len(word) >= MIN_STEMMED_CHARS else word
    return _stem_with(_APOSTROPHE.sub("", word).translate(_AS_RUSSIAN), "russian")


@functools.lru_cache(_CACHE_SIZE)
def find_common_prefix(word: str, language: str) -> str | None:
    """Return the common prefix of a word's forms in one of Snowball's languages, or None if it is too short."""
    stem = _stem_with(word, language)
    return stem if len(stem) >= MIN_PREFIX_CHARS else None


def _stem_with(word: str, language: str) -> str:
    with _LOCK:
        stem: str = _load_stemmer(language).stemWord(word)
    return stem


@functools.cache
def _load_stemmer(language: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(language, 0)  # Without a cache, since stem_of and beginning_of have one.
