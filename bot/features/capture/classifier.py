"""A classifier that decides whether a sentence states something lasting, and of what kind.

It is a linear model over hashed features in pure Python. Feature groups are normalised, so that large groups count no
more than small ones. benchmarks/fit_capture.py fits it. The 8-bit weights are loaded at the first use.
"""

from __future__ import annotations

import array
import functools
import itertools
import json
import math
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from memory.text.classes import ASKS, MASK, STOPS, classify, split_pieces

WEIGHTS = Path(__file__).with_name("classifier.weights")
"""A line of JSON (Header), then the compressed weights: those of the judgement, then those of each kind."""
BUCKETS = 1 << 17
KIND_BUCKETS = 1 << 13
"""A power of two less than BUCKETS, so that one hash serves both."""
MIN_KIND_PROBABILITY = 0.5
_MAX_TEXT_CHARS = 600
_NOTHING: frozenset[str] = frozenset()
_OTHER = ("_",)


class CaptureKind(StrEnum):
    """The kind of a statement. FACT is the default if the classifier is unsure."""

    FACT = "fact"
    PREFERENCE = "preference"
    CONSTRAINT = "constraint"
    DECISION = "decision"
    CORRECTION = "correction"


@dataclass(frozen=True, slots=True)
class Header:
    """The header of the weights file. Thresholds are log-odds.

    Attributes:
        at_once: Threshold for storing a statement at once.
        explicit: Threshold for statements in one of the forms of S4: "no, ...", "always ...", "must ...".
        later: Threshold for a look at the next consolidation.
        step: Value of one unit of a weight.
        kind_step: Value of one unit of a kind's weight.
    """

    origin: str
    at_once: float
    explicit: float
    later: float
    bias: float
    step: float
    kind_step: float
    kind_bias: Sequence[float]


@dataclass(frozen=True, slots=True)
class StatementClassifier:
    header: Header
    weights: array.array[int]
    kind_weights: Sequence[array.array[int]]

    def score(self, text: str) -> float:
        """Return the log-odds that `text`, one sentence with quotations masked, states something lasting."""
        return self.header.bias + self.header.step * _sum_weights(hash_features(text), self.weights)

    def is_sure(self, text: str) -> bool:
        return self.score(text) >= self.header.at_once

    def may_last(self, text: str) -> bool:
        return self.score(text) >= self.header.later

    def kind(self, text: str) -> CaptureKind:
        scores = list(self.header.kind_bias)
        groups = [{bucket & (KIND_BUCKETS - 1) for bucket in group} for group in hash_features(text)]
        for number, weights in enumerate(self.kind_weights):
            scores[number] += self.header.kind_step * _sum_weights(groups, weights)
        most = max(scores)
        # The softmax of the highest score.
        likely = 1 / sum(math.exp(score - most) for score in scores)
        kinds = list(CaptureKind)
        return kinds[scores.index(most)] if likely >= MIN_KIND_PROBABILITY else kinds[0]


def hash_features(text: str) -> list[set[int]]:
    """Return the buckets of the features of `text` by group. The hash is the same on every machine."""
    return [
        {zlib.crc32(word.encode("utf-8", "replace")) & (BUCKETS - 1) for word in group}
        for group in extract_features(text)
    ]


def _sum_weights(groups: Iterable[Collection[int]], weights: Sequence[int]) -> float:
    return sum(sum(map(weights.__getitem__, group)) / math.sqrt(len(group)) for group in groups if group)


@functools.cache
def load_classifier() -> StatementClassifier:
    line, _, packed = WEIGHTS.read_bytes().partition(b"\n")
    header, unpacked = json.loads(line), array.array("b", zlib.decompress(packed))
    if len(unpacked) != BUCKETS + len(CaptureKind) * KIND_BUCKETS:
        raise ValueError(f"{WEIGHTS.name} has {len(unpacked)} weights: fit it again (benchmarks/fit_capture.py).")
    starts = range(BUCKETS, len(unpacked), KIND_BUCKETS)
    return StatementClassifier(
        Header(**header), unpacked[:BUCKETS], [unpacked[start : start + KIND_BUCKETS] for start in starts]
    )


def extract_features(text: str) -> tuple[list[str], ...]:
    """Return the features of `text` in groups: words, parts of words, classes, and order of classes."""
    pieces = split_pieces(text[:_MAX_TEXT_CHARS])
    row = [*classify(pieces)]
    return [*_extract_words(pieces)], [*_extract_word_parts(pieces)], [*_extract_classes(row)], [*_extract_order(row)]


def _extract_words(pieces: list[str]) -> Iterator[str]:
    """Yield n-grams of words, skip-grams, and the first and last words of each clause."""
    words: list[str] = []
    for piece in pieces:
        words += piece if "\u3400" <= piece[0] <= "\u9fff" else [_fold(piece)]
    for size in (1, 2, 3):
        for at in range(len(words) - size + 1):
            yield "w" + " ".join(words[at : at + size])
    for apart in (2, 3):
        for at in range(len(words) - apart):
            yield f"s{words[at]} {words[at + apart]}"
    for is_gap, group in itertools.groupby(words, lambda word: word in STOPS or word in ASKS):
        if not is_gap:
            clause = list(group)
            for size in (1, 2, 3):
                yield "^" + " ".join(clause[:size])
            yield "$" + " ".join(clause[-2:])


def _fold(piece: str) -> str:
    return "0" if piece.isdigit() else MASK if piece[0] == MASK else piece.casefold()


def _extract_word_parts(pieces: list[str]) -> Iterator[str]:
    for piece in pieces:
        if "\u3400" <= piece[0] <= "\u9fff":
            word, longest = piece, 4
        elif piece[0].isalpha():
            word, longest = f" {piece.casefold()} ", 5
        else:
            continue
        for size in range(2, longest + 1):
            for at in range(len(word) - size + 1):
                yield "c" + word[at : at + size]


def _extract_classes(row: list[frozenset[str]]) -> Iterator[str]:
    present = sorted(frozenset().union(*row) - {"|"})
    yield from ("k" + name for name in present)
    yield from (f"p{word}+{other}" for word, other in itertools.combinations(present, 2))


def _extract_order(row: list[frozenset[str]]) -> Iterator[str]:
    """Yield sequences of classes, and the classes at the start of each clause."""
    is_start = True
    following = [*row[1:], _NOTHING, _NOTHING]
    for item, second, third in zip(row, following, following[1:], strict=False):
        if "|" in item or "?" in item:
            is_start = True
        elif is_start:
            is_start = False
            yield from ("^" + name for name in item)
            yield from _join_classes("^^", item, second)
            yield from _join_classes("^^^", item, second, third)
        yield from _join_classes("b", item, second)
        yield from (f"g{a} * {b}" for a in item for b in third)


def _join_classes(mark: str, *places: frozenset[str]) -> Iterator[str]:
    return (mark + " ".join(names) for names in itertools.product(*(place or _OTHER for place in places)))
