"""Lookup of the message in the log that contains a quote, and of the messages around it."""

from __future__ import annotations

from memory.facts.fact import Citation, find_typed_source
from memory.log.sessions import message_from_row
from memory.messages import Message, Provenance
from memory.search.search import Search
from memory.search.types import MESSAGE_KIND, Filter
from memory.store.database import Database
from memory.text.wording import is_quoted_from

MESSAGES_BEFORE, MESSAGES_AFTER = 10, 30
"""Number of messages to read around the source of a fact."""
MAX_CANDIDATES = 50
"""Number of search results that are checked for the exact quote."""

_AROUND = """
SELECT * FROM (SELECT * FROM spoken
    WHERE conversation_id = (SELECT conversation_id FROM messages WHERE id = :id) AND id <= :id
    ORDER BY id DESC LIMIT :before)
UNION SELECT * FROM (SELECT * FROM spoken
    WHERE conversation_id = (SELECT conversation_id FROM messages WHERE id = :id) AND id > :id
    ORDER BY id LIMIT :after)
ORDER BY id
"""


async def read_messages_around(database: Database, message_id: int | None) -> list[Message]:
    """Return a message and those around it, or an empty list if it was deleted."""
    rows = await database.rows(_AROUND, {"id": message_id, "before": MESSAGES_BEFORE + 1, "after": MESSAGES_AFTER})
    return [message_from_row(row) for row in rows]


class QuotedMessages:
    """Looks up quotes in the log for programs without a conversation."""

    def __init__(self, database: Database, search: Search) -> None:
        self._database = database
        self._search = search

    async def find_around(self, quote: str, owner: str) -> list[Message]:
        """Return the messages around a typed message that contains `quote`, or an empty list."""
        only = Filter(kinds=(MESSAGE_KIND,))
        for hit in await self._search.find(quote, owner, only=only, limit=MAX_CANDIDATES):
            if hit.provenance is Provenance.TYPED and is_quoted_from(quote, hit.content):
                messages = await read_messages_around(self._database, hit.id)
                if find_typed_source(Citation(None, quote), messages) is not None:
                    return messages
        return []
