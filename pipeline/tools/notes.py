"""The five operations as tools: note_add, note_write, note_rename, note_alias, note_remove (S1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.facts.fact import Doubt
from memory.ledger.proposals import Action, Proposal
from memory.store.entry import Author, NewEntry
from pipeline.tools.cited_writes import Quote  # noqa: TC001  # the toolbox reads the annotations
from pipeline.tools.toolbox import Tool, ToolContext

if TYPE_CHECKING:
    from memory.ledger.entries import EntryStore
    from pipeline.tools.cited_writes import CitedWrites


def note_tools(entries: EntryStore, writes: CitedWrites) -> list[Tool]:
    """The tools over the entries of the calling session's owner. Each confirms what is now in the database."""

    async def is_asked_for(context: ToolContext, change: str, quote: str) -> bool:
        return (await writes.check(context, change, quote)).doubt is None

    async def proposed(context: ToolContext, name: str, action: Action, change: str, value: str = "") -> str:
        entry = await entries.get(context.owner, name)
        return await writes.propose(context, change, Proposal(action=action, entry=entry.id, value=value))

    async def note_add(context: ToolContext, name: str, content: str, quote: Quote = "") -> str:
        """Keep a note that can be found later by search. Short, telling name."""
        cited = writes.cited(context, quote, content)
        new = NewEntry(
            content, name=name, author=Author.MODEL, trusted=cited.trusted, source_message_id=cited.message_id
        )
        if cited.quote is None:
            return await writes.keep_unconfirmed(context, new, Doubt.NO_SOURCE)
        entry = await entries.add(context.owner, new)
        if entry.source_message_id is None:
            context.written.append(entry.id)
        return f"saved the note {entry.name}: {entry.content}"

    async def note_write(context: ToolContext, name: str, content: str, quote: Quote = "") -> str:
        """Replace what a note says."""
        change = f"{name}: {content}"
        if not await is_asked_for(context, change, quote):
            return await proposed(context, name, Action.WRITE, change, content)
        entry = await entries.write(context.owner, name, content, Author.MODEL)
        return f"the note {entry.name} now says: {entry.content}"

    async def note_rename(context: ToolContext, name: str, new_name: str, quote: Quote = "") -> str:
        """Give a note another name; the old one still finds it."""
        change = f"{name} -> {new_name}"
        if not await is_asked_for(context, change, quote):
            return await proposed(context, name, Action.RENAME, change, new_name)
        entry = await entries.rename(context.owner, name, new_name, Author.MODEL)
        return f"the note is now called {entry.name}, also {', '.join(entry.aliases)}"

    async def note_alias(context: ToolContext, name: str, alias: str, quote: Quote = "") -> str:
        """Give a note one more name."""
        change = f"{name} = {alias}"
        if not await is_asked_for(context, change, quote):
            return await proposed(context, name, Action.ALIAS, change, alias)
        entry = await entries.alias(context.owner, name, alias, Author.MODEL)
        return f"the note {entry.name} is also called {', '.join(entry.aliases)}"

    async def note_remove(context: ToolContext, name: str, quote: Quote = "") -> str:
        """Delete a note; the user can undo it."""
        entry = await entries.get(context.owner, name)
        if not await writes.asks_to_forget(context, f"{entry.name}: {entry.content}", quote):
            return await proposed(context, name, Action.REMOVE, f"- {entry.name}: {entry.content}")
        removed = await entries.remove(context.owner, name, Author.MODEL)
        return f"removed the note {removed.name}"

    return [Tool(tool, writes=True) for tool in (note_add, note_write, note_rename, note_alias, note_remove)]
