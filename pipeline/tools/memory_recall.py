"""memory_recall: the model searches everything that was said and noted (S1, S4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from memory.search import Filter
from pipeline.tools.toolbox import Tool, ToolContext

if TYPE_CHECKING:
    from memory.recall import Recall

MOST_RESULTS = 20


def memory_recall_tool(recall: Recall) -> Tool:
    """The tool over what the calling session's owner has."""

    async def memory_recall(
        context: ToolContext,
        query: Annotated[str, Field(description="a few telling words")],
        kind: Annotated[str, Field(description="only this kind, such as note, archive, message")] = "",
        limit: Annotated[int, Field(ge=1, le=MOST_RESULTS)] = 5,
    ) -> str:
        """Search earlier conversations and notes. Use it when the user asks about the past and you don't see it."""
        only = Filter(kinds=[kind] if kind else None)
        found = await recall.recall(query, context.owner, only, limit)
        return "\n".join(f"- {one.text}" for one in found) or "nothing found"

    return Tool(memory_recall)
