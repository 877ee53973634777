"""Indexing (55): hands the exchange to the knowledge graph, where one is configured (S0).

The words of the exchange need no indexing here: they have been in the store since the commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.messages import in_one

if TYPE_CHECKING:
    from pipeline.lightrag import LightRag
    from pipeline.turn import Turn


class Indexing:
    """Adds answered exchanges to LightRAG."""

    name = "Indexing"

    def __init__(self, graph: LightRag | None) -> None:
        self._graph = graph

    async def process(self, turn: Turn) -> None:
        """Index the exchange."""
        if self._graph is None or turn.committed_as is None:
            return
        answer = turn.produced[-1]
        said = in_one(turn.user_messages), in_one([answer])
        await self._graph.index(turn.session.id, turn.committed_as, answer.created_at, *said)
