"""Requests to remember, to forget and to be reminded, and objections, in what the user wrote."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memory.capture.classifier import load_classifier
from memory.capture.phrases import STRAIGHT, select_phrases
from memory.capture.sentences import (
    ASKING,
    EDGES,
    ENDS_ASKING,
    MAX_CAPTURE_CHARS,
    QUESTION_OPENERS,
    classify_opening,
    extract_first_sentence,
    find_clauses,
    find_end,
    find_start,
    is_statement_text,
)
from memory.text.classes import classify_first

_MIN_REQUEST_CHARS = 3
# Sentences that are searched for a request to remember or to forget.
_MAX_REQUEST_SENTENCES = 4


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


def asks_for_reminder(text: str) -> bool:
    plain = text.translate(STRAIGHT)
    return select_phrases(plain).remind.search(plain) is not None


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
    is_meant = match["recalls"] is None or is_statement_text(text[start:end])
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
