"""Requests to remember and to forget in what the user wrote."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from bot.features.capture.classifier import load_classifier
from bot.features.capture.phrases import select_phrases
from memory.text.classes import classify, classify_first, split_pieces
from memory.text.phrases import HAN, STRAIGHT
from memory.text.sentences import (
    EDGES,
    ENDS_ASKING,
    QUESTION_OPENERS,
    classify_opening,
    extract_first_sentence,
    find_end,
    find_start,
)

# Words that begin a clause that asks for something. "When" and "who" are missing, since they also begin statements.
ASKING = frozenset({"CANYOU", "MAKE"})
_VERBS = frozenset({"BE", "HAVE", "LIVE", "WORK", "LIKE", "PREFER", "HATE", "EAT", "NAME", "MUST"})
_MIN_REQUEST_CHARS = 3
MAX_CAPTURE_CHARS = 500
"""A longer request is cut."""
# Sentences that are searched for a request to remember or to forget.
_MAX_REQUEST_SENTENCES = 4
_MAX_CLAUSES = 12
_GAP = re.compile(
    rf"(?P<mark>[,;](?!\d)\s*|[，；、—–]+\s*|\s-\s|(?<=[{HAN}])\s+(?=[{HAN}]))|\s+(?=(?P<word>[^\W\d_]+))"
)


@dataclass(frozen=True, slots=True)
class MemoryRequest:
    """A request to remember or to forget.

    Attributes:
        what: The thing to remember or to forget, in the user's words.
        rest: The rest of the message.
    """

    what: str
    rest: str


def find_remember_request(text: str) -> MemoryRequest | None:
    """Return the explicit request to remember something in `text`, or None."""
    return _find_request(text, _extract_wanted_memory)


def is_request_for_all(text: str) -> bool:
    return _find_request(text, lambda sentence: _extract_wanted_memory(sentence, for_all=True)) is not None


def find_forget_request(text: str) -> MemoryRequest | None:
    return _find_request(text, _extract_unwanted_memory)


def _find_request(text: str, read: Callable[[str], str | None]) -> MemoryRequest | None:
    rest = text
    for _ in range(_MAX_REQUEST_SENTENCES):
        sentence = extract_first_sentence(rest)
        what = read(" ".join(sentence.split()))
        if what is not None:
            before = text[: len(text) - len(rest)]
            return MemoryRequest(what, f"{before}\n{rest[len(sentence) :]}".strip())
        rest = rest[len(sentence) :]
        if not rest.strip():
            break
    return None


def trim_requests(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without clauses at its ends that only ask for something, unless it is one question."""
    if ENDS_ASKING.search(text[:end]) and classify_first(text[start:end]) & QUESTION_OPENERS:
        return start, end  # "May I eat nuts, with my allergy?"
    spans = [(start + first, start + last) for first, last in find_clauses(text[start:end])]
    while len(spans) > 1 and _only_asks(text[slice(*spans[-1])]):
        spans.pop()
    while len(spans) > 1 and _only_asks(text[slice(*spans[0])]):
        spans.pop(0)
    first, last = spans[0][0], spans[-1][1]
    rest = text[first:last]
    return first, first + len(rest.rstrip(EDGES))


def _only_asks(clause: str) -> bool:
    if ENDS_ASKING.search(clause):
        return True
    first = classify_opening(clause)
    if not first & ASKING or select_phrases(clause).standing.search(clause):
        return False
    return "CANYOU" in first or not load_classifier().is_sure(clause)


def _extract_wanted_memory(sentence: str, *, for_all: bool = False) -> str | None:
    """Return the text that a typed sentence asks to remember, or None. `for_all` accepts only family requests."""
    text = sentence.translate(STRAIGHT)
    phrases = select_phrases(text)
    at = find_start(text, phrases)[0]
    match = phrases.remember.match(text, at)
    if match is None or (for_all and match["for_all"] is None):
        return None
    spans = find_clauses(text[match.end() :])
    while len(spans) > 1 and _only_asks(text[match.end() :][slice(*spans[-1])]):
        spans.pop()
    start, end = match.end(), match.end() + spans[-1][1]
    end = find_end(text, start, end, phrases)
    what = sentence[start:end].strip(EDGES)
    is_meant = match["recalls"] is None or _is_statement(text[start:end])
    is_request = is_meant and len(what) >= _MIN_REQUEST_CHARS and not ENDS_ASKING.search(what)
    return what[:MAX_CAPTURE_CHARS] if is_request else None


def _extract_unwanted_memory(sentence: str) -> str | None:
    text = sentence.translate(STRAIGHT)
    phrases = select_phrases(text)
    start, _is_mark, asks_to_remember = find_start(text, phrases)
    match = None if asks_to_remember else phrases.forget.match(text, start)
    if match is None:
        return None
    what = sentence[match.end() : find_end(text, match.end(), len(text), phrases)].strip(EDGES)
    return what[:MAX_CAPTURE_CHARS] if what and not ENDS_ASKING.search(what) else None


def _is_statement(text: str) -> bool:
    """Return True if a statement follows "remember", not a shared memory such as "our trip to Rome"."""
    return load_classifier().is_sure(text) and any(names & _VERBS for names in classify(split_pieces(text)))


def find_clauses(text: str) -> list[tuple[int, int]]:
    """Return the spans of a sentence's clauses, which are separated by punctuation or by words such as "and".

    The punctuation belongs to neither clause, the joining word to the clause after it.
    """
    ends, starts = [], [0]
    for gap in _GAP.finditer(text):
        is_joined = gap["word"] is not None and "BUT" in next(classify([gap["word"]]), ())
        if gap.start() > starts[-1] and (gap["mark"] or is_joined):
            ends.append(gap.start())
            starts.append(gap.end())
    spans = list(zip(starts, [*ends, len(text)], strict=True))
    return spans if len(spans) <= _MAX_CLAUSES else [(0, len(text))]
