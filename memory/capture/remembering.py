"""What somebody asks in so many words to have remembered."""

from __future__ import annotations

from dataclasses import dataclass

from memory.capture.capture import LONGEST_CAPTURE, starts, without_closers, without_courtesies
from memory.capture.phrases.grammar import grammar_of
from memory.capture.sentences import first_sentence

_SENTENCES = 4
"""How far into a message a request is looked for."""
_EDGES = " \t\n:,：，–—-"
_SHORTEST = 3


@dataclass(frozen=True, slots=True)
class Requested:
    """A request to remember. what: what is to be remembered. besides: the rest of the message."""

    what: str
    besides: str


def requested(text: str) -> Requested | None:
    """What one sentence of `text` asks to remember in so many words; None when none does, or it is a question."""
    rest = text
    for _ in range(_SENTENCES):
        sentence = first_sentence(rest)
        what = _what(sentence)
        if what is not None:
            before = text[: len(text) - len(rest)]
            return Requested(what, f"{before}\n{rest[len(sentence) :]}".strip())
        rest = rest[len(sentence) :]
        if not rest.strip():
            break
    return None


def _what(sentence: str) -> str | None:
    said = " ".join(sentence.split())
    plain = said.translate({ord("’"): "'", ord("ʼ"): "'"})
    grammar = grammar_of(plain)
    for start, _ in starts(plain, 0, grammar):
        found = grammar.remember.match(plain, start)
        if found is None:
            continue
        begin = found.end() + len(plain[found.end() :]) - len(plain[found.end() :].lstrip(_EDGES))
        request = grammar.requests.search(plain, begin + 1)
        end = request.start() if request else len(plain)
        kept = without_closers(plain[begin:end], grammar)
        if len(kept) < _SHORTEST or kept.endswith(("?", "？")):
            return None
        return without_courtesies(said[begin : begin + len(kept)], grammar)[:LONGEST_CAPTURE]
    return None
