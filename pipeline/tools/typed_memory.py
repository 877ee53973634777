"""Tools over typed memories: memory_learn, memory_episode, memory_procedure, memory_stats, memory_consolidate (S4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from memory.search.activation import format_record
from memory.store.entry import Author, Kind, NewEntry, Priority
from pipeline.tools.toolbox import Texts, Tool, ToolContext, Writes

if TYPE_CHECKING:
    from memory.consolidation.weekly import WeeklyConsolidation
    from memory.learning.learning import Learning
    from memory.learning.procedures import Procedures
    from memory.ledger.entries import EntryStore
    from memory.search.reading import MemoryStats

LONGEST_OUTCOME = 500
MOST_TAGS = 10


def learn_tool(learning: Learning) -> Tool:
    """Stores one memory of the calling session's owner."""

    async def memory_learn(
        context: ToolContext,
        fact: Annotated[str, Field(description="one sentence")],
        kind: Literal["fact", "preference", "policy", "decision", "pitfall", "architecture"] = "fact",
        scope: Annotated[str, Field(description="glob of the paths it is about, such as src/api/**")] = "",
        priority: Literal["", "critical", "high", "medium", "normal"] = "",
        replaces: Annotated[str, Field(description="name of the memory that it corrects")] = "",
    ) -> str:
        """Remember a fact, preference or rule that comes up by itself later on."""
        new = NewEntry(
            fact,
            stem=kind,
            kind=Kind(kind),
            scope=scope,
            priority=Priority(priority) if priority else None,
            author=Author.MODEL,
        )
        learned = await learning.learn(context.owner, new, replaces.strip() or None)
        instead = f" instead of: {learned.superseded.content}" if learned.superseded else ""
        if learned.known:
            return f"known already as {learned.entry.name}, now reinforced{instead}"
        context.written.append(learned.entry.id)
        return f"saved the {learned.entry.kind} {learned.entry.name}: {learned.entry.content}{instead}"

    return Tool(memory_learn, writes=Writes.LASTING)


def episode_tool(entries: EntryStore) -> Tool:
    """Records what happened."""

    async def memory_episode(
        context: ToolContext,
        event: str,
        outcome: Annotated[str, Field(max_length=LONGEST_OUTCOME)] = "",
        tags: Annotated[Texts, Field(max_length=MOST_TAGS)] = [],  # noqa: B006  # read by pydantic, never changed
    ) -> str:
        """Record something that happened, how it ended, and tags to find it by."""
        new = NewEntry(
            event, stem="episode", kind=Kind.EPISODE, author=Author.MODEL, outcome=outcome or None, tags=tuple(tags)
        )
        entry = await entries.add(context.owner, new)
        context.written.append(entry.id)
        ended = f" Outcome: {entry.outcome}" if entry.outcome else ""
        return f"saved the episode {entry.name}: {entry.content}{ended}"

    return Tool(memory_episode, writes=Writes.LASTING)


def procedure_tool(procedures: Procedures) -> Tool:
    """Saves workflows and how they went."""

    async def memory_procedure(
        context: ToolContext,
        name: str,
        task: Annotated[str, Field(description="what it is for")] = "",
        steps: Texts = [],  # noqa: B006  # read by pydantic, never changed
        result: Annotated[Literal["", "success", "failure"], Field(description="how a run of it went")] = "",
    ) -> str:
        """Save a workflow as a name with steps, or record how a run of a saved one went."""
        success = result == "success" if result else None
        if steps or success is None:
            entry = await procedures.save(context.owner, name, task, steps, Author.MODEL, success=success)
            context.written.append(entry.id)
        else:
            entry = await procedures.record(context.owner, name, Author.MODEL, success=success)
        record = format_record(entry.success_count, entry.failure_count)
        return f"saved the workflow {entry.name} ({record}): {entry.content}"

    return Tool(memory_procedure, writes=Writes.LASTING)


def stats_tool(stats: MemoryStats) -> Tool:
    """Counts what is remembered."""

    async def memory_stats(context: ToolContext) -> str:
        """How many memories of each type there are, and how many tokens they hold."""
        counted = await stats.of(context.owner)
        lines = [f"{one.kind}: {one.entries} ({one.tokens} tokens)" for one in counted]
        return "\n".join(
            [*lines, f"in all: {sum(c.entries for c in counted)} ({sum(c.tokens for c in counted)} tokens)"]
        )

    return Tool(memory_stats)


def consolidate_tool(weekly: WeeklyConsolidation) -> Tool:
    """Tidies memory now."""

    async def memory_consolidate(context: ToolContext) -> str:
        """Merge duplicate memories, archive faded ones, promote recurring ones."""
        return (await weekly.run(context.owner)).summary or "There was nothing to tidy."

    return Tool(memory_consolidate, writes=Writes.LASTING)
