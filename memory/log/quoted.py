"""Finds the message of the log that a quote is from, and the messages around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.facts.fact import Citation, typed_source
from memory.log.sessions import message_of
from memory.messages import Provenance
from memory.search.search import MESSAGE_KIND, Filter
from memory.text.same_words import is_quoted_from

if TYPE_CHECKING:
    from memory.messages import Message
    from memory.search.search import Search
    from memory.store.database import Database

BEFORE, AFTER = 10, 30
"""Messages around the one that a fact came from that are read again."""
MOST_HOLDING = 50
"""Messages that fit a quote best, among which the one is looked for that holds it word for word."""

_AROUND = """
SELECT * FROM (SELECT * FROM spoken
    WHERE conversation_id = (SELECT conversation_id FROM messages WHERE id = :id) AND id <= :id
    ORDER BY id DESC LIMIT :before)
UNION SELECT * FROM (SELECT * FROM spoken
    WHERE conversation_id = (SELECT conversation_id FROM messages WHERE id = :id) AND id > :id
    ORDER BY id LIMIT :after)
ORDER BY id
"""


async def messages_around(database: Database, message_id: int | None) -> list[Message]:
    """A message with what was said just before it and after it; nothing where it is gone."""
    rows = await database.rows(_AROUND, {"id": message_id, "before": BEFORE + 1, "after": AFTER})
    return [message_of(row) for row in rows]


class QuotedMessages:
    """Looks citations up in the log, for who has no conversation in view."""

    def __init__(self, database: Database, search: Search) -> None:
        self._database = database
        self._search = search

    async def around(self, quote: str, owner: str) -> list[Message]:
        """The messages around one that its user typed and that holds `quote`; nothing where there is none such."""
        only = Filter(kinds=(MESSAGE_KIND,))
        for hit in await self._search.find(quote, owner, only=only, limit=MOST_HOLDING):
            if hit.provenance is Provenance.TYPED and is_quoted_from(quote, hit.content):
                messages = await messages_around(self._database, hit.id)
                if typed_source(Citation(None, quote), messages) is not None:
                    return messages
        return []
