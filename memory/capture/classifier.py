"""Whether a sentence states something lasting, and of what kind, as learned from labelled sentences.

A linear model over hashed features, in pure Python: each feature of a text adds what its bucket counts, and a group of
many features as much as one of few. benchmarks/fit_capture.py fits it. The file of weights, of eight bits each, is read
once, when first asked.
"""

from __future__ import annotations

import array
import functools
import itertools
import json
import math
import zlib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from memory.text.classes import ASKS, MASK, STOPS, classes, pieces_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

WEIGHTS = Path(__file__).with_name("classifier.weights")
"""A line of JSON (Header), then the packed weights: those of the judgement, then each kind's."""
BUCKETS = 1 << 17
KIND_BUCKETS = 1 << 13
"""A power of two less than BUCKETS, so that one hash serves both."""
SURE_OF_KIND = 0.5
# characters that are read of one text
_LONGEST_READ = 600
_NOTHING: frozenset[str] = frozenset()
_OTHER = ("_",)


class CaptureKind(StrEnum):
    """What kind of statement a sentence is; the first where that is unsure."""

    FACT = "fact"
    PREFERENCE = "preference"
    CONSTRAINT = "constraint"
    DECISION = "decision"
    CORRECTION = "correction"


@dataclass(frozen=True, slots=True)
class Header:
    """What stands before the weights. Thresholds are log-odds."""

    origin: str
    at_once: float
    """From here on what a sentence states is kept at once."""
    explicit: float
    """The same for what is said in one of S4's own forms: "no, ...", "always ...", "must ..."."""
    later: float
    """From here on a sentence is worth a look at the next consolidation."""
    bias: float
    step: float
    """What one unit of a weight counts."""
    kind_step: float
    kind_bias: Sequence[float]


@dataclass(frozen=True, slots=True)
class StatementClassifier:
    header: Header
    weights: array.array[int]
    kind_weights: Sequence[array.array[int]]

    def score(self, text: str) -> float:
        """The log-odds that `text`, one sentence with what it quotes masked, states something lasting."""
        return self.header.bias + self.header.step * _counted(buckets(text), self.weights)

    def is_sure(self, text: str) -> bool:
        return self.score(text) >= self.header.at_once

    def may_last(self, text: str) -> bool:
        return self.score(text) >= self.header.later

    def kind(self, text: str) -> CaptureKind:
        """What kind of statement `text` most likely is; a fact where that is unsure."""
        scores = list(self.header.kind_bias)
        groups = [{bucket & (KIND_BUCKETS - 1) for bucket in group} for group in buckets(text)]
        for number, weights in enumerate(self.kind_weights):
            scores[number] += self.header.kind_step * _counted(groups, weights)
        most = max(scores)
        # the softmax of the highest score
        likely = 1 / sum(math.exp(score - most) for score in scores)
        kinds = list(CaptureKind)
        return kinds[scores.index(most)] if likely >= SURE_OF_KIND else kinds[0]


def buckets(text: str) -> list[set[int]]:
    """Where the features of `text` are counted, by their groups; the same on every machine."""
    return [{zlib.crc32(word.encode("utf-8", "replace")) & (BUCKETS - 1) for word in group} for group in features(text)]


def _counted(groups: Iterable[Collection[int]], weights: Sequence[int]) -> float:
    return sum(sum(map(weights.__getitem__, group)) / math.sqrt(len(group)) for group in groups if group)


@functools.cache
def classifier() -> StatementClassifier:
    line, _, packed = WEIGHTS.read_bytes().partition(b"\n")
    header, unpacked = json.loads(line), array.array("b", zlib.decompress(packed))
    if len(unpacked) != BUCKETS + len(CaptureKind) * KIND_BUCKETS:
        raise ValueError(f"{WEIGHTS.name} holds {len(unpacked)} weights: fit it anew (benchmarks/fit_capture.py).")
    starts = range(BUCKETS, len(unpacked), KIND_BUCKETS)
    return StatementClassifier(
        Header(**header), unpacked[:BUCKETS], [unpacked[start : start + KIND_BUCKETS] for start in starts]
    )


def features(text: str) -> tuple[list[str], ...]:
    """The features of `text` in groups that count alike: words, parts of words, classes, their order."""
    pieces = pieces_of(text[:_LONGEST_READ])
    row = [*classes(pieces)]
    return [*_words(pieces)], [*_parts(pieces)], [*_present(row)], [*_order(row)]


def _words(pieces: list[str]) -> Iterator[str]:
    """Words, neighbours and those with one or two between; a clause's first and last words by their place."""
    words: list[str] = []
    for piece in pieces:
        words += piece if "\u3400" <= piece[0] <= "\u9fff" else [_folded(piece)]
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


def _folded(piece: str) -> str:
    return "0" if piece.isdigit() else MASK if piece[0] == MASK else piece.casefold()


def _parts(pieces: list[str]) -> Iterator[str]:
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


def _present(row: list[frozenset[str]]) -> Iterator[str]:
    """Which classes there are, and pairs of them."""
    present = sorted(frozenset().union(*row) - {"|"})
    yield from ("k" + name for name in present)
    yield from (f"p{word}+{other}" for word, other in itertools.combinations(present, 2))


def _order(row: list[frozenset[str]]) -> Iterator[str]:
    """How classes follow each other, and with which a clause begins."""
    is_start = True
    following = [*row[1:], _NOTHING, _NOTHING]
    for item, second, third in zip(row, following, following[1:], strict=False):
        if "|" in item or "?" in item:
            is_start = True
        elif is_start:
            is_start = False
            yield from ("^" + name for name in item)
            yield from _joined("^^", item, second)
            yield from _joined("^^^", item, second, third)
        yield from _joined("b", item, second)
        yield from (f"g{a} * {b}" for a in item for b in third)


def _joined(mark: str, *places: frozenset[str]) -> Iterator[str]:
    return (mark + " ".join(names) for names in itertools.product(*(place or _OTHER for place in places)))
