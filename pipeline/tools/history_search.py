"""history_search: the model greps what happened in earlier months (S2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from memory.messages import Passage, worst
from pipeline.tools.toolbox import Tool, ToolContext

if TYPE_CHECKING:
    from memory.files.history import HistoryFiles

MOST_RESULTS = 10


def history_search_tool(history: HistoryFiles) -> Tool:
    """The tool over the history of the calling session's owner."""

    async def history_search(
        context: ToolContext,
        query: str,
        regex: Annotated[bool, Field(description="query is a regular expression")] = False,
    ) -> str | Passage:
        """Search the history of past conversations, newest first, for a word or a pattern."""
        found = await history.search(context.owner, query, literal=not regex, limit=MOST_RESULTS)
        if not found:
            return "nothing found"
        return Passage("\n\n".join(one.text for one in found), worst(one.provenance for one in found))

    return Tool(history_search)
