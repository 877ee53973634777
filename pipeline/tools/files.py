"""Tools over the Markdown files: memory_file (S0), which never changes the whole blindly, and history_search (S2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from memory.messages import Passage, worst
from memory.store.entry import Author
from pipeline.tools.toolbox import Tool, ToolContext, Writes

if TYPE_CHECKING:
    from memory.files.history import HistoryFiles
    from memory.files.long_term import LongTermMemory

MOST_RESULTS = 10
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


def history_search_tool(history: HistoryFiles) -> Tool:
    """The tool over the history of the calling session's owner."""

    async def history_search(
        context: ToolContext,
        query: str,
        regex: Annotated[bool, Field(description="query is a regular expression")] = False,
    ) -> str | Passage:
        """Search the history of past conversations, newest first, for all words of a query, or for a pattern."""
        found = await history.search(context.owner, query, literal=not regex, limit=MOST_RESULTS)
        if not found:
            return "nothing found"
        return Passage("\n\n".join(one.text for one in found), worst(one.provenance for one in found))

    return Tool(history_search)
