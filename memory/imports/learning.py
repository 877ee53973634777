"""Learns from conversations that were imported, where their owner asks for it: the newest first, so many tokens a day.

What is learned waits for its owner's word like all that is imported, and is part of the import: one /undo takes back
both. What cites nothing, or what a second look doubts, is left out. Nothing else comes of such a conversation: no
history, and nothing is forgotten that it asks to forget.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import structlog

from memory.consolidation.parts import parts
from memory.facts.fact import Doubt, Excerpt
from memory.log.sessions import message_of
from memory.messages import Provenance, Role
from memory.store.entry import Author, Operation
from memory.store.entry_rows import find_owner_id
from memory.store.forgotten import forgotten_words

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from memory.consolidation.extractor import Extractor
    from memory.consolidation.parts import Part
    from memory.facts.checker import FactChecker
    from memory.facts.fact import CheckedFact
    from memory.facts.fact_store import FactStore
    from memory.ledger.ledger import Ledger
    from memory.messages import Message
    from memory.store.database import Database

log = structlog.get_logger(__name__)

NEWEST = 30
"""Conversations that are learned from when it is asked for once."""
TRIES = 3
"""How often a conversation is tried of which the model gives no usable answer."""
PATIENCE = 120.0
"""Seconds that the model has for each answer; nobody waits for it."""
_OF_IMPORTS = "FROM imported i JOIN conversations c ON c.id = i.conversation_id JOIN owners o ON o.id = i.owner_id"


@dataclass(frozen=True, slots=True)
class LearnedFromImport:
    owner: str
    memories: int


@dataclass(frozen=True, slots=True)
class _Requested:
    conversation: int
    owner: str
    change: int
    learned_through: int


async def request_learning(database: Database, owner: str) -> int:
    """Have the newest imported conversations learned from that were not yet; how many those are."""
    return await database.write(
        f"UPDATE imported SET learning_tries = ? WHERE id IN (SELECT i.id {_OF_IMPORTS} WHERE i.owner_id = ?"
        " AND NOT i.undone AND i.learning_tries = 0 AND i.learned_through <"
        " (SELECT max(m.id) FROM messages m WHERE m.conversation_id = i.conversation_id)"
        " ORDER BY c.ended_at DESC LIMIT ?)",
        (TRIES, await find_owner_id(database, owner), NEWEST),
    )


class ImportLearning:
    """Learns from imported conversations. spent_today: the tokens used since midnight, of at most `limit`."""

    def __init__(
        self,
        database: Database,
        ledger: Ledger,
        facts: FactStore,
        extractor: Extractor,
        checker: FactChecker,
        spent_today: Callable[[], Awaitable[int]],
        limit: int,
    ) -> None:
        self._database = database
        self._ledger = ledger
        self._facts = facts
        self._extractor = extractor
        self._checker = checker
        self._spent_today = spent_today
        self._limit = limit

    async def step(self) -> LearnedFromImport | None:
        """Learn from the newest waiting conversation; None where there is none, or no token left. Raises Postponed."""
        wanted = await self._next()
        if wanted is None or await self._spent_today() >= self._limit:
            return None
        memories, is_whole = 0, True
        rows = await self._database.rows(
            "SELECT * FROM spoken WHERE conversation_id = ? AND id > ? ORDER BY id",
            (wanted.conversation, wanted.learned_through),
        )
        forgotten = await forgotten_words(self._database.rows, wanted.owner)
        messages = [_typed_there(forgotten.masked(message_of(row))) for row in rows]
        for part in parts(messages, self._extractor.contract.part_tokens(), self._extractor.count):
            learned = await self._learn(wanted, part)
            if learned is None:
                is_whole = False
                break
            memories += learned
            # part by part: what a kill interrupts goes on behind the last one
            if part.through is not None:
                await self._database.write(
                    "UPDATE imported SET learned_through = ? WHERE conversation_id = ?",
                    (part.through, wanted.conversation),
                )
        await self._database.write(
            "UPDATE imported SET learning_tries = CASE WHEN ? THEN 0 ELSE learning_tries - 1 END"
            " WHERE conversation_id = ?",
            (is_whole, wanted.conversation),
        )
        log.info("learned_from_import", conversation=wanted.conversation, memories=memories, whole=is_whole)
        return LearnedFromImport(wanted.owner, memories)

    async def _next(self) -> _Requested | None:
        row = await self._database.row(
            "SELECT i.conversation_id, o.name, i.learned_through, min(h.batch) AS batch"
            f" {_OF_IMPORTS} JOIN changes h ON h.entry_id = i.entry_id AND h.undone_at IS NULL"
            " WHERE i.learning_tries > 0 AND NOT i.undone GROUP BY i.id"
            " ORDER BY i.learning_tries DESC, c.ended_at DESC LIMIT 1"
        )
        if row is None:
            return None
        return _Requested(row["conversation_id"], row["name"], row["batch"], row["learned_through"])

    async def _learn(self, wanted: _Requested, part: Part) -> int | None:
        """Learn from a part; the number of memories, None where the model gives no usable answer."""
        owner, deadline = wanted.owner, asyncio.get_running_loop().time() + PATIENCE
        memory = await self._ledger.page(owner)
        answer = await self._extractor.extract(part, owner, memory, deadline)
        if answer is None:
            return None
        facts = answer.facts
        memories = await self._facts.related(owner, facts, part.messages[0].id or 0) if facts else []
        excerpt = Excerpt(part.messages, self._extractor.zone_of(owner), part.before)
        checked, _forgetting = await self._checker.check(facts, excerpt, memories, deadline)
        if not checked:
            return 0
        async with self._ledger.change(
            owner, Operation.IMPORT, Author.IMPORT, trusted=False, continues=wanted.change
        ) as change:
            if not await change.read(
                "SELECT 1 FROM imported WHERE conversation_id = ? AND NOT undone", (wanted.conversation,)
            ):
                return 0  # it was undone meanwhile
            waiting = [_unconfirmed(fact) for fact in checked if _is_cited(fact)]
            learned = await self._facts.learn_in(change, waiting, part.messages[0].id or 0)
        return len(learned)


def _typed_there(message: Message) -> Message:
    """A message as it was where it was said: there its owner typed it."""
    return replace(message, provenance=Provenance.TYPED if message.role is Role.USER else None)


def _is_cited(checked: CheckedFact) -> bool:
    """Whether the conversation holds the words of a fact, and no look doubts it."""
    return checked.number is not None and checked.doubt in (None, Doubt.NOT_CHECKED)


def _unconfirmed(checked: CheckedFact) -> CheckedFact:
    """A fact that its owner has to confirm, and that holds since it was said."""
    said_on = checked.message.created_at.date() if checked.message is not None else None
    return replace(checked, doubt=Doubt.IMPORTED, fact=replace(checked.fact, since=checked.fact.since or said_on))
