"""What a family shares: memories that stay their owner's, and that the others of the family may read too.

A memory is shared by its owner's own act alone and stands once, with its owner: what they correct is corrected for
all, what they forget is gone for all. A model that rewrites it takes it back from the others, and so does whatever
replaces it. Who belongs to the family stands in a table, which every query that reads for the others asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from config.texts import _
from memory.errors import MemoryRefused
from memory.store.entry import Author, Entry, Operation
from memory.store.entry_rows import LIVE, entries_where

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memory.ledger.ledger import Ledger
    from memory.ledger.undo import Undo, Undone
    from memory.store.database import Database


class Sharing:
    """Shares memories under MEMORY_SCOPE=family; `enabled` is false without that, and then nobody reads any."""

    def __init__(self, database: Database, ledger: Ledger, undo: Undo, *, enabled: bool) -> None:
        self.enabled = enabled
        self._undo = undo
        self._database = database
        self._ledger = ledger

    async def settle(self, owners: Iterable[str]) -> None:
        """Make these owners members of the family by the settings; whoever was let in by hand stays one."""
        async with self._database.transaction() as connection:
            await connection.execute("DELETE FROM family WHERE from_settings")
            await connection.executemany(
                "INSERT INTO family (owner, from_settings) VALUES (?, 1) ON CONFLICT DO NOTHING",
                [(owner,) for owner in owners],
            )

    async def admit(self, owner: str) -> None:
        await self._database.write("INSERT INTO family (owner) VALUES (?) ON CONFLICT DO NOTHING", (owner,))

    async def expel(self, owner: str) -> None:
        """Have a chat belong to the family no longer: it reads nothing of others, and they nothing of it."""
        await self._database.write("DELETE FROM family WHERE owner = ?", (owner,))

    async def includes(self, owner: str) -> bool:
        query = "SELECT 1 FROM family WHERE owner = ?"
        return self.enabled and bool(await self._database.value(query, (owner,)))

    async def share(self, owner: str, name: str, by: str) -> tuple[Entry, int | None]:
        """Have the family know a memory, shared by the person of that name; its number for /undo.

        Raises MemoryRefused.
        """
        await self._require_family(owner)
        async with self._ledger.change(owner, Operation.SHARE, Author.USER) as change:
            entry = await change.share(await change.find(name), by)
        return entry, change.number

    async def withdraw(self, number: int) -> tuple[Entry, int | None]:
        """Have only its owner know the memory of that number, whoever that is, and the number by which it is undone.

        Raises MemoryRefused.
        """
        for entry in await self._shared("e.id = ?", number):
            async with self._ledger.change(entry.owner, Operation.WITHDRAW, Author.USER) as change:
                withdrawn = await change.withdraw(entry)
            return withdrawn, change.number
        raise MemoryRefused(_("{name} is not shared: /shared shows what is.", name=f"#{number}"))

    async def share_again(self, number: int) -> Undone | None:
        """Undo the withdrawal of that number; None where it does not stand. Raises MemoryRefused."""
        query = "SELECT o.name FROM changes c JOIN owners o ON o.id = c.owner_id WHERE c.batch = ? AND c.operation = ?"
        owner = await self._database.value(query, (number, Operation.WITHDRAW))
        return None if owner is None else await self._undo.undo(str(owner), number, is_withdrawal=True)

    async def unshare(self, owner: str, name: str) -> Entry:
        """Have only its owner know a memory. Raises MemoryRefused."""
        await self._require_family(owner)
        async with self._ledger.change(owner, Operation.SHARE, Author.USER) as change:
            entry = await change.find(name)
            if entry.shared_at is None:
                raise MemoryRefused(_("{name} is not shared: /shared shows what is.", name=entry.name))
            return await change.unshare(entry)

    async def shared(self, owner: str, limit: int = 1_000) -> list[Entry]:
        """What the family knows, newest first, as a chat may see it: nothing for one that is not of it."""
        if not await self.includes(owner):
            return []
        return await self._shared("true ORDER BY e.shared_at DESC, e.id DESC LIMIT ?", limit)

    async def by_others(self, owner: str, limit: int) -> list[Entry]:
        """What others of the family have shared with a chat, newest first."""
        if not await self.includes(owner):
            return []
        return await self._shared("o.name <> ? ORDER BY e.shared_at DESC, e.id DESC LIMIT ?", owner, limit)

    async def _shared(self, where: str, *parameters: object) -> list[Entry]:
        # of the family's own chats only: who was turned away shares nothing any more
        shared = f"e.shared_at IS NOT NULL AND {LIVE} AND o.name IN (SELECT owner FROM family)"
        return await entries_where(self._database.rows, f"{shared} AND {where}", parameters)

    async def _require_family(self, owner: str) -> None:
        if not self.enabled:
            raise MemoryRefused(_("Nothing is shared here: the bot's owner has to set MEMORY_SCOPE=family for that."))
        if not await self.includes(owner):
            raise MemoryRefused(_("This chat is no part of the family: the bot's owner can change that by /letin."))
