"""Tools over the Markdown files: memory_file (S0), which never changes the whole blindly, and history_search (S2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from memory.ledger.page import replacing
from memory.messages import Passage, Provenance
from memory.store.entry import Action, Author, Proposal
from pipeline.tools.cited_writes import Quote  # noqa: TC001  # the toolbox reads the annotations
from pipeline.tools.toolbox import Tool, ToolContext

if TYPE_CHECKING:
    from memory.files.history import HistoryFiles
    from memory.ledger.page import LongTermMemory
    from pipeline.tools.cited_writes import CitedWrites

MOST_RESULTS = 10
APPEND_CHARACTERS = 2_000
"""How much one call may add: MEMORY.md goes into every prompt."""


def memory_file_tool(memory: LongTermMemory, writes: CitedWrites) -> Tool:
    """The tool over the long-term memory of the calling session's owner."""

    async def memory_file(
        context: ToolContext,
        action: Literal["read", "append", "replace", "delete"],
        text: Annotated[str, Field(description="append: a new line. replace, delete: the exact part")] = "",
        replacement: Annotated[str, Field(description="replace: what the part becomes")] = "",
        quote: Quote = "",
    ) -> str:
        """Your long-term memory, MEMORY.md. Append what should be known for good; replace or delete a part."""
        if action == "read":
            return await memory.read(context.owner) or "(empty)"
        if not text.strip():
            return f"error: {action} needs text"
        if max(len(text), len(replacement)) > APPEND_CHARACTERS:
            return f"error: at most {APPEND_CHARACTERS} characters at a time"
        if action == "delete" or not (text if action == "append" else replacement).strip():
            return await _deleted(memory, writes, context, text, quote)
        new, part = (text, "") if action == "append" else (replacement, text)
        if part:
            replacing(part, new)(await memory.read(context.owner))  # refused where it does not stand there once
        checked = await writes.check(context, new.strip(), quote)
        if checked.doubt is not None:
            description = f"MEMORY.md: {part.strip()} -> {new.strip()}" if part else f"MEMORY.md: {new.strip()}"
            return await writes.propose(context, description, Proposal(action=Action.EDIT, part=part, value=new))
        if action == "append":
            await memory.append(context.owner, text, Author.MODEL)
            return f"MEMORY.md now also says: {text.strip()}"
        await memory.replace(context.owner, text, replacement, Author.MODEL)
        return f"MEMORY.md now says: {replacement}"

    return Tool(memory_file, writes=True, reads_if=lambda called: called["action"] == "read")


async def _deleted(memory: LongTermMemory, writes: CitedWrites, context: ToolContext, part: str, quote: str) -> str:
    replacing(part, "")(await memory.read(context.owner))  # refused where it does not stand there once
    if not await writes.asks_to_forget(context, part.strip(), quote):
        proposal = Proposal(action=Action.EDIT, part=part)
        return await writes.propose(context, f"MEMORY.md: - {part.strip()}", proposal)
    await memory.replace(context.owner, part, "", Author.MODEL)
    return "MEMORY.md no longer says that."


def history_search_tool(history: HistoryFiles) -> Tool:
    """The tool over the history of the calling session's owner."""

    async def history_search(
        context: ToolContext,
        query: str,
        regex: Annotated[bool, Field(description="query is a regular expression")] = False,
    ) -> str | Passage:
        """Search the history of past conversations, newest first, for all words of a query, or for a pattern."""
        results = await history.search(context.owner, query, literal=not regex, limit=MOST_RESULTS)
        if not results:
            return "nothing found"
        # a model wrote it of all that was said, others' words among it
        return Passage("\n\n".join(results), Provenance.FOREIGN)

    return Tool(history_search)
