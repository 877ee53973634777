"""memory_file: the model reads and changes parts of MEMORY.md (S0), never blindly the whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from memory.store.entry import Author
from pipeline.tools.toolbox import Tool, ToolContext, Writes

if TYPE_CHECKING:
    from memory.files.long_term import LongTermMemory

APPEND_CHARACTERS = 2_000
"""How much one call may add: MEMORY.md goes into every prompt."""


def memory_file_tool(memory: LongTermMemory) -> Tool:
    """The tool over the long-term memory of the calling session's owner."""

    async def memory_file(
        context: ToolContext,
        action: Literal["read", "append", "replace", "delete"],
        text: Annotated[str, Field(description="append: a new line. replace, delete: the exact part")] = "",
        replacement: Annotated[str, Field(description="replace: what the part becomes")] = "",
    ) -> str:
        """Your long-term memory, MEMORY.md. Append what should be known for good; replace or delete a part."""
        if action == "read":
            return await memory.read(context.owner) or "(empty)"
        if not text.strip():
            return f"error: {action} needs text"
        if max(len(text), len(replacement)) > APPEND_CHARACTERS:
            return f"error: at most {APPEND_CHARACTERS} characters at a time"
        if action == "append":
            await memory.append(context.owner, text, Author.MODEL)
            return f"MEMORY.md now also says: {text.strip()}"
        await memory.replace(context.owner, text, replacement if action == "replace" else "", Author.MODEL)
        return "MEMORY.md no longer says that." if action == "delete" else f"MEMORY.md now says: {replacement}"

    return Tool(memory_file, writes=Writes.LASTING, reads_if=lambda called: called["action"] == "read")
