"""How strong a memory is: it fades with time and grows with use (S4). The constants stand here and nowhere else."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from memory.clock import from_text
from memory.store.entry import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import aiosqlite

    from memory.store.database import Database, Row


TYPE_WEIGHTS: Mapping[str, float] = {
    Kind.POLICY: 2.0,
    Kind.WORKFLOW: 1.5,
    Kind.PITFALL: 1.5,
    Kind.ARCHITECTURE: 1.5,
    Kind.DECISION: 1.2,
    Kind.PREFERENCE: 1.2,
    Kind.FACT: 1.0,
}
"""What a kind counts by. S4 has the factor without its values; these follow the order of its priorities."""
HALF_LIFE_DAYS = 90.0
"""Days in which a memory that is not reinforced loses half of its score (S4)."""
THRESHOLD = 0.3
"""The score from which on a memory activates by itself. S4 has a threshold without its value: a fact that was said
once passes it after five months."""
ARCHIVE_BELOW = 0.1
"""The score under which the weekly consolidation archives a memory (S4): for such a fact after ten months."""
MOST_REINFORCED = 1_000
"""Where the count of reinforcements stops: ten half-lives, so that what was once used a lot can still fade."""

_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Decay:
    type_weights: Mapping[str, float] = field(default_factory=lambda: TYPE_WEIGHTS)
    half_life_days: float = HALF_LIFE_DAYS
    threshold: float = THRESHOLD
    archive_below: float = ARCHIVE_BELOW

    def score(self, kind: str, count: int, last_reinforced_at: datetime, now: datetime) -> float:
        """`type_weight x 0.5^(days since reinforced / half-life) x reinforcement_count` (S4)."""
        # a clock that was set back leaves moments in the future: they count as now
        days = max(0.0, (now - last_reinforced_at) / _DAY)
        return self.weight(kind) * math.exp2(-days / self.half_life_days) * _bounded(count)

    def count_faded(self, rows: Iterable[Row], now: datetime) -> int:
        """Return how many of some entries, as rows, no longer come up unasked."""
        scores = (
            self.score(row["kind"], row["reinforcement_count"], from_text(row["last_reinforced_at"]), now)
            for row in rows
        )
        return sum(score < self.threshold for score in scores)

    def fades_on(self, kind: str, count: int, last_reinforced_at: datetime) -> datetime:
        """When a memory that is not reinforced any more no longer comes up by itself."""
        # `score` solved for the time at which it has fallen to the threshold
        half_lives = math.log2(self.weight(kind) * _bounded(count) / self.threshold)
        return last_reinforced_at + timedelta(days=half_lives * self.half_life_days)

    def weight(self, kind: str) -> float:
        # a kind that a newer version wrote has no weight here
        return self.type_weights.get(kind, TYPE_WEIGHTS.get(kind, 1.0))


class Reinforcement:
    """Counts the uses of entries. It is bookkeeping, no change of memory: /undo passes it over."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def recalled(self, entry_ids: Iterable[int]) -> None:
        """Count one use of each of these entries."""
        used = [(MOST_REINFORCED, entry_id) for entry_id in entry_ids]
        if used:
            async with self._database.transaction() as connection:
                await connection.executemany(
                    "UPDATE entries SET reinforcement_count = min(reinforcement_count + 1, ?) WHERE id = ?", used
                )


async def reinforce(connection: aiosqlite.Connection, entry_id: int, now: str) -> None:
    """Count an explicit request to remember an entry: it decays from now on, and comes back if it was archived."""
    await connection.execute(
        "UPDATE entries SET reinforcement_count = min(reinforcement_count + 1, ?), last_reinforced_at = ?,"
        " archived_at = NULL WHERE id = ?",
        (MOST_REINFORCED, now, entry_id),
    )


def decayed_score(count: int, last_reinforced_at: str, half_life_days: float) -> float:
    """A score that can be stored: its logarithm without weight and present moment, in half-lives since 2000."""
    # halving with time becomes subtracting time, which is the same for all entries: they sort by this at any moment, so
    # an index can
    return math.log2(_bounded(count)) + (from_text(last_reinforced_at) - _EPOCH) / _DAY / half_life_days


def _bounded(count: int) -> int:
    return min(max(1, count), MOST_REINFORCED)
