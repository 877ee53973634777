"""Activation for a message as in a turn: one search, one pool of memories, then the layers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from memory.clock import Clock
from memory.log.sessions import Transcript
from memory.search.activation import Activation, TokenCount
from memory.search.activation_candidates import ActivatedMemory
from memory.search.ranking import Ranker
from memory.search.recall import Recall
from memory.search.search import Search
from memory.store.database import Database
from memory.store.decay import Decay
from memory.text.tokens import TokenCounter
from tests.support.talk import in_utc


@dataclass(frozen=True, slots=True)
class ActivationBench:
    """Search, activation and recall on one database."""

    search: Search
    activation: Activation
    recall: Recall

    @classmethod
    def create(
        cls, database: Database, clock: Clock, decay: Decay | None = None, ranker: Ranker | None = None
    ) -> ActivationBench:
        """Create both with UTC as the zone."""
        activation = Activation(database, decay or Decay(), clock, in_utc)
        search = Search(database)
        return cls(search, activation, Recall(search, database, TokenCounter(), in_utc, ranker))

    async def select_baseline(self, owner: str, tokens: int, count: TokenCount) -> tuple[ActivatedMemory, ...]:
        """Return layer A."""
        return self.activation.select_baseline(await self.activation.read_pool(owner, tokens), tokens, count)

    async def select_contextual(
        self, owner: str, message: str, baseline: Collection[ActivatedMemory], tokens: int, count: TokenCount
    ) -> tuple[ActivatedMemory, ...]:
        """Return layers B and C for a message within the rest of the budget."""
        found = await self.recall.find(message, owner, Transcript(None, None, []))
        pool = await self.activation.read_pool(owner, tokens + sum(one.tokens for one in baseline), found)
        return self.activation.select_contextual(pool, baseline, tokens, count)
