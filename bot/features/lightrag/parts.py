"""What LightRAG adds to a turn: a part of the prompt, and a step that sends it each exchange."""

from __future__ import annotations

from bot.features.lightrag.client import LightRag
from memory.messages import join_messages
from pipeline.prompt.part import Draft, quoted_section
from pipeline.prompt.prompts import RELEVANT_HEADER
from pipeline.turn import Turn


class GraphPart:
    """Adds what LightRAG finds for the message. It stores queries, so it never sees a private talk."""

    def __init__(self, graph: LightRag) -> None:
        self._graph = graph

    async def add_to(self, draft: Draft) -> None:
        if draft.new_messages and not draft.session.private:
            draft.volatile += quoted_section(RELEVANT_HEADER, await self._graph.query(draft.question), draft.budget)


class GraphIndexing:
    """Sends answered exchanges to LightRAG, except those of private talks."""

    name = "GraphIndexing"

    def __init__(self, graph: LightRag) -> None:
        self._graph = graph

    async def process(self, turn: Turn) -> None:
        if turn.committed_as is None or turn.session.private:
            return
        answer = turn.produced[-1]
        texts = join_messages(turn.user_messages), join_messages([answer])
        await self._graph.index(turn.session.id, turn.committed_as, answer.created_at, *texts)
