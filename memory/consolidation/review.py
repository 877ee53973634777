"""The later look at what waited for one: facts that no model has looked at become what a look says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.consolidation.outcome import Consolidated
from memory.facts.fact import Citation, Doubt, Excerpt, Fact
from memory.log.quoted import messages_around
from memory.store.entry import Kind
from memory.store.entry_rows import ENTRY_ROWS, entry_of

if TYPE_CHECKING:
    from memory.clock import TimezoneLookup
    from memory.consolidation.fact_writer import FactWriter
    from memory.facts.checker import FactChecker
    from memory.facts.fact import CheckedFact
    from memory.facts.fact_store import FactStore
    from memory.messages import Message
    from memory.store.database import Database
    from memory.store.entry import Entry

MOST = 12
"""Facts that are looked at in one request."""

_WAITING = f"e.unconfirmed = '{Doubt.NOT_CHECKED}' AND e.deleted_at IS NULL"


class Review:
    """Looks at the facts of one owner at a time that are still to be looked at."""

    def __init__(
        self, database: Database, facts: FactStore, checker: FactChecker, writer: FactWriter, zone_of: TimezoneLookup
    ) -> None:
        self._database = database
        self._facts = facts
        self._checker = checker
        self._writer = writer
        self._zone_of = zone_of

    async def owners(self) -> list[str]:
        """Whose facts wait."""
        rows = await self._database.rows(
            f"SELECT DISTINCT o.name FROM entries e JOIN owners o ON o.id = e.owner_id WHERE {_WAITING} ORDER BY o.id"
        )
        return [row["name"] for row in rows]

    async def run(self, owner: str, deadline: float) -> Consolidated:
        """Look at the oldest that wait, conversation by conversation. Raises Postponed.

        deadline: on the loop's clock.
        """
        rows = await self._database.rows(
            f"{ENTRY_ROWS} WHERE {_WAITING} AND o.name = ? ORDER BY e.id LIMIT ?", (owner, MOST)
        )
        done = Consolidated()
        waiting = [entry_of(row) for row in rows]
        while waiting:
            messages = await messages_around(self._database, waiting[0].source_message_id)
            numbers = {message.id for message in messages}
            # what came from the same stretch is looked at together
            together = [entry for entry in waiting if entry is waiting[0] or entry.source_message_id in numbers]
            waiting = [entry for entry in waiting if entry not in together]
            settled = await self._look(owner, together, messages, deadline)
            if settled:
                done += await self._writer.settle(owner, settled)
        return done

    async def _look(
        self, owner: str, entries: list[Entry], messages: list[Message], deadline: float
    ) -> list[tuple[Entry, CheckedFact]]:
        """The entries that there is an answer for, each with it."""
        facts = [_fact_of(entry) for entry in entries]
        memories = await self._facts.related(owner, facts, messages[0].id or 0) if messages else []
        excerpt = Excerpt(messages, self._zone_of(owner))
        checked, _ = await self._checker.check(facts, excerpt, memories, deadline)
        pairs = zip(entries, checked, strict=True)
        return [(entry, fact) for entry, fact in pairs if fact.doubt is not Doubt.NOT_CHECKED]


def _fact_of(entry: Entry) -> Fact:
    citation = Citation(None, entry.quote) if entry.quote else None
    kind = entry.kind if isinstance(entry.kind, Kind) else Kind.FACT
    return Fact(entry.subject or entry.name, entry.content, kind, citation=citation)
