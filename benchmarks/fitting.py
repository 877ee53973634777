"""Fitting linear models over hashed signs (memory/capture/classifier.py): logistic regression with Adam's steps."""

from __future__ import annotations

import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RIDGE = 1.0
STEPS = 150
RATE = 0.05


@dataclass(frozen=True, slots=True)
class Table:
    """A sparse table: a row for each sentence, its columns and what stands there."""

    columns: NDArray[np.int64]
    values: Floats
    starts: NDArray[np.int64]
    width: int

    def times(self, weights: Floats) -> Floats:
        """What each row adds up to."""
        summed: Floats = np.add.reduceat(self.values * weights[self.columns], self.starts)
        return summed

    def slope(self, errors: Floats) -> Floats:
        """What each column adds up to, each row counting its error."""
        lengths = np.diff(self.starts, append=len(self.columns))
        return np.bincount(self.columns, self.values * np.repeat(errors, lengths), self.width).astype(np.float64)


def table(rows: Sequence[tuple[list[set[int]], Sequence[int]]], width: int, told: int = 0) -> Table:
    """Each row's buckets, each counting as Judge.score has it, and behind them what is told."""
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


def rarity(known: Table, width: int) -> Floats:
    """How much a column counts: more for what few sentences have, nothing for what one alone has."""
    often = np.bincount(known.columns, minlength=known.width)
    counts = np.where(often > 1, np.log(len(known.starts) / (1 + often)) + 1, 0.0)
    counts[width:] = 1.0
    return counts


def fitted(known: Table, wanted: Floats, weight: Floats, scale: Floats, ridge: float = RIDGE) -> Floats:
    """The weights that fit: gradient descent with Adam's steps. The last one is the bias.

    weight: what each row counts; scale: how much each column does; ridge: what large weights cost.
    """
    known = Table(known.columns, known.values * scale[known.columns], known.starts, known.width)
    weights, mean, square = (np.zeros(known.width) for _ in range(3))
    cost = np.full(known.width, ridge)
    cost[-1] = 0.0
    for step in range(1, STEPS + 1):
        likely = 1 / (1 + np.exp(-known.times(weights)))
        slope = cost * weights + known.slope(weight * (likely - wanted))
        mean = 0.9 * mean + 0.1 * slope
        square = 0.99 * square + 0.01 * slope**2
        weights -= RATE * mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.99**step)) + 1e-9)
    return weights * scale


def least(scores: Floats, wanted: NDArray[np.bool_], precision: float) -> float:
    """The threshold from which on the share of what is wanted is still `precision`."""
    order = np.argsort(-scores)
    shares = np.cumsum(wanted[order]) / np.arange(1, len(order) + 1)
    enough = np.flatnonzero(shares >= precision)
    return float(scores[order][enough[-1]]) if len(enough) else float(scores.max())


def packed(weights: Floats, step: float) -> bytes:
    """Weights as numbers of eight bits, `step` being one unit."""
    return bytes(np.clip(np.rint(weights / step), -127, 127).astype(np.int8).tobytes())
