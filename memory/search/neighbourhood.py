"""The messages around the hits of a search."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence

from memory.store.database import Database, Row

REACH = 4
"""Number of messages before and after a message that count as its surroundings."""
_AROUND = f"""
WITH found AS (SELECT id, conversation_id, turn_id FROM messages WHERE id IN (SELECT value FROM json_each(?))),
before AS (
    SELECT n.id FROM found f JOIN messages n ON n.id IN (
        SELECT id FROM spoken WHERE conversation_id = f.conversation_id AND id <= f.id
        ORDER BY id DESC LIMIT {REACH + 1})
    UNION SELECT m.id FROM found f JOIN messages m ON m.turn_id = f.turn_id)
SELECT id, conversation_id, turn_id, role, speaker, content, coalesce(provenance, 'typed') AS provenance
FROM spoken WHERE id IN (SELECT id FROM before) ORDER BY id
"""


class Neighbourhood:
    """The messages around the hits.

    It holds the REACH messages before each hit, so that distances up to REACH between hits are the same as in the
    conversation.
    """

    def __init__(self, results: Iterable[int], rows: Sequence[Row]) -> None:
        conversations: defaultdict[int, list[Row]] = defaultdict(list)
        self._turns: defaultdict[int, list[Row]] = defaultdict(list)
        for row in rows:
            conversations[row["conversation_id"]].append(row)
            self._turns[row["turn_id"]].append(row)
        self._places = {
            row["id"]: (place, conversation)
            for conversation in conversations.values()
            for place, row in enumerate(conversation)
        }
        self._near: defaultdict[int, list[int]] = defaultdict(list)
        ranked = set(results) & self._places.keys()
        for conversation in conversations.values():
            ids = [row["id"] for row in conversation]
            for place, item in enumerate(ids):
                for other in ids[max(0, place - REACH) : place]:
                    if item in ranked and other in ranked:
                        self._near[item].append(other)
                        self._near[other].append(item)

    def __contains__(self, message: int) -> bool:
        return message in self._places

    def get_until(self, message: int, most: int) -> list[Row]:
        """Return a message and those before it, newest first, at most `most` in all."""
        place, conversation = self._places[message]
        return conversation[max(0, place + 1 - most) : place + 1][::-1]

    def find_near_hits(self, message: int) -> list[int]:
        """Return the other hits at most REACH before or after a message."""
        return self._near[message]

    def get_turn(self, number: int) -> list[Row]:
        return self._turns[number]


async def read_neighbourhood(database: Database, results: Sequence[int]) -> Neighbourhood:
    return Neighbourhood(results, await database.rows(_AROUND, (json.dumps(results),)) if results else [])
