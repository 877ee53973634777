"""Names of the people and groups of a channel, so that the owner reads names instead of ids."""

from __future__ import annotations

from memory.errors import StoreError
from memory.store.database import Database

MAX_CACHED_NAMES = 10_000


class Contacts:
    """The names of chats and their members, by the channel's ids."""

    def __init__(self, database: Database, channel: str) -> None:
        self._database = database
        self._channel = channel
        self._stored: dict[int, tuple[str, str | None]] = {}

    async def store(self, number: int, name: str, username: str | None = None) -> None:
        """Store the present name of a user or group. Does nothing without a name or on a full disk."""
        present = name, username
        if not name or self._stored.get(number) == present:
            return
        try:
            await self._database.write(
                "INSERT INTO contacts (channel, number, name, username) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (channel, number) DO UPDATE SET name = excluded.name, username = excluded.username"
                " WHERE name <> excluded.name OR username IS NOT excluded.username",
                (self._channel, number, *present),
            )
        except StoreError:
            return
        if len(self._stored) >= MAX_CACHED_NAMES:
            self._stored.clear()
        self._stored[number] = present

    async def describe(self, number: int) -> str:
        """Return a name such as `Anna (@anna)`, or the id if no name is known."""
        row = await self._database.row(
            "SELECT name, username FROM contacts WHERE channel = ? AND number = ?", (self._channel, number)
        )
        if row is None:
            return str(number)
        return f"{row['name']} (@{row['username']})" if row["username"] else str(row["name"])

    async def describe_chat(self, chat: str) -> str:
        """Return the name of a chat such as `telegram:12345`. Return other texts unchanged."""
        channel, _colon, number = chat.partition(":")
        if channel != self._channel or not number.removeprefix("-").isdecimal():
            return chat
        described = await self.describe(int(number))
        return chat if described == number else described
