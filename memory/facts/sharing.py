"""Sharing of memories within a family.

Only the owner can share a memory. It is stored once, so corrections and deletions by the owner apply to all. If a model
rewrites or replaces it, it is no longer shared. Every query for the other members checks the table `family`.
"""

from __future__ import annotations

from collections.abc import Iterable

from config.texts import _, name_setting
from memory.errors import MemoryRefused
from memory.ledger.ledger import Ledger
from memory.ledger.undo import Undo
from memory.ledger.undo_outcomes import UndoResult
from memory.store.database import Database
from memory.store.entry import Author, Entry, Operation
from memory.store.entry_rows import LIVE, read_entries


class Sharing:
    """Shares memories under MEMORY_SCOPE=family. Without that setting `enabled` is False and nothing is shared."""

    def __init__(self, database: Database, ledger: Ledger, undo: Undo, *, enabled: bool) -> None:
        self.enabled = enabled
        self._undo = undo
        self._database = database
        self._ledger = ledger

    async def settle(self, owners: Iterable[str]) -> None:
        """Replace the members from the settings. Members admitted by hand stay."""
        async with self._database.transaction() as connection:
            await connection.execute("DELETE FROM family WHERE from_settings")
            await connection.executemany(
                "INSERT INTO family (owner, from_settings) VALUES (?, 1) ON CONFLICT DO NOTHING",
                [(owner,) for owner in owners],
            )

    async def admit(self, owner: str) -> bool:
        """Add a chat to the family. Return False if it belonged to it."""
        query = "INSERT INTO family (owner) VALUES (?) ON CONFLICT DO NOTHING"
        return bool(await self._database.write(query, (owner,)))

    async def expel(self, owner: str) -> bool:
        """Remove a chat from the family. Return False if it didn't belong to it."""
        return bool(await self._database.write("DELETE FROM family WHERE owner = ?", (owner,)))

    async def includes(self, owner: str) -> bool:
        query = "SELECT 1 FROM family WHERE owner = ?"
        return self.enabled and bool(await self._database.value(query, (owner,)))

    async def share(self, owner: str, name: str, by: str) -> tuple[Entry, int | None]:
        """Share a memory and return it with its number for /undo. Raises MemoryRefused.

        Args:
            by: The name of the person who shares it.
        """
        await self._require_family(owner)
        async with self._ledger.change(owner, Operation.SHARE, Author.USER) as change:
            entry = await change.share(await change.get(name), by)
        return entry, change.number

    async def withdraw(self, number: int) -> tuple[Entry, int | None]:
        """Stop sharing the memory with this id, of any owner. Return it with its number for undo.

        Raises MemoryRefused.
        """
        for entry in await self._find_shared("e.id = ?", number):
            async with self._ledger.change(entry.owner, Operation.WITHDRAW, Author.USER) as change:
                withdrawn = await change.withdraw(entry)
            return withdrawn, change.number
        raise MemoryRefused(_("{name} is not shared: /shared shows what is.", name=f"#{number}"))

    async def share_again(self, number: int) -> UndoResult | None:
        """Undo a withdrawal. Return None if no such withdrawal exists. Raises MemoryRefused."""
        query = "SELECT o.name FROM changes c JOIN owners o ON o.id = c.owner_id WHERE c.batch = ? AND c.operation = ?"
        owner = await self._database.value(query, (number, Operation.WITHDRAW))
        return None if owner is None else await self._undo.undo(str(owner), number, is_withdrawal=True)

    async def unshare(self, owner: str, name: str) -> Entry:
        """Stop sharing a memory. Raises MemoryRefused."""
        await self._require_family(owner)
        async with self._ledger.change(owner, Operation.SHARE, Author.USER) as change:
            entry = await change.get(name)
            if entry.shared_at is None:
                raise MemoryRefused(_("{name} is not shared: /shared shows what is.", name=entry.name))
            return await change.unshare(entry)

    async def list_shared(self, owner: str, limit: int = 1_000) -> list[Entry]:
        """Return the shared memories, newest first. Empty if the chat doesn't belong to the family."""
        if not await self.includes(owner):
            return []
        return await self._find_shared("true ORDER BY e.shared_at DESC, e.id DESC LIMIT ?", limit)

    async def list_shared_by_others(self, owner: str, limit: int) -> list[Entry]:
        """Return the memories that other members share with a chat, newest first."""
        if not await self.includes(owner):
            return []
        return await self._find_shared("o.name <> ? ORDER BY e.shared_at DESC, e.id DESC LIMIT ?", owner, limit)

    async def _find_shared(self, where: str, *parameters: object) -> list[Entry]:
        # Memories of removed members are no longer shared.
        shared = f"e.shared_at IS NOT NULL AND {LIVE} AND o.name IN (SELECT owner FROM family)"
        return await read_entries(self._database.rows, f"{shared} AND {where}", parameters)

    async def _require_family(self, owner: str) -> None:
        if not self.enabled:
            raise MemoryRefused(name_setting(_("Sharing is off: the bot's owner can turn it on."), "MEMORY_SCOPE"))
        if not await self.includes(owner):
            raise MemoryRefused(_("This chat isn't part of the family: the bot's owner can change that with /letin."))
