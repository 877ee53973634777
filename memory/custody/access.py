"""Who may use the bot beyond the allowlist: members, and the one-time code that makes the owner one."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from datetime import timedelta
from typing import TYPE_CHECKING

from memory.clock import Clock, now_text, to_text

if TYPE_CHECKING:
    from memory.store.database import Database

CODE_LIFETIME = timedelta(hours=24)
CODE_ATTEMPTS = 5
"""Wrong tries after which a code is void: a code is short enough to type, and must not be guessed."""
_ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
_LENGTH = 10


class AccessList:
    """The members of one channel."""

    def __init__(self, database: Database, channel: str, clock: Clock) -> None:
        self._database = database
        self._channel = channel
        self._clock = clock

    async def new_claim_code(self) -> str:
        """A fresh one-time code; it replaces an earlier one and is valid for a day."""
        code = "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))
        async with self._database.transaction() as connection:
            await connection.execute(
                "INSERT INTO claim_codes (channel, digest, expires_at, failures) VALUES (?, ?, ?, 0)"
                " ON CONFLICT (channel) DO UPDATE"
                " SET digest = excluded.digest, expires_at = excluded.expires_at, failures = 0",
                (self._channel, _digest(code), to_text(self._clock() + CODE_LIFETIME)),
            )
        return code

    async def claim(self, user_id: int, code: str) -> bool:
        """Make a user a member if `code` is the current one, which is then used up."""
        now = now_text(self._clock)
        async with self._database.transaction() as connection:
            rows = await connection.execute_fetchall(
                "SELECT digest FROM claim_codes WHERE channel = ? AND expires_at > ? AND failures < ?",
                (self._channel, now, CODE_ATTEMPTS),
            )
            if not any(hmac.compare_digest(str(row[0]), _digest(code)) for row in rows):
                await connection.execute(
                    "UPDATE claim_codes SET failures = failures + 1 WHERE channel = ?", (self._channel,)
                )
                return False
            await connection.execute("DELETE FROM claim_codes WHERE channel = ?", (self._channel,))
            await connection.execute(
                "INSERT INTO members (channel, user_id, since) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (self._channel, user_id, now),
            )
        return True

    async def awaits_claim(self) -> bool:
        """Whether a code is open by which somebody may still claim the bot."""
        found = await self._database.value(
            "SELECT 1 FROM claim_codes WHERE channel = ? AND expires_at > ? AND failures < ?",
            (self._channel, now_text(self._clock), CODE_ATTEMPTS),
        )
        return found is not None

    async def is_member(self, user_id: int) -> bool:
        """Whether a user has claimed the bot."""
        found = await self._database.value(
            "SELECT 1 FROM members WHERE channel = ? AND user_id = ?", (self._channel, user_id)
        )
        return found is not None

    async def has_members(self) -> bool:
        """Whether anybody has claimed the bot."""
        found = await self._database.value("SELECT 1 FROM members WHERE channel = ? LIMIT 1", (self._channel,))
        return found is not None


# who reads the database, or a backup of it, must not be able to claim the bot
def _digest(code: str) -> str:
    return hashlib.sha256(code.strip().upper().encode()).hexdigest()
