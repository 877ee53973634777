"""Whether a sentence states something lasting, as it was learned from labelled sentences (benchmarks/fit_capture.py).

A linear model over hashed signs (memory/text/linear.py): each sign of a text adds what its bucket counts, and so does
each thing that the phrases say of it. So what a phrase took wrongly is refused, and what none names is found. The file
of weights is read once, when first asked.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memory.capture.phrases.grammar import Pattern
from memory.capture.signs import signs
from memory.text.linear import counted, hashed, read

if TYPE_CHECKING:
    import array
    from collections.abc import Iterable, Mapping, Sequence

WEIGHTS = Path(__file__).with_name("judge.weights")
"""A line of JSON (Header), then the packed weights: those of the judgement, then each pattern's."""
BUCKETS = 1 << 17
PATTERN_BUCKETS = 1 << 13
"""A power of two less than BUCKETS, so that one hash serves both."""
PATTERNS = (Pattern.FACT, Pattern.PREFERENCE, Pattern.CONSTRAINT, Pattern.DECISION, Pattern.CORRECTION)
"""What a sentence may be that no phrase names; the first where it is unsure."""
SURE_OF_PATTERN = 0.5


@dataclass(frozen=True, slots=True)
class Header:
    """What stands before the weights. Thresholds are log-odds."""

    origin: str
    at_once: float
    """From here on what a sentence states is kept at once."""
    later: float
    """From here on a sentence is worth a look at the next consolidation; judged by its words alone."""
    bias: float
    step: float
    """What one unit of a weight counts."""
    told: Mapping[str, float]
    """What each thing counts that the phrases say."""
    pattern_step: float
    pattern_bias: Sequence[float]


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges sentences."""

    header: Header
    weights: array.array[int]
    pattern_weights: Sequence[array.array[int]]

    def score(self, text: str, told: Iterable[str] = ()) -> float:
        """The log-odds that `text`, one sentence with what it quotes masked, states something lasting.

        told: what the phrases say of it, by the names in Header.told; others count nothing.
        """
        total = counted(buckets(text), self.weights)
        known = self.header.told
        return self.header.bias + self.header.step * total + sum(known.get(name, 0.0) for name in told)

    def pattern(self, text: str) -> Pattern:
        """What kind of statement `text` most likely is; a fact where that is unsure."""
        scores = list(self.header.pattern_bias)
        groups = [{bucket & (PATTERN_BUCKETS - 1) for bucket in group} for group in buckets(text)]
        for number, weights in enumerate(self.pattern_weights):
            scores[number] += self.header.pattern_step * counted(groups, weights)
        most = max(scores)
        likely = 1 / sum(math.exp(score - most) for score in scores)
        return PATTERNS[scores.index(most)] if likely >= SURE_OF_PATTERN else PATTERNS[0]


def buckets(text: str) -> list[set[int]]:
    """Where the signs of `text` are counted, by their groups."""
    return hashed(signs(text), BUCKETS)


@functools.cache
def judge() -> Judge:
    """The judge that comes with Mneme."""
    header, unpacked = read(WEIGHTS)
    if len(unpacked) != BUCKETS + len(PATTERNS) * PATTERN_BUCKETS:
        raise ValueError(f"{WEIGHTS.name} holds {len(unpacked)} weights: fit it anew (benchmarks/fit_capture.py).")
    starts = range(BUCKETS, len(unpacked), PATTERN_BUCKETS)
    return Judge(Header(**header), unpacked[:BUCKETS], [unpacked[start : start + PATTERN_BUCKETS] for start in starts])
