"""Whether a fact follows from its evidence, as it was learned from labelled facts (benchmarks/fit_evidence.py).

A linear model over hashed signs (memory/text/linear.py). The file of weights is read once, when first asked.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memory.evidence.signs import signs
from memory.text.linear import counted, hashed, read

if TYPE_CHECKING:
    import array

    from memory.evidence.comparison import Comparison

WEIGHTS = Path(__file__).with_name("judge.weights")
BUCKETS = 1 << 18


@dataclass(frozen=True, slots=True)
class Header:
    """What stands before the weights."""

    origin: str
    confirmed: float
    """From these log-odds on a fact is taken to follow."""
    bias: float
    step: float
    """What one unit of a weight counts."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges facts."""

    header: Header
    weights: array.array[int]

    def score(self, compared: Comparison) -> float:
        """The log-odds that a fact follows from its evidence."""
        return self.header.bias + self.header.step * counted(buckets(compared), self.weights)

    def follows(self, compared: Comparison) -> bool:
        """Whether a fact is taken to follow."""
        return self.score(compared) >= self.header.confirmed


def buckets(compared: Comparison) -> list[set[int]]:
    """Where the signs of a fact beside its evidence are counted, by their groups."""
    return hashed(signs(compared), BUCKETS)


@functools.cache
def judge() -> Judge:
    """The judge that comes with Mneme."""
    header, weights = read(WEIGHTS)
    if len(weights) != BUCKETS:
        raise ValueError(f"{WEIGHTS.name} holds {len(weights)} weights: fit it anew (benchmarks/fit_evidence.py).")
    return Judge(Header(**header), weights)
