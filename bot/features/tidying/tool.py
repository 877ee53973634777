"""The tool that tidies the memory on demand, without waiting for the weekly run."""

from __future__ import annotations

from bot.features.tidying.tidying import WeeklyConsolidation
from pipeline.tools.toolbox import Tool, ToolContext


def consolidate_tool(weekly: WeeklyConsolidation) -> Tool:
    async def memory_consolidate(context: ToolContext) -> str:
        """Merge duplicate memories, archive faded ones, promote recurring ones."""
        return (await weekly.run(context.owner)).summary or "There was nothing to tidy."

    return Tool(memory_consolidate, writes=True)
