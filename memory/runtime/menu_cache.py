"""Fingerprints of the menus and texts that were published to a channel, so that only changes are sent again."""

from __future__ import annotations

import hashlib
import json

from memory.store.database import Database


class MenuCache:
    """Fingerprints of the content published to one channel, by kind of content."""

    def __init__(self, database: Database, channel: str) -> None:
        self._database = database
        self._channel = channel

    async def is_shown(self, what: str, content: object) -> bool:
        """Return True if `content`, a JSON value, is what was published last."""
        return await self._read(what) == _compute_fingerprint(content)

    async def has_any(self, what: str) -> bool:
        return await self._read(what) is not None

    async def store(self, what: str, content: object) -> None:
        await self._database.write(
            "INSERT OR REPLACE INTO published (channel, what, fingerprint) VALUES (?, ?, ?)",
            (self._channel, what, _compute_fingerprint(content)),
        )

    async def _read(self, what: str) -> str | None:
        value = await self._database.value(
            "SELECT fingerprint FROM published WHERE channel = ? AND what = ?", (self._channel, what)
        )
        return None if value is None else str(value)


def _compute_fingerprint(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
