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
    notes = _Notes(entries, writes)
    operations = (notes.note_add, notes.note_write, notes.note_rename, notes.note_alias, notes.note_remove)
    return [Tool(operation, writes=True) for operation in operations]


class _Notes:
    """What each tool does. A change of what is there already is made where the user's cited words ask for it."""

    def __init__(self, entries: EntryStore, writes: CitedWrites) -> None:
        self._entries = entries
        self._writes = writes

    async def note_add(self, context: ToolContext, name: str, content: str, quote: Quote = "") -> str:
        """Keep a note that can be found later by search. Short, telling name."""
        cited = self._writes.cited(context, quote, content)
        new = NewEntry(
            content, name=name, author=Author.MODEL, trusted=cited.trusted, source_message_id=cited.message_id
        )
        if cited.quote is None:
            return await self._writes.keep_unconfirmed(context, new, Doubt.NO_SOURCE)
        entry = await self._entries.add(context.owner, new)
        context.note_written(entry)
        return f"saved the note {entry.name}: {entry.content}"

    async def note_write(self, context: ToolContext, name: str, content: str, quote: Quote = "") -> str:
        """Replace what a note says."""
        change = f"{name}: {content}"
        if await self._is_refused(context, change, quote):
            return await self._proposed(context, name, Action.WRITE, change, content)
        entry = await self._entries.write(context.owner, name, content, Author.MODEL)
        return f"the note {entry.name} now says: {entry.content}"

    async def note_rename(self, context: ToolContext, name: str, new_name: str, quote: Quote = "") -> str:
        """Give a note another name; the old one still finds it."""
        change = f"{name} -> {new_name}"
        if await self._is_refused(context, change, quote):
            return await self._proposed(context, name, Action.RENAME, change, new_name)
        entry = await self._entries.rename(context.owner, name, new_name, Author.MODEL)
        return f"the note is now called {entry.name}, also {', '.join(entry.aliases)}"

    async def note_alias(self, context: ToolContext, name: str, alias: str, quote: Quote = "") -> str:
        """Give a note one more name."""
        change = f"{name} = {alias}"
        if await self._is_refused(context, change, quote):
            return await self._proposed(context, name, Action.ALIAS, change, alias)
        entry = await self._entries.alias(context.owner, name, alias, Author.MODEL)
        return f"the note {entry.name} is also called {', '.join(entry.aliases)}"

    async def note_remove(self, context: ToolContext, name: str, quote: Quote = "") -> str:
        """Delete a note; the user can undo it."""
        entry = await self._entries.get(context.owner, name)
        text = f"{entry.name}: {entry.content}"
        if not await self._writes.asks_to_forget(context, text, quote):
            return await self._proposed(context, name, Action.REMOVE, f"- {text}")
        removed = await self._entries.remove(context.owner, name, Author.MODEL)
        return f"removed the note {removed.name}"

    async def _is_refused(self, context: ToolContext, change: str, quote: str) -> bool:
        return (await self._writes.check(context, change, quote)).doubt is not None

    async def _proposed(self, context: ToolContext, name: str, action: Action, change: str, value: str = "") -> str:
        entry = await self._entries.get(context.owner, name)
        return await self._writes.propose(context, change, Proposal(action=action, entry=entry.id, value=value))
