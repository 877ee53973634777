"""Who may use the bot beyond the allowlist: members, and the one-time code that makes the owner one."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from memory.clock import Clock, from_text, now_text, to_text
from memory.errors import MnemeError

if TYPE_CHECKING:
    import aiosqlite

    from memory.store.database import Database

CODE_LIFETIME = timedelta(hours=24)
CODE_ATTEMPTS = 5
"""What one user may try: a code is short enough to type, and must not be guessed, nor voided by others."""
MOST_COUNTED = 10_000
"""Users whose deeds are counted at a time, so that nobody fills the memory by being many."""
# without I, L, O, 0 and 1, which are taken for each other
_ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
_LENGTH = 10


ASKED_PER_HOUR = 5
"""Questions about strangers that the owner gets in an hour at most: more would flood their chat."""
_HOUR = timedelta(hours=1)
_LEAVE_FAMILY = "DELETE FROM family WHERE owner = ?"
_MILLISECOND = timedelta(milliseconds=1)
_begun: WeakKeyDictionary[Database, dict[tuple[str, int], datetime]] = WeakKeyDictionary()
"""When memberships began that have ended since, so that the next one of the same user begins later."""


class NoMember(MnemeError):
    """Somebody is to be shut out who was not let in."""


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody who has claimed the bot, or whom its owner has let in."""

    user_id: int
    since: datetime
    let_in: bool = False


