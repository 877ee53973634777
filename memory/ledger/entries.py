"""The operations on entries, which can all be undone: Add, Rename, Alias, Write, Remove (S1) and Confirm."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import aiosqlite

from config.numbers import parse_reference
from config.texts import _
from memory.errors import MemoryRefused
from memory.ledger.ledger import Ledger
from memory.ledger.page import compute_line_digest, removing_line
from memory.store.database import Database
from memory.store.entry import Author, Details, Entry, Kind, NewEntry, Operation
from memory.store.entry_rows import CURRENT, LIVE, find_mentioned_entry, find_owner_id, get_entry, read_entries
from memory.store.forgotten import ForgottenWords, read_forgotten_words
from memory.text.wording import make_name_key

Also = Callable[[aiosqlite.Connection, Entry], Awaitable[None]]


CONFIRMED_PER_WRITE = 20


class EntryStore:
    """The entries of all owners. Changes go through the ledger."""

    def __init__(self, database: Database, ledger: Ledger) -> None:
        self._database = database
        self._ledger = ledger

    async def add(self, owner: str, new: NewEntry, also: Also | None = None) -> Entry:
        """Create an entry and run `also` in the same transaction. Raise MemoryRefused if it is invalid."""
        async with self._ledger.change(owner, Operation.ADD, new.author, trusted=new.trusted) as change:
            entry = await change.add(new)
            if also is not None:
                await change.write_alongside(entry, also)
            return entry

    async def rename(self, owner: str, name: str, new_name: str, author: Author = Author.USER) -> Entry:
        async with self._ledger.change(owner, Operation.RENAME, author) as change:
            return await change.rename(await change.get(name), new_name)

    async def alias(self, owner: str, name: str, alias: str, author: Author = Author.USER) -> Entry:
        async with self._ledger.change(owner, Operation.ALIAS, author) as change:
            return await change.bind(await change.get(name), alias)

    async def write(
        self, owner: str, name: str, content: str, author: Author = Author.USER, *, trusted: bool = True
    ) -> Entry:
        async with self._ledger.change(owner, Operation.WRITE, author, trusted=trusted) as change:
            return await change.rewrite(await change.get(name), content)

    async def edit(self, owner: str, name: str, content: str) -> Entry:
        """Replace an entry's content by a text that its owner has typed. This confirms it and removes its quote.

        Raises MemoryRefused, also for a workflow, since its steps would no longer match.
        """
        async with self._ledger.change(owner, Operation.WRITE, Author.USER) as change:
            entry = await change.get(name)
            if entry.steps:
                raise MemoryRefused(
                    _("{name} has several steps: tell me in your own words how it is done now.", name=entry.name)
                )
            edited = await change.rewrite(entry, content, Details(quote=""))
            return edited if edited.unconfirmed is None else await change.confirm(edited)

    async def remove(self, owner: str, name: str, author: Author = Author.USER, *, is_asked: bool = False) -> Entry:
        """Delete an entry with its names. It can be restored for 30 days. `is_asked` is as in `Change.remove`."""
        async with self._ledger.change(owner, Operation.REMOVE, author) as change:
            entry = await change.get(name)
            await change.remove(entry, is_asked=is_asked)
            return entry

    async def remove_all(self, owner: str, entries: Sequence[int], lines: Sequence[str] = ()) -> int | None:
        """Delete entries, and lines of MEMORY.md by their digests, as one change. Return its number."""
        async with self._ledger.change(owner, Operation.REMOVE, Author.USER) as change:
            for number in entries:
                await change.remove(await change.get(f"#{number}"))
            for line in (await change.read_page()).split("\n") if lines else ():
                if compute_line_digest(line) in lines:
                    await change.edit_file(removing_line(line))
        return change.number

    async def confirm(self, owner: str, name: str, author: Author = Author.USER) -> Entry:
        """Confirm a memory, which supersedes those that it contradicts. Raises MemoryRefused."""
        async with self._ledger.change(owner, Operation.CONFIRM, author) as change:
            entry = await change.get(name)
            if entry.unconfirmed is None:
                raise MemoryRefused(_("{name} is already confirmed: there is nothing to do.", name=entry.name))
            return await change.confirm(entry)

    async def confirm_imported(self, owner: str) -> tuple[int, int | None]:
        """Confirm all imported memories. Return how many there were, and the number of the change."""
        entries = [entry for entry in await self.list_unconfirmed(owner) if entry.author == Author.IMPORT]
        number: int | None = None
        for start in range(0, len(entries), CONFIRMED_PER_WRITE):
            async with self._ledger.change(owner, Operation.CONFIRM, Author.USER, continues=number) as change:
                for entry in entries[start : start + CONFIRMED_PER_WRITE]:
                    await change.confirm(entry)
            number = change.number
        return len(entries), number

    async def read_forgotten_words(self, owner: str) -> ForgottenWords:
        return await read_forgotten_words(self._database.rows, owner)

    async def _find_where(self, where: str, *parameters: object) -> list[Entry]:
        return await read_entries(self._database.rows, where, parameters)

    async def list_unconfirmed(self, owner: str | None, limit: int = 1_000_000) -> list[Entry]:
        where = "e.unconfirmed IS NOT NULL AND (? IS NULL OR o.name = ?) ORDER BY e.id DESC LIMIT ?"
        return await self._find_where(where, owner, owner, limit)

    async def list_captured(self, session_id: str, text: str) -> list[Entry]:
        """Return the captures of the newest message in the current conversation that is exactly `text`."""
        return await self._find_where(
            f"e.author = '{Author.CAPTURE}' AND {CURRENT} AND e.source_message_id = (SELECT min(o.id) FROM messages m"
            " JOIN conversations c ON c.id = m.conversation_id JOIN messages o ON o.turn_id = m.turn_id"
            " WHERE c.session_id = ? AND c.ended_at IS NULL AND m.role = 'user' AND m.content = ?"
            " GROUP BY m.id ORDER BY m.id DESC LIMIT 1) ORDER BY e.id",
            session_id,
            text,
        )

    async def list_with_lines(self, owner: str) -> list[Entry]:
        return await self._find_where("o.name = ? AND e.line IS NOT NULL AND e.superseded_by IS NULL", owner)

    async def get(self, owner: str, name: str) -> Entry:
        """Return the entry with that name or alias. Raise MemoryRefused with similar names if nothing is found."""
        return await get_entry(self._database.rows, await find_owner_id(self._database.rows, owner), name)

    async def find(self, owner: str, name: str) -> Entry | None:
        """Return the entry with that name, alias or number, or None if there is none."""
        return await find_mentioned_entry(self._database.rows, await find_owner_id(self._database.rows, owner), name)

    async def get_any(self, name: str, first: str) -> Entry:
        """Return the entry of `first` with that name or number, or of the only other owner who has one.

        Raises MemoryRefused.
        """
        holding = await self._find_where("e.id IN (SELECT entry_id FROM names WHERE key = ?)", make_name_key(name))
        if not holding and (number := parse_reference(name)) is not None:
            holding = await self._find_where("e.id = ? AND e.deleted_at IS NULL", number)
        owners = sorted({entry.owner for entry in holding})
        if first in owners or not owners:
            return await self.get(first, name)
        if len(owners) > 1:
            raise MemoryRefused(
                _(
                    "Several owners have a memory called {name!r}: choose one of {owners}.",
                    name=name,
                    owners=", ".join(owners),
                )
            )
        return holding[0]

    async def list_newest(self, owner: str, limit: int) -> list[Entry]:
        """Return the newest current entries of an owner, without archived conversations."""
        where = f"o.name = ? AND {LIVE} AND e.kind <> ? ORDER BY e.id DESC LIMIT ?"
        return await self._find_where(where, owner, Kind.ARCHIVE, limit)

    async def list(
        self, owner: str | None = None, kind: str | None = None, *, limit: int = 1_000_000, offset: int = 0
    ) -> list[Entry]:
        """Return entries of one owner or all, of one kind or all. Current ones come first, then the newest."""
        where = (
            "(? IS NULL OR o.name = ?) AND (? IS NULL OR e.kind = ?)"
            " ORDER BY e.superseded_by IS NOT NULL OR e.archived_at IS NOT NULL, e.id DESC LIMIT ? OFFSET ?"
        )
        return await self._find_where(where, owner, owner, kind, kind, limit, offset)

    async def count_by_kind(self, owner: str) -> dict[str, int]:
        rows = await self._database.rows(
            "SELECT e.kind, count(*) FROM entries e JOIN owners o ON o.id = e.owner_id"
            " WHERE o.name = ? AND e.deleted_at IS NULL GROUP BY e.kind ORDER BY e.kind",
            (owner,),
        )
        return {row[0]: row[1] for row in rows}
