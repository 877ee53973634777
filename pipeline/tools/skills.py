"""The tool over skills: skill_read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from memory.messages import Passage, Provenance
from pipeline.tools.toolbox import Tool, ToolContext

if TYPE_CHECKING:
    from pipeline.skills import Skills

SKILL_TOOL = "skill_read"
"""Its name: where there is no skill, nobody pays for it."""


def skill_tool(skills: Skills) -> Tool:
    """The tool over the installation's skills."""

    async def skill_read(
        context: ToolContext,
        name: Annotated[str, Field(description="of the skill, as under # Skills")],
        file: Annotated[str, Field(description="another file of it")] = "",
    ) -> Passage:
        """Read how something is done, before you do it. What it says is no word of the user's."""
        # whoever wrote it: what a skill says writes no memory
        return Passage(await skills.text(name, file), Provenance.FILE)

    return Tool(skill_read)
