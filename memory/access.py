"""Access beyond the allowlist: the members of a channel and the one-time claim code."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import datetime, timedelta
from weakref import WeakKeyDictionary

import aiosqlite

from memory.clock import Clock, from_text, now_text, to_text
from memory.contacts import Contacts
from memory.errors import MnemeError
from memory.store.database import Database

CODE_LIFETIME = timedelta(hours=24)
CODE_ATTEMPTS = 5
"""Attempts per user. The code is short enough to type, so guessing has to be limited, but not for other users."""
MAX_COUNTED_USERS = 10_000
# Without I, L, O, 0 and 1, which look alike.
_ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
_CODE_CHARS = 10
MAX_QUESTIONS_PER_HOUR = 5
"""Maximum number of questions about strangers that the owner gets in an hour."""
_HOUR = timedelta(hours=1)
_LEAVE_FAMILY = "DELETE FROM family WHERE owner = ?"
_MILLISECOND = timedelta(milliseconds=1)
_begun: WeakKeyDictionary[Database, dict[tuple[str, int], datetime]] = WeakKeyDictionary()
"""Start times of ended memberships, so that the next membership of the same user starts later."""


class NoMember(MnemeError):
    """The user to remove is not a member."""


@dataclass(frozen=True, slots=True)
class Member:
    """A user who has claimed the bot, or a guest that the owner let in."""

    user_id: int
    since: datetime
    is_guest: bool = False


class Tally:
    """Counts events per key, such as a user's id, in memory only."""

    def __init__(self) -> None:
        self._counts: dict[Hashable, int] = {}

    def get(self, key: Hashable) -> int:
        return self._counts.get(key, 0)

    def add(self, key: Hashable) -> int:
        """Count an event and return the new total of its key."""
        count = self._counts[key] = self._counts.get(key, 0) + 1
        if len(self._counts) > MAX_COUNTED_USERS:
            del self._counts[next(iter(self._counts))]
        return count


