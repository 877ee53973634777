"""Training of linear models over hashed features by logistic regression with Adam."""

from __future__ import annotations

import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    Floats = NDArray[np.float64]

RIDGE = 1.0
STEPS = 150
RATE = 0.05


@dataclass(frozen=True, slots=True)
class Table:
    """A sparse matrix with a row for each sentence."""

    columns: NDArray[np.int64]
    values: Floats
    starts: NDArray[np.int64]
    width: int

    def multiply(self, weights: Floats) -> Floats:
        """Multiply the matrix by weights."""
        summed: Floats = np.add.reduceat(self.values * weights[self.columns], self.starts)
        return summed

    def compute_gradient(self, errors: Floats) -> Floats:
        """Return the gradient of each column, given the error of each row."""
        lengths = np.diff(self.starts, append=len(self.columns))
        return np.bincount(self.columns, self.values * np.repeat(errors, lengths), self.width).astype(np.float64)


def build_table(rows: Sequence[tuple[list[set[int]], Sequence[int]]], width: int, told: int = 0) -> Table:
    """Build the matrix from each row's buckets, scaled as in the classifier, and its extra columns."""
    columns, values = array.array("q"), array.array("d")
    starts: list[int] = []
    for groups, names in rows:
        starts.append(len(columns))
        for group in groups:
            kept = {bucket & (width - 1) for bucket in group}
            columns.extend(kept)
            values.extend(len(kept) ** -0.5 for _ in kept)
        columns.extend([*(width + name for name in names), width + told])
        values.extend([1.0] * (len(names) + 1))
    return Table(np.array(columns), np.array(values), np.array(starts), width + told + 1)


def compute_rarity(known: Table, width: int) -> Floats:
    """Return the scale of each column: more for rare features, zero for those of a single sentence."""
    often = np.bincount(known.columns, minlength=known.width)
    counts = np.where(often > 1, np.log(len(known.starts) / (1 + often)) + 1, 0.0)
    counts[width:] = 1.0
    return counts


def fit(known: Table, wanted: Floats, weight: Floats, scale: Floats, ridge: float = RIDGE) -> Floats:
    """Train weights by gradient descent with Adam's steps. The last weight is the bias.

    Args:
        weight: the importance of each row.
        scale: the scale of each column.
        ridge: the L2 penalty.
    """
    known = Table(known.columns, known.values * scale[known.columns], known.starts, known.width)
    weights, mean, square = (np.zeros(known.width) for _ in range(3))
    cost = np.full(known.width, ridge)
    cost[-1] = 0.0
    for step in range(1, STEPS + 1):
        likely = 1 / (1 + np.exp(-known.multiply(weights)))
        slope = cost * weights + known.compute_gradient(weight * (likely - wanted))
        mean = 0.9 * mean + 0.1 * slope
        square = 0.99 * square + 0.01 * slope**2
        weights -= RATE * mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.99**step)) + 1e-9)
    return weights * scale


def find_threshold(scores: Floats, wanted: NDArray[np.bool_], precision: float) -> float:
    """Return the lowest threshold with at least the given precision."""
    order = np.argsort(-scores)
    shares = np.cumsum(wanted[order]) / np.arange(1, len(order) + 1)
    enough = np.flatnonzero(shares >= precision)
    return float(scores[order][enough[-1]]) if len(enough) else float(scores.max())


def quantize(weights: Floats, step: float) -> bytes:
    """Convert weights to signed bytes in units of `step`."""
    return bytes(np.clip(np.rint(weights / step), -127, 127).astype(np.int8).tobytes())
