"""The marks by which sentences and requests are recognised."""

from __future__ import annotations

import re

from memory.capture.classifier import load_classifier
from memory.capture.phrases import Phrases
from memory.text.classes import classify, split_pieces

MAX_CAPTURE_CHARS = 500
"""A longer sentence is left to the model."""
# A Chinese character counts as a word.
MIN_STATEMENT_WORDS = 3
# A placeholder for something that was sent but not typed, such as `[location: ...]`.
NOTE = re.compile(r"\s*\[[^\]]*\]\s*")
_MAX_OPENERS = 6
_SMILES = re.compile("[\\s,;，]*(?:[\U0001f000-\U0001faff\u2600-\u27bf\u200d\ufe0f]+|[:;=][-']?[)(DPp]+|[xX]D+)\\s*$")
_VERBS = frozenset({"BE", "HAVE", "LIVE", "WORK", "LIKE", "PREFER", "HATE", "EAT", "NAME", "MUST"})
JOINING = frozenset({"BUT", "CONT", "PLEASE", "|"})
ENDS_ASKING = re.compile(r"[?？]\W*$")
FULL_STOPS = " \t.!…。！"
EDGES = " \t,;:，；–—-"
# Word classes (memory/text/word_classes.txt)
# Words that begin a clause that asks for something. "When" and "who" are missing, since they also begin statements.
ASKING = frozenset({"CANYOU", "MAKE"})
# Words that distinguish a sentence from a bare value.
SENTENCE_WORDS = frozenset({"I", "WE", "MY", "OUR", "HAVE", "LIVE", "WORK", "LIKE", "PREFER", "HATE", "EAT", "MUST"})
QUESTION_OPENERS = frozenset({"QW", "CANYOU", "MAY"})


def find_start(text: str, phrases: Phrases) -> tuple[int, bool, bool]:
    """Return the offset after fillers, whether they object, and whether a request to remember follows."""
    at, is_mark = 0, False
    for _ in range(_MAX_OPENERS):
        if phrases.remember.match(text, at):
            return at, is_mark, True
        opener = phrases.openers.match(text, at)
        if opener is None:
            break
        at, is_mark = opener.end(), is_mark or opener["mark"] is not None
    return at, is_mark, phrases.remember.match(text, at) is not None


def find_end(text: str, start: int, end: int, phrases: Phrases) -> int:
    """Return the offset before courtesies and smileys at the end."""
    while True:
        rest = text[start:end]
        shorter = _SMILES.sub("", rest)
        shorter = phrases.closers.sub("", shorter, count=1).rstrip(EDGES)
        if shorter == rest or not shorter:
            return end
        end = start + len(shorter)


def classify_opening(text: str) -> frozenset[str]:
    """Return the classes of the first word after joining words such as "and"."""
    return next((names for names in classify(split_pieces(text)) if not names & JOINING), frozenset())


def is_statement_text(text: str) -> bool:
    """Return True if a statement follows "remember", not a shared memory such as "our trip to Rome"."""
    return load_classifier().is_sure(text) and any(names & _VERBS for names in classify(split_pieces(text)))
