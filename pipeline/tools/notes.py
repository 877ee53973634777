"""The five operations as tools: note_add, note_write, note_rename, note_alias, note_remove (S1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.store.entry import Author, NewEntry
from pipeline.tools.toolbox import Tool, ToolContext, Writes

if TYPE_CHECKING:
    from memory.ledger.entries import EntryStore


def note_tools(entries: EntryStore) -> list[Tool]:
    """The tools over the entries of the calling session's owner. Each confirms what is now in the database."""

    async def note_add(context: ToolContext, name: str, content: str) -> str:
        """Keep a note that can be found later by search. Short, telling name."""
        new = NewEntry(content, name=name, author=Author.MODEL, trusted=context.trusted)
        entry = await entries.add(context.owner, new)
        context.written.append(entry.id)
        return f"saved the note {entry.name}: {entry.content}"

    async def note_write(context: ToolContext, name: str, content: str) -> str:
        """Replace what a note says."""
        entry = await entries.write(context.owner, name, content, Author.MODEL, trusted=context.trusted)
        return f"the note {entry.name} now says: {entry.content}"

    async def note_rename(context: ToolContext, name: str, new_name: str) -> str:
        """Give a note another name; the old one still finds it."""
        entry = await entries.rename(context.owner, name, new_name, Author.MODEL)
        return f"the note is now called {entry.name}, also {', '.join(entry.aliases)}"

    async def note_alias(context: ToolContext, name: str, alias: str) -> str:
        """Give a note one more name."""
        entry = await entries.alias(context.owner, name, alias, Author.MODEL)
        return f"the note {entry.name} is also called {', '.join(entry.aliases)}"

    async def note_remove(context: ToolContext, name: str) -> str:
        """Delete a note; the user can undo it."""
        entry = await entries.remove(context.owner, name, Author.MODEL)
        return f"removed the note {entry.name}"

    changing = (note_write, note_rename, note_alias, note_remove)
    return [Tool(note_add, writes=Writes.NOTE), *(Tool(tool, writes=Writes.LASTING) for tool in changing)]
