"""Archives: the entries that compaction makes (S1). Written once, found by name ever after."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memory.clock import Clock, now_text

if TYPE_CHECKING:
    from memory.database import Database

_NAME_WORDS = 3
_WORD = re.compile(r"[^\W_]{3,}")
_COMMON = frozenset(
    "about after also and are asked assistant been but can conversation conversations discussed did does for from "
    "had has have her his how into its key not other our out said she should some summary talked than that the "
    "their them then there they this told topics user wants was were what when where which who will with would "
    "you your earlier".split()
)
"""Words of summaries that say nothing about what this one is about."""


class ArchiveStore:
    """The archives among an owner's entries."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def add(self, owner: str, content: str, topic: str) -> str:
        """Store an archive; its generated name, such as `archive-2026-02-07-docker-health-checks`.

        topic: the text whose first telling words become part of the name.
        """
        now = now_text(self._clock)
        stem = archive_stem(now[:10], topic)
        async with self._database.transaction() as connection:
            taken = {
                str(row[0])
                for row in await connection.execute_fetchall(
                    "SELECT name FROM names WHERE owner = ? AND name >= ? AND name < ?",
                    (owner, stem, stem + "\uffff"),
                )
            }
            name, number = stem, 1
            while name in taken:
                number += 1
                name = f"{stem}-{number}"
            cursor = await connection.execute(
                "INSERT INTO entries (owner, kind, content, last_reinforced_at, valid_from, author, created_at)"
                " VALUES (?, 'archive', ?, ?, ?, 'compaction', ?)",
                (owner, content, now, now, now),
            )
            await connection.execute(
                "INSERT INTO names (owner, name, entry_id) VALUES (?, ?, ?)", (owner, name, cursor.lastrowid)
            )
        return name

    async def count(self, owner: str) -> int:
        """How many archives an owner has."""
        return int(
            await self._database.value(
                "SELECT count(*) FROM entries WHERE owner = ? AND kind = 'archive' AND deleted_at IS NULL",
                (owner,),
            )
        )


def archive_stem(day: str, topic: str) -> str:
    """The name of an archive of `day` before it is made unique: words that can be read, typed and searched."""
    return "-".join(["archive", day, *_telling_words(topic)])


def _telling_words(topic: str) -> list[str]:
    words: list[str] = []
    for word in _WORD.findall(topic.lower()):
        if word not in _COMMON and word not in words and not word.isdigit():
            words.append(word[:24])
        if len(words) == _NAME_WORDS:
            break
    return words
