"""Tools for notes, typed memories, MEMORY.md and the conversation history."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from memory.facts.fact import Doubt, Fact, KnownMemory
from memory.facts.fact_learner import FactLearner
from memory.facts.learning import Learning, Procedures, format_workflow, split_steps
from memory.files.history import HistoryFiles
from memory.ledger.entries import EntryStore
from memory.ledger.long_term import LongTermMemory
from memory.ledger.page import replacing
from memory.messages import Passage, Provenance
from memory.search.activation_candidates import format_record
from memory.search.memory_reader import MemoryStats
from memory.store.entry import TYPED_KINDS, Action, Author, Entry, Kind, NewEntry, Priority, Proposal
from pipeline.tools.cited_writes import (
    CitedWrites,
    Quote,  # Not under TYPE_CHECKING: the toolbox evaluates annotations.
)
from pipeline.tools.toolbox import Texts, Tool, ToolContext

MAX_OUTCOME_CHARS = 500
MAX_TAGS = 10


def note_tools(entries: EntryStore, writes: CitedWrites) -> list[Tool]:
    notes = _Notes(entries, writes)
    operations = (notes.note_add, notes.note_write, notes.note_rename, notes.note_alias, notes.note_remove)
    return [Tool(operation, writes=True) for operation in operations]


class _Notes:
    """The note tools. A change of an existing note needs a quote that asks for it; otherwise it is only proposed."""

    def __init__(self, entries: EntryStore, writes: CitedWrites) -> None:
        self._entries = entries
        self._writes = writes

    async def note_add(self, context: ToolContext, name: str, content: str, quote: Quote = "") -> str:
        """Keep a note that can be found later by search. Short, telling name."""
        checked = await self._writes.check_quote(context, quote, content)
        new = NewEntry(
            content, name=name, author=Author.MODEL, trusted=checked.trusted, source_message_id=checked.message_id
        )
        act = f"The user asks to keep this note, or says this: {content}"
        if checked.quote is None or not await self._writes.has_asked_for(context, act, quote):
            return await self._writes.store_unconfirmed(context, new, Doubt.NO_SOURCE)
        entry = await self._entries.add(context.owner, new)
        context.note_written(entry)
        return f"saved the note {entry.name}: {entry.content}"

    async def note_write(self, context: ToolContext, name: str, content: str, quote: Quote = "") -> str:
        """Replace what a note says."""
        if proposed := await self._propose_unless_asked(
            context, name, Action.WRITE, content, f"{name}: {content}", quote
        ):
            return proposed
        entry = await self._entries.write(context.owner, name, content, Author.MODEL)
        return f"the note {entry.name} now says: {entry.content}"

    async def note_rename(self, context: ToolContext, name: str, new_name: str, quote: Quote = "") -> str:
        """Rename a note or archive; the old name still works."""
        if proposed := await self._propose_unless_asked(
            context, name, Action.RENAME, new_name, f"{name} -> {new_name}", quote
        ):
            return proposed
        entry = await self._entries.rename(context.owner, name, new_name, Author.MODEL)
        return f"it is now called {entry.name}, also {', '.join(entry.aliases)}"

    async def note_alias(self, context: ToolContext, name: str, alias: str, quote: Quote = "") -> str:
        """Alias a note or archive."""
        if proposed := await self._propose_unless_asked(context, name, Action.ALIAS, alias, f"{name} = {alias}", quote):
            return proposed
        entry = await self._entries.alias(context.owner, name, alias, Author.MODEL)
        return f"{entry.name} is also called {', '.join(entry.aliases)}"

    async def note_remove(self, context: ToolContext, name: str, quote: Quote = "") -> str:
        """Delete a note or archive; the user can undo it."""
        entry = await self._entries.get(context.owner, name)
        text = f"{entry.name}: {entry.content}"
        if not await self._writes.has_asked_to_forget(context, text, quote):
            return await self._writes.propose(context, f"- {text}", Proposal(action=Action.REMOVE, entry=entry.id))
        removed = await self._entries.remove(context.owner, name, Author.MODEL, is_asked=True)
        return f"removed the note {removed.name}"

    async def _propose_unless_asked(
        self, context: ToolContext, name: str, action: Action, value: str, change: str, quote: str
    ) -> str | None:
        if (await self._writes.check(context, change, quote)).doubt is None:
            return None
        entry = await self._entries.get(context.owner, name)
        return await self._writes.propose(context, change, Proposal(action=action, entry=entry.id, value=value))


def learn_tool(learning: Learning, facts: FactLearner, entries: EntryStore, writes: CitedWrites) -> Tool:
    async def memory_learn(
        context: ToolContext,
        fact: Annotated[str, Field(description="one sentence")],
        kind: Literal["fact", "preference", "policy", "decision", "pitfall", "architecture", "workflow"] = "fact",
        scope: Annotated[str, Field(description="glob of the paths it is about, such as src/api/**")] = "",
        priority: Literal["", "critical", "high", "medium", "normal"] = "",
        replaces: Annotated[str, Field(description="name of the memory that it corrects")] = "",
        quote: Quote = "",
    ) -> str:
        """Remember a fact, preference, rule or workflow that comes up by itself later on."""
        former = await entries.get(context.owner, replaces) if replaces.strip() else None
        # The verification decides what the fact replaces or repeats, even if the model names no memory.
        related = await facts.find_related(context.owner, [Fact("", fact, Kind(kind))], sys.maxsize)
        known = {memory.entry.id: memory for memory in related if memory.entry is not None}
        named = {former.id: KnownMemory(former.content, former.subject, former)} if former is not None else {}
        memories = [*(named | known).values()]
        checked = await writes.check(context, fact, quote, memories, Kind(kind))
        message_id = checked.message.id if checked.message is not None else None
        new = NewEntry(
            fact,
            stem=kind,
            kind=Kind(kind),
            scope=scope,
            priority=Priority(priority) if priority else None,
            author=Author.MODEL,
            quote=checked.quote,
            source_message_id=message_id,
            steps=split_steps(fact) if kind == "workflow" else (),
        )
        if checked.doubt is not None:
            gives_way = Proposal(replaces=(former.id,)).to_text() if former is not None else None
            return await writes.store_unconfirmed(context, replace(new, proposal=gives_way), checked.doubt)
        replaced, repeated = _filter_typed(checked.replaces), _filter_typed(checked.repeats)
        if former is not None and former in repeated:  # The model only corrects the wording.
            replaced = [former, *replaced]
        elif repeated and repeated[0].kind == kind:
            new = replace(new, content=repeated[0].content, scope=repeated[0].scope)
        learned = await learning.learn(context.owner, new, *(entry.name for entry in replaced))
        instead = f" instead of: {learned.superseded.content}" if learned.superseded else ""
        if learned.known:
            return f"known already as {learned.entry.name}, now reinforced{instead}"
        context.note_written(learned.entry)
        return f"saved the {learned.entry.kind} {learned.entry.name}: {learned.entry.content}{instead}"

    return Tool(memory_learn, writes=True)


def _filter_typed(memories: Sequence[KnownMemory]) -> list[Entry]:
    """Return only the typed memories. A learned fact never replaces notes or lines of MEMORY.md."""
    return [memory.entry for memory in memories if memory.entry is not None and memory.entry.kind in TYPED_KINDS]


def episode_tool(entries: EntryStore, writes: CitedWrites) -> Tool:
    async def memory_episode(
        context: ToolContext,
        event: str,
        outcome: Annotated[str, Field(max_length=MAX_OUTCOME_CHARS)] = "",
        tags: Annotated[Texts, Field(max_length=MAX_TAGS)] = [],  # noqa: B006  # pydantic reads it, and nothing changes it.
        quote: Quote = "",
    ) -> str:
        """Record something that happened, how it ended, and tags to find it by."""
        checked = await writes.check_quote(context, quote, f"{event} {outcome}")
        new = NewEntry(
            event,
            stem="episode",
            kind=Kind.EPISODE,
            author=Author.MODEL,
            outcome=outcome or None,
            tags=tuple(tags),
            trusted=checked.trusted,
            source_message_id=checked.message_id,
        )
        act = f"The user asks to record this, or says that it happened: {event} {outcome}".rstrip()
        if checked.quote is None or not await writes.has_asked_for(context, act, quote):
            return await writes.store_unconfirmed(context, new, Doubt.NO_SOURCE)
        entry = await entries.add(context.owner, new)
        context.note_written(entry)
        ended = f" Outcome: {entry.outcome}" if entry.outcome else ""
        return f"saved the episode {entry.name}: {entry.content}{ended}"

    return Tool(memory_episode, writes=True)


def procedure_tool(procedures: Procedures, entries: EntryStore, writes: CitedWrites) -> Tool:
    async def memory_procedure(
        context: ToolContext,
        name: str,
        task: Annotated[str, Field(description="what it is for")] = "",
        steps: Texts = [],  # noqa: B006  # pydantic reads it, and nothing changes it.
        result: Annotated[Literal["", "success", "failure"], Field(description="how a run of it went")] = "",
        quote: Quote = "",
    ) -> str:
        """Save a workflow as a name with steps, or record how a run of a saved one went."""
        success = result == "success" if result else None
        if steps or success is None:
            content = format_workflow(task, steps)
            checked = await writes.check(context, f"{name}: {content}", quote, kind=Kind.WORKFLOW)
            if checked.doubt is not None:
                return await add_unconfirmed(context, name, content, steps, checked.doubt)
            entry = await procedures.save(context.owner, name, task, steps, Author.MODEL, success=success)
            context.written.append(entry.id)
        elif (await writes.check(context, f"{name}: {result}", quote)).doubt is not None:
            holder = await entries.get(context.owner, name)
            proposal = Proposal(action=Action.RECORD, entry=holder.id, value=result)
            return await writes.propose(context, f"{holder.name}: {result}", proposal)
        else:
            entry = await procedures.record(context.owner, name, Author.MODEL, success=success)
        record = format_record(entry.success_count, entry.failure_count)
        return f"saved the workflow {entry.name} ({record}): {entry.content}"

    async def add_unconfirmed(context: ToolContext, name: str, content: str, steps: Sequence[str], doubt: Doubt) -> str:
        holder = await entries.find(context.owner, name)
        if holder is not None:
            proposal = Proposal(action=Action.WRITE, entry=holder.id, value=content, steps=tuple(steps))
            return await writes.propose(context, f"{holder.name}: {content}", proposal)
        new = NewEntry(content, name=name, kind=Kind.WORKFLOW, steps=tuple(steps))
        return await writes.store_unconfirmed(context, new, doubt)

    return Tool(memory_procedure, writes=True)


def stats_tool(stats: MemoryStats) -> Tool:
    async def memory_stats(context: ToolContext) -> str:
        """How many memories of each type there are, and how many tokens they hold."""
        counted = await stats.count_by_kind(context.owner)
        lines = [f"{kind_stats.kind}: {kind_stats.entries} ({kind_stats.tokens} tokens)" for kind_stats in counted]
        return "\n".join(
            [*lines, f"in all: {sum(c.entries for c in counted)} ({sum(c.tokens for c in counted)} tokens)"]
        )

    return Tool(memory_stats)


MAX_HISTORY_RESULTS = 10
MAX_EDIT_CHARS = 2_000
"""Limit for one change of MEMORY.md, since every prompt contains the file."""


def memory_file_tool(memory: LongTermMemory, writes: CitedWrites) -> Tool:
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
        if max(len(text), len(replacement)) > MAX_EDIT_CHARS:
            return f"error: at most {MAX_EDIT_CHARS} characters at a time"
        if action == "delete" or not (text if action == "append" else replacement).strip():
            return await _delete_part(memory, writes, context, text, quote)
        new, part = (text, "") if action == "append" else (replacement, text)
        if part:
            replacing(part, new)(await memory.read(context.owner))  # Raises unless the part occurs exactly once.
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


async def _delete_part(memory: LongTermMemory, writes: CitedWrites, context: ToolContext, part: str, quote: str) -> str:
    replacing(part, "")(await memory.read(context.owner))  # Raises unless the part occurs exactly once.
    if not await writes.has_asked_to_forget(context, part.strip(), quote):
        proposal = Proposal(action=Action.EDIT, part=part)
        return await writes.propose(context, f"MEMORY.md: - {part.strip()}", proposal)
    await memory.replace(context.owner, part, "", Author.MODEL)
    return "MEMORY.md no longer says that."


def history_search_tool(history: HistoryFiles) -> Tool:
    async def history_search(context: ToolContext, query: str) -> str | Passage:
        """Search the history of past conversations, newest first, for all words of a query."""
        results = await history.search(context.owner, query, MAX_HISTORY_RESULTS)
        if not results:
            return "nothing found"
        # A model wrote the history, and it may have used foreign text.
        return Passage("\n\n".join(results), Provenance.FOREIGN)

    return Tool(history_search)
