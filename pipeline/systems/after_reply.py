"""What runs after the reply: MemoryPersist (50), the daily note; Indexing (55), the knowledge graph and the vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.messages import in_one

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.log.daily_notes import DailyNotes
    from pipeline.lightrag import LightRag
    from pipeline.turn import Turn


class MemoryPersist:
    """Has `[HH:mm] User: ... | Assistant: ...` stand in the note of the day on which the answer was given."""

    name = "MemoryPersist"

    def __init__(self, notes: DailyNotes | None) -> None:
        self._notes = notes

    async def process(self, turn: Turn) -> None:
        """Bring the notes in step with the log. A failure is logged and never reaches the user's answer."""
        if self._notes is not None:
            await self._notes.settle(turn.session.owner)


class Indexing:
    """Adds answered exchanges to LightRAG, private ones excepted. on_change: is called when there is a new one.

    The words of the exchange need no indexing here: they have been in the store since the commit, and vectors are made
    of them beside the turns.
    """

    name = "Indexing"

    def __init__(self, graph: LightRag | None, on_change: Callable[[], None] | None = None) -> None:
        self._graph = graph
        self._said = on_change

    async def process(self, turn: Turn) -> None:
        if self._said is not None:
            self._said()
        if self._graph is None or turn.committed_as is None or turn.session.private:
            return
        answer = turn.produced[-1]
        texts = in_one(turn.user_messages), in_one([answer])
        await self._graph.index(turn.session.id, turn.committed_as, answer.created_at, *texts)
