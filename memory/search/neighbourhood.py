"""What was said around messages that were found: the turns that they are part of, and what stood before them."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memory.store.database import Database, Row

REACH = 4
"""How many messages before and after one belong to its surroundings."""
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
    """The messages around those that were found.

    Of each that was found all that stood up to REACH before it is here, so that two of them which are at most REACH
    apart here are so in their conversation.
    """

    def __init__(self, found: Iterable[int], rows: Sequence[Row]) -> None:
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
        known = set(found) & self._places.keys()
        for conversation in conversations.values():
            ids = [row["id"] for row in conversation]
            for place, one in enumerate(ids):
                for other in ids[max(0, place - REACH) : place]:
                    if one in known and other in known:
                        self._near[one].append(other)
                        self._near[other].append(one)

    def __contains__(self, message: int) -> bool:
        return message in self._places

    def until(self, message: int, most: int) -> list[Row]:
        """A message and what was said before it, the nearest first."""
        place, conversation = self._places[message]
        return conversation[max(0, place + 1 - most) : place + 1][::-1]

    def near(self, message: int) -> list[int]:
        """The messages that were found too and stand at most REACH before or after one."""
        return self._near[message]

    def turn(self, number: int) -> list[Row]:
        """What was said in a turn."""
        return self._turns[number]


async def neighbourhood(database: Database, found: Sequence[int]) -> Neighbourhood:
    """What was said around messages, in one read; none where there are none."""
    return Neighbourhood(found, await database.rows(_AROUND, (json.dumps(found),)) if found else [])
