"""Indexing (55): hands the exchange to the knowledge graph, where one is configured (S0), and says that it is there.

The words of the exchange need no indexing here: they have been in the store since the commit. Vectors are made of them
beside the turns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.messages import in_one

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.lightrag import LightRag
    from pipeline.turn import Turn


class Indexing:
    """Adds answered exchanges to LightRAG, private ones excepted. on_change: is called when there is a new one."""

    name = "Indexing"

    def __init__(self, graph: LightRag | None, on_change: Callable[[], None] | None = None) -> None:
        self._graph = graph
        self._said = on_change

    async def process(self, turn: Turn) -> None:
        """Index the exchange."""
        if self._said is not None:
            self._said()
        if self._graph is None or turn.committed_as is None or turn.session.private:
            return
        answer = turn.produced[-1]
        texts = in_one(turn.user_messages), in_one([answer])
        await self._graph.index(turn.session.id, turn.committed_as, answer.created_at, *texts)