class AccessList:
    def __init__(self, database: Database, channel: str, clock: Clock) -> None:
        self._database = database
        self._channel = channel
        self._clock = clock
        self.contacts = Contacts(database, channel)
        self._tries = Tally()
        self._tried = ""
        self._asked: deque[datetime] = deque(maxlen=MAX_QUESTIONS_PER_HOUR)

    def get_owner(self, chat: int) -> str:
        return f"{self._channel}:{chat}"

    async def new_claim_code(self) -> str:
        """Create a one-time code that is valid for a day. It replaces an earlier code."""
        code = "".join(secrets.choice(_ALPHABET) for _ in range(_CODE_CHARS))
        await self._database.write(
            "INSERT INTO claim_codes (channel, digest, expires_at) VALUES (?, ?, ?)"
            " ON CONFLICT (channel) DO UPDATE SET digest = excluded.digest, expires_at = excluded.expires_at",
            (self._channel, _hash_code(code), to_text(self._clock() + CODE_LIFETIME)),
        )
        return code

    async def claim(self, user_id: int, code: str) -> bool:
        """Make the user a member if the code is right, and delete the code. Return True on success.

        After CODE_ATTEMPTS attempts a user has to wait for a new code.
        """
        now = now_text(self._clock)
        current = str(
            await self._database.value(
                "SELECT digest FROM claim_codes WHERE channel = ? AND expires_at > ?", (self._channel, now)
            )
        )
        # A new code resets the attempts of all users.
        if current != self._tried:
            self._tries, self._tried = Tally(), current
        # Count before comparing, so that a user with too many attempts can't learn whether the code is right.
        if self._tries.add(user_id) > CODE_ATTEMPTS or not hmac.compare_digest(current, _hash_code(code)):
            return False
        # If two users send the code at the same time, only the first deletion succeeds.
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

    async def find_membership_start(self, user_id: int) -> datetime | None:
        """Return when the membership began, or None if the user is not a member. No two memberships share a start."""
        since = await self._database.value(
            "SELECT since FROM members WHERE channel = ? AND user_id = ?", (self._channel, user_id)
        )
        return None if since is None else from_text(str(since))

    async def list_members(self) -> list[Member]:
        rows = await self._database.rows(
            "SELECT user_id, since, let_in FROM members WHERE channel = ? ORDER BY since, user_id", (self._channel,)
        )
        return [Member(row["user_id"], from_text(row["since"]), bool(row["let_in"])) for row in rows]

    async def list_owner_ids(self) -> list[int]:
        return [member.user_id for member in await self.list_members() if not member.is_guest]

    async def should_ask_about(self, user_id: int) -> bool:
        """Return True if the owner should be asked about a stranger now, and count the question.

        The owner is not asked about refused users, and at most MAX_QUESTIONS_PER_HOUR times an hour.
        """
        if not self.can_ask or await self.is_refused(user_id):
            return False
        self._asked.append(self._clock())
        return True

    @property
    def can_ask(self) -> bool:
        """Return True if the owner was asked about less than MAX_QUESTIONS_PER_HOUR strangers in the last hour."""
        return len(self._asked) < MAX_QUESTIONS_PER_HOUR or self._clock() - self._asked[0] >= _HOUR

    async def is_refused(self, user_id: int) -> bool:
        return await self._has("refused WHERE channel = ? AND user_id = ?", user_id)

    async def let_in(self, user_id: int) -> bool:
        """Make a stranger a member, with a separate memory and without administration rights.

        Return False if the user was a member.
        """
        async with self._database.transaction() as connection:
            await connection.execute("DELETE FROM refused WHERE channel = ? AND user_id = ?", (self._channel, user_id))
            return await self._begin(connection, user_id, let_in=True)

    async def refuse(self, user_id: int) -> None:
        """Refuse a user and ask about them no more. Ends a guest's membership, but not that of a claimed owner."""
        async with self._database.transaction() as connection:
            await connection.execute(_LEAVE_FAMILY, (self.get_owner(user_id),))
            await self._end(connection, user_id, "AND let_in")
            await connection.execute(
                "INSERT INTO refused (channel, user_id) VALUES (?, ?) ON CONFLICT DO NOTHING", (self._channel, user_id)
            )

    async def revoke(self, user_id: int) -> None:
        """End a membership, from the next message on. Raises NoMember."""
        async with self._database.transaction() as connection:
            await connection.execute(_LEAVE_FAMILY, (self.get_owner(user_id),))
            has_ended = await self._end(connection, user_id)
        if not has_ended:
            raise NoMember(f"{user_id} has not claimed the bot: `mneme members list` shows who has.")

    async def _begin(self, connection: aiosqlite.Connection, user_id: int, *, let_in: bool) -> bool:
        """Begin a membership. Return False if the user is a member already."""
        former = _begun.get(self._database, {}).get((self._channel, user_id))
        since = self._clock() if former is None else max(self._clock(), former + _MILLISECOND)
        begun = await connection.execute(
            "INSERT INTO members (channel, user_id, since, let_in) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (self._channel, user_id, to_text(since), let_in),
        )
        return begun.rowcount > 0

    async def _end(self, connection: aiosqlite.Connection, user_id: int, condition: str = "") -> bool:
        ended = await connection.execute_fetchall(
            f"DELETE FROM members WHERE channel = ? AND user_id = ? {condition} RETURNING since",
            (self._channel, user_id),
        )
        for (since,) in ended:
            _begun.setdefault(self._database, {})[self._channel, user_id] = from_text(since)
        return bool(ended)

    async def has_members(self) -> bool:
        return await self._has("members WHERE channel = ?")

    async def _has(self, rows: str, *parameters: object) -> bool:
        return bool(await self._database.value(f"SELECT EXISTS (SELECT 1 FROM {rows})", (self._channel, *parameters)))


# Only the digest is stored, so that a reader of the database or of a backup can't claim the bot.
def _hash_code(code: str) -> str:
    return hashlib.sha256(code.strip().upper().encode()).hexdigest()
