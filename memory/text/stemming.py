"""What the forms of a word have in common: one stemmer for the index and for all that compares words with it.

Snowball's Porter is what FTS5 makes of the index's Latin words. Chosen over lemmata from tables, which know more forms
but take 340 MB and two seconds for four languages.
"""

from __future__ import annotations

import functools
import re
import threading

import Stemmer

SHORTEST_BEGINNING = 4
"""Letters that a word must keep for its beginning to be looked for."""
SHORTEST_STEMMED = 3
"""Letters of a Latin word; FTS5 leaves shorter ones as they are."""
_MOST_KNOWN = 20_000
_CYRILLIC = re.compile("[\u0400-\u04ff]")
_APOSTROPHE = re.compile("['’\u02bc]")
# Snowball knows no Ukrainian, whose endings are mostly those of Russian in other letters
_AS_RUSSIAN = str.maketrans("іїєґё", "ииеге")
_LOCK = threading.Lock()  # a stemmer holds the word that it works on, and the index asks in a thread of its own


@functools.lru_cache(_MOST_KNOWN)
def stem_of(word: str) -> str:
    """A word of `plain` text as the index has it."""
    if not _CYRILLIC.search(word):
        return _stemmed(word, "porter") if len(word) >= SHORTEST_STEMMED else word
    return _stemmed(_APOSTROPHE.sub("", word).translate(_AS_RUSSIAN), "russian")


@functools.lru_cache(_MOST_KNOWN)
def beginning_of(word: str, language: str) -> str | None:
    """With what the forms of a word begin in a language that Snowball knows; None for a short word."""
    stem = _stemmed(word, language)
    return stem if len(stem) >= SHORTEST_BEGINNING else None


def _stemmed(word: str, language: str) -> str:
    with _LOCK:
        stem: str = _stemmer(language).stemWord(word)
    return stem


@functools.cache
def _stemmer(language: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(language, 0)  # it keeps no words: what was stemmed is kept above
