"""The strength of memories: it fades with time and grows with use (S4)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from sqlite3 import Row

from memory.clock import from_text
from memory.store.entry import Kind

TYPE_WEIGHTS: Mapping[str, float] = {
    Kind.POLICY: 2.0,
    Kind.WORKFLOW: 1.5,
    Kind.PITFALL: 1.5,
    Kind.ARCHITECTURE: 1.5,
    Kind.DECISION: 1.2,
    Kind.PREFERENCE: 1.2,
    Kind.FACT: 1.0,
}
"""The `type_weight` of each kind. S4 gives no values; these follow its order of priorities."""
HALF_LIFE_DAYS = 90.0
"""Days after which a memory that is not reinforced has half of its score (S4)."""
THRESHOLD = 0.3
"""Minimum score of a memory that is recalled unasked. S4 gives no value. A fact without repetition falls below it after
five months."""
ARCHIVE_BELOW = 0.1
"""The weekly consolidation archives memories with a lower score (S4): a fact without repetition after ten months."""
MAX_REINFORCEMENTS = 1_000
"""The cap makes a memory that was used a lot fade within ten more half-lives."""

_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Decay:
    type_weights: Mapping[str, float] = field(default_factory=lambda: TYPE_WEIGHTS)
    half_life_days: float = HALF_LIFE_DAYS
    threshold: float = THRESHOLD
    archive_below: float = ARCHIVE_BELOW

    def score(self, kind: str, count: int, last_reinforced_at: datetime, now: datetime) -> float:
        """Return `type_weight x 0.5^(days since reinforced / half-life) x reinforcement_count` (S4)."""
        # Times in the future, left by a clock that was set back, count as now.
        days = max(0.0, (now - last_reinforced_at) / _DAY)
        return self.get_weight(kind) * math.exp2(-days / self.half_life_days) * _clamp(count)

    def count_faded(self, rows: Iterable[Row], now: datetime) -> int:
        """Return how many of the rows are too faded to be recalled unasked."""
        scores = (
            self.score(row["kind"], row["reinforcement_count"], from_text(row["last_reinforced_at"]), now)
            for row in rows
        )
        return sum(score < self.threshold for score in scores)

    def compute_fading_time(self, kind: str, count: int, last_reinforced_at: datetime) -> datetime:
        """Return the time from which a memory is not recalled unasked, unless it is reinforced before."""
        # `score` solved for the time at which it equals the threshold.
        half_lives = math.log2(self.get_weight(kind) * _clamp(count) / self.threshold)
        return last_reinforced_at + timedelta(days=half_lives * self.half_life_days)

    def get_weight(self, kind: str) -> float:
        # A newer version may have written kinds that have no weight here.
        return self.type_weights.get(kind, TYPE_WEIGHTS.get(kind, 1.0))


def compute_strength(count: int, last_reinforced_at: str, half_life_days: float) -> float:
    """Return the logarithm of the score without weight and current time, in half-lives since 2000.

    Halving over time becomes a subtraction that is equal for all entries, so their order by this value never changes
    and can be indexed.
    """
    return math.log2(_clamp(count)) + (from_text(last_reinforced_at) - _EPOCH) / _DAY / half_life_days


def _clamp(count: int) -> int:
    return min(max(1, count), MAX_REINFORCEMENTS)