class Tally:
    """How often each user did something, while the program runs."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def of(self, user_id: int) -> int:
        return self._counts.get(user_id, 0)

    def add(self, user_id: int) -> int:
        """Count one more; how often it was by now."""
        count = self._counts[user_id] = self._counts.get(user_id, 0) + 1
        if len(self._counts) > MOST_COUNTED:
            del self._counts[next(iter(self._counts))]
        return count


class AccessList:
    def __init__(self, database: Database, channel: str, clock: Clock) -> None:
        self._database = database
        self._channel = channel
        self._clock = clock
        self._tries = Tally()
        self._tried = ""
        self._asked: deque[datetime] = deque(maxlen=ASKED_PER_HOUR)

    def owner_of(self, chat: int) -> str:
        return f"{self._channel}:{chat}"

    async def new_claim_code(self) -> str:
        """A fresh one-time code; it replaces an earlier one and is valid for a day."""
        code = "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))
        await self._database.write(
            "INSERT INTO claim_codes (channel, digest, expires_at) VALUES (?, ?, ?)"
            " ON CONFLICT (channel) DO UPDATE SET digest = excluded.digest, expires_at = excluded.expires_at",
            (self._channel, _digest(code), to_text(self._clock() + CODE_LIFETIME)),
        )
        return code

    async def claim(self, user_id: int, code: str) -> bool:
        """Make a user a member by the current code, which that uses up. Too many tries wait for another code."""
        now = now_text(self._clock)
        current = str(
            await self._database.value(
                "SELECT digest FROM claim_codes WHERE channel = ? AND expires_at > ?", (self._channel, now)
            )
        )
        # a new code, which everybody may try
        if current != self._tried:
            self._tries, self._tried = Tally(), current
        # counted before it is compared, so that nobody who has tried too often learns whether a code is right
        if self._tries.add(user_id) > CODE_ATTEMPTS or not hmac.compare_digest(current, _digest(code)):
            return False
        # the deletion decides: of two who send the code at once one gets in
        async with self._database.transaction() as connection:
            used = await connection.execute(
                "DELETE FROM claim_codes WHERE channel = ? AND digest = ?", (self._channel, current)
            )
            if used.rowcount:
                await self._begin(connection, user_id, let_in=False)
        return used.rowcount > 0

    async def awaits_claim(self) -> bool:
        return await self._has("claim_codes WHERE channel = ? AND expires_at > ?", now_text(self._clock))

    async def is_member(self, user_id: int) -> bool:
        return await self._has("members WHERE channel = ? AND user_id = ?", user_id)

    async def member_since(self, user_id: int) -> datetime | None:
        """Return when a user's membership began, which no former membership of theirs did. None if not a member."""
        since = await self._database.value(
            "SELECT since FROM members WHERE channel = ? AND user_id = ?", (self._channel, user_id)
        )
        return None if since is None else from_text(str(since))

    async def members(self) -> list[Member]:
        """Who has claimed the bot or was let in, the first one first."""
        rows = await self._database.rows(
            "SELECT user_id, since, let_in FROM members WHERE channel = ? ORDER BY since, user_id", (self._channel,)
        )
        return [Member(row["user_id"], from_text(row["since"]), bool(row["let_in"])) for row in rows]

    async def owners(self) -> list[int]:
        """Who has claimed the bot, the first one first."""
        return [member.user_id for member in await self.members() if not member.let_in]

    async def is_to_be_asked_about(self, user_id: int) -> bool:
        """Whether the owner is to be asked about a stranger: not after a no, and about so many in an hour only."""
        now = self._clock()
        refused = await self._has("refused WHERE channel = ? AND user_id = ?", user_id)
        if refused or (len(self._asked) == ASKED_PER_HOUR and now - self._asked[0] < _HOUR):
            return False
        self._asked.append(now)
        return True

    async def let_in(self, user_id: int) -> None:
        """Let a stranger in, who gets a memory of their own and looks after nothing else."""
        async with self._database.transaction() as connection:
            await connection.execute("DELETE FROM refused WHERE channel = ? AND user_id = ?", (self._channel, user_id))
            await self._begin(connection, user_id, let_in=True)

    async def refuse(self, user_id: int) -> None:
        """Don't let a stranger in, or no longer, and ask about them no more. Who has claimed the bot stays."""
        async with self._database.transaction() as connection:
            await connection.execute(_LEAVE_FAMILY, (self.owner_of(user_id),))
            await self._end(connection, user_id, "AND let_in")
            await connection.execute(
                "INSERT INTO refused (channel, user_id) VALUES (?, ?) ON CONFLICT DO NOTHING", (self._channel, user_id)
            )

    async def revoke(self, user_id: int) -> None:
        """Let a member in no longer, from the next message on. Raises NoMember."""
        async with self._database.transaction() as connection:
            await connection.execute(_LEAVE_FAMILY, (self.owner_of(user_id),))
            has_ended = await self._end(connection, user_id)
        if not has_ended:
            raise NoMember(f"{user_id} has not claimed the bot: `mneme members list` shows who has.")

    async def _begin(self, connection: aiosqlite.Connection, user_id: int, *, let_in: bool) -> None:
        former = _begun.get(self._database, {}).get((self._channel, user_id))
        since = self._clock() if former is None else max(self._clock(), former + _MILLISECOND)
        await connection.execute(
            "INSERT INTO members (channel, user_id, since, let_in) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (self._channel, user_id, to_text(since), let_in),
        )

    async def _end(self, connection: aiosqlite.Connection, user_id: int, condition: str = "") -> bool:
        """Delete a membership. Return False if there was none."""
        ended = await connection.execute_fetchall(
            f"DELETE FROM members WHERE channel = ? AND user_id = ? {condition} RETURNING since",  # ours
            (self._channel, user_id),
        )
        for (since,) in ended:
            _begun.setdefault(self._database, {})[self._channel, user_id] = from_text(since)
        return bool(ended)

    async def has_members(self) -> bool:
        return await self._has("members WHERE channel = ?")

    async def _has(self, rows: str, *parameters: object) -> bool:
        return bool(await self._database.value(f"SELECT EXISTS (SELECT 1 FROM {rows})", (self._channel, *parameters)))


# who reads the database, or a backup of it, must not be able to claim the bot
def _digest(code: str) -> str:
    return hashlib.sha256(code.strip().upper().encode()).hexdigest()
