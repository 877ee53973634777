"""Read-only queries for the memory page: the timeline of entries, conversations, changes and growth."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from config.texts import shorten_to_line
from memory.clock import from_text
from memory.log.sessions import message_from_row
from memory.messages import Message
from memory.store.database import Database, Row
from memory.store.entry import Entry, Kind
from memory.store.entry_rows import ENTRY_ROWS, LIVE, entry_from_row

PAGE_SIZE = 30
"""Number of entries, conversations or changes on one page."""
MAX_CONVERSATION_MESSAGES = 200
_OWNED = "e.owner_id = (SELECT id FROM owners WHERE name = ?)"
_STATES = {
    "all": "1",
    "live": LIVE,
    "unsure": "e.unconfirmed IS NOT NULL",
    "past": f"e.unconfirmed IS NULL AND NOT ({LIVE})",
}


@dataclass(frozen=True, slots=True)
class ListedEntry:
    """An entry of the timeline.

    Attributes:
        successor: The text of the entry that superseded it.
        source: The ids of the conversation and the message that it cites.
    """

    entry: Entry
    successor: str | None
    source: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class ListedConversation:
    id: int
    started_at: datetime
    title: str
    messages: int
    program: str | None


@dataclass(frozen=True, slots=True)
class ListedChange:
    """A change, with the texts of its entries.

    Attributes:
        replaced: Those of the texts that others of this change replaced.
        in_file: Whether it changed MEMORY.md.
    """

    number: int
    operation: str
    author: str
    at: datetime
    texts: tuple[str, ...]
    replaced: frozenset[str]
    in_file: bool


class MemoryBrowser:
    """Reads the memory of one owner for display. Each method sees only the given owner's data."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read_timeline(self, owner: str, state: str = "all", before: int | None = None) -> list[ListedEntry]:
        """Return a page of entries, newest first.

        Args:
            state: `all`, `live`, `unsure` or `past`.
            before: The id of the last entry on the page before.
        """
        rows = await self._database.rows(
            f"{_build_query()} WHERE {_OWNED} AND e.deleted_at IS NULL AND e.kind <> ? AND ({_STATES[state]})"
            " AND (? IS NULL OR e.id < ?) ORDER BY e.id DESC LIMIT ?",
            (owner, Kind.ARCHIVE, before, before, PAGE_SIZE),
        )
        return [_entry_from_row(row) for row in rows]

    async def read_entry(self, owner: str, entry_id: int) -> ListedEntry | None:
        row = await self._database.row(f"{_build_query()} WHERE {_OWNED} AND e.id = ?", (owner, entry_id))
        return None if row is None else _entry_from_row(row)

    async def read_entries(self, owner: str, entry_ids: Sequence[int]) -> dict[int, ListedEntry]:
        """Return those of the entries that belong to the owner, by their ids."""
        rows = await self._database.rows(
            f"{_build_query()} WHERE {_OWNED} AND e.id IN (SELECT value FROM json_each(?))",
            (owner, json.dumps([*entry_ids])),
        )
        return {row["id"]: _entry_from_row(row) for row in rows}

    async def read_conversations(self, owner: str, before: int | None = None) -> list[ListedConversation]:
        """Return a page of conversations that have messages, newest first."""
        began = "(SELECT started_at FROM conversations WHERE id = :before)"
        rows = await self._database.rows(
            "SELECT c.id, c.started_at, i.program, count(*) AS messages,"
            " (SELECT content FROM spoken f WHERE f.conversation_id = c.id AND f.role = 'user' ORDER BY f.id LIMIT 1)"
            " AS title FROM conversations c JOIN spoken m ON m.conversation_id = c.id"
            " LEFT JOIN imported i ON i.conversation_id = c.id"
            " WHERE c.owner_id = (SELECT id FROM owners WHERE name = :owner)"
            f" AND (:before IS NULL OR (c.started_at, c.id) < ({began}, :before))"
            " GROUP BY c.id ORDER BY c.started_at DESC, c.id DESC LIMIT :most",
            {"owner": owner, "before": before, "most": PAGE_SIZE},
        )
        return [
            ListedConversation(
                row["id"],
                from_text(row["started_at"]),
                shorten_to_line(row["title"] or ""),
                row["messages"],
                row["program"],
            )
            for row in rows
        ]

    async def read_conversation(self, owner: str, conversation: int, from_message: int = 0) -> list[Message]:
        rows = await self._database.rows(
            "SELECT m.* FROM spoken m JOIN conversations c ON c.id = m.conversation_id"
            " WHERE c.id = ? AND c.owner_id = (SELECT id FROM owners WHERE name = ?) AND m.id >= ?"
            " ORDER BY m.id LIMIT ?",
            (conversation, owner, from_message, MAX_CONVERSATION_MESSAGES),
        )
        return [message_from_row(row) for row in rows]

    async def read_changes(self, owner: str) -> list[ListedChange]:
        rows = await self._database.rows(
            "SELECT c.batch, min(c.operation) AS operation, min(c.author) AS author, max(c.at) AS at,"
            # Entry 0 is MEMORY.md: its column holds Markdown instead of JSON.
            " max(c.entry_id = 0) AS in_file, json_group_array(CASE WHEN c.entry_id = 0 THEN ''"
            " ELSE coalesce(e.content, json_extract(c.before, '$.row.content'), '') END) AS texts,"
            " json_group_array(CASE WHEN EXISTS (SELECT 1 FROM changes s WHERE s.batch = c.batch"
            " AND s.entry_id = e.superseded_by) THEN e.content END) AS replaced"
            " FROM changes c LEFT JOIN entries e ON e.id = c.entry_id"
            " WHERE c.owner_id = (SELECT id FROM owners WHERE name = ?) AND c.undone_at IS NULL"
            " AND c.operation <> 'withdraw'"
            " GROUP BY c.batch ORDER BY c.batch DESC LIMIT ?",
            (owner, PAGE_SIZE),
        )
        return [
            ListedChange(
                row["batch"],
                row["operation"],
                row["author"],
                from_text(row["at"]),
                tuple(dict.fromkeys(text for text in json.loads(row["texts"]) if text)),
                frozenset(text for text in json.loads(row["replaced"]) if text),
                bool(row["in_file"]),
            )
            for row in rows
        ]

    async def count_by_month(self, owner: str) -> list[tuple[str, int, int]]:
        """Return for each month how many memories were learned in it, and how many of them are still valid."""
        rows = await self._database.rows(
            f"SELECT substr(e.created_at, 1, 7) AS month, count(*) AS learned, sum({LIVE}) AS holding FROM entries e"
            f" WHERE {_OWNED} AND e.deleted_at IS NULL AND e.kind <> ? GROUP BY month ORDER BY month",
            (owner, Kind.ARCHIVE),
        )
        return [(row["month"], row["learned"], row["holding"]) for row in rows]


def _build_query() -> str:
    return ENTRY_ROWS.replace(
        " FROM entries e JOIN owners o ON o.id = e.owner_id",
        ", s.content AS successor, m.conversation_id AS said_in FROM entries e JOIN owners o ON o.id = e.owner_id"
        " LEFT JOIN entries s ON s.id = e.superseded_by AND s.id <> e.id"
        " LEFT JOIN messages m ON m.id = e.source_message_id",
    )


def _entry_from_row(row: Row) -> ListedEntry:
    said_in = row["said_in"]
    source = None if said_in is None else (int(said_in), int(row["source_message_id"]))
    return ListedEntry(entry_from_row(row), row["successor"], source)
