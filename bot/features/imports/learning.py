"""Learns from imported conversations at their owner's request, newest first, within a daily token budget.

Learned facts are unconfirmed, like all imported memories, and belong to the import, so that one /undo reverts both.
Doubtful facts and facts without a citation are skipped. Imported conversations add no history and delete nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import structlog

from memory.consolidation.extractor import Extractor
from memory.consolidation.parts import Part, divide_into_parts
from memory.facts.checker import FactChecker
from memory.facts.fact import CheckedFact, Doubt, Excerpt
from memory.facts.fact_learner import FactLearner
from memory.ledger.ledger import Ledger
from memory.log.sessions import message_from_row
from memory.messages import Message, Provenance, Role
from memory.store.database import Database
from memory.store.entry import Author, Operation
from memory.store.entry_rows import find_owner_id
from memory.store.forgotten import read_forgotten_words

log = structlog.get_logger(__name__)

CONVERSATIONS_PER_REQUEST = 30
MAX_TRIES = 3
"""Maximum number of attempts for a conversation if the model gives no usable answer."""
TIMEOUT_SECONDS = 120.0
"""Timeout of each request to the model. No user waits for it."""
_FROM_IMPORTS = "FROM imported i JOIN conversations c ON c.id = i.conversation_id JOIN owners o ON o.id = i.owner_id"


@dataclass(frozen=True, slots=True)
class ImportLearningResult:
    owner: str
    memories: int


@dataclass(frozen=True, slots=True)
class _LearningRequest:
    conversation: int
    owner: str
    change: int
    learned_through: int


async def request_learning(database: Database, owner: str) -> int:
    """Queue the newest imported conversations for learning. Return their number."""
    return await database.write(
        f"UPDATE imported SET learning_tries = ? WHERE id IN (SELECT i.id {_FROM_IMPORTS} WHERE i.owner_id = ?"
        " AND NOT i.undone AND i.learning_tries = 0 AND i.learned_through <"
        " (SELECT max(m.id) FROM messages m WHERE m.conversation_id = i.conversation_id)"
        " ORDER BY c.ended_at DESC LIMIT ?)",
        (MAX_TRIES, await find_owner_id(database.rows, owner), CONVERSATIONS_PER_REQUEST),
    )


class ImportLearning:
    """Learns from imported conversations.

    Args:
        spent_today: Returns the number of tokens used since midnight.
        limit: Maximum number of tokens per day.
    """

    def __init__(
        self,
        database: Database,
        ledger: Ledger,
        facts: FactLearner,
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

    async def step(self) -> ImportLearningResult | None:
        """Learn from the next conversation. Return None if the queue is empty or the budget is spent.

        Raises Postponed.
        """
        request = await self._find_next()
        if request is None or await self._spent_today() >= self._limit:
            return None
        memories, is_whole = 0, True
        rows = await self._database.rows(
            "SELECT * FROM spoken WHERE conversation_id = ? AND id > ? ORDER BY id",
            (request.conversation, request.learned_through),
        )
        forgotten = await read_forgotten_words(self._database.rows, request.owner)
        messages = [_restore_provenance(forgotten.mask(message_from_row(row))) for row in rows]
        for part in divide_into_parts(messages, self._extractor.contract.part_tokens(), self._extractor.count):
            learned = await self._learn(request, part)
            if learned is None:
                is_whole = False
                break
            memories += learned
            # Record the progress after each part, so that a restart continues with the next one.
            if part.through is not None:
                await self._database.write(
                    "UPDATE imported SET learned_through = ? WHERE conversation_id = ?",
                    (part.through, request.conversation),
                )
        await self._database.write(
            "UPDATE imported SET learning_tries = CASE WHEN ? THEN 0 ELSE learning_tries - 1 END"
            " WHERE conversation_id = ?",
            (is_whole, request.conversation),
        )
        log.info("learned_from_import", conversation=request.conversation, memories=memories, whole=is_whole)
        return ImportLearningResult(request.owner, memories)

    async def _find_next(self) -> _LearningRequest | None:
        row = await self._database.row(
            "SELECT i.conversation_id, o.name, i.learned_through, min(h.batch) AS batch"
            f" {_FROM_IMPORTS} JOIN changes h ON h.entry_id = i.entry_id AND h.undone_at IS NULL"
            " WHERE i.learning_tries > 0 AND NOT i.undone GROUP BY i.id"
            " ORDER BY i.learning_tries DESC, c.ended_at DESC LIMIT 1"
        )
        if row is None:
            return None
        return _LearningRequest(row["conversation_id"], row["name"], row["batch"], row["learned_through"])

    async def _learn(self, request: _LearningRequest, part: Part) -> int | None:
        """Learn from a part. Return the number of memories, or None if the model gave no usable answer."""
        owner, deadline = request.owner, asyncio.get_running_loop().time() + TIMEOUT_SECONDS
        memory = await self._ledger.read_page(owner)
        answer = await self._extractor.extract(part, owner, memory, deadline)
        if answer is None:
            return None
        facts = answer.facts
        memories = await self._facts.find_related(owner, facts, part.messages[0].id or 0) if facts else []
        excerpt = Excerpt(part.messages, self._extractor.zone_of(owner), part.before)
        checked, _forgetting = await self._checker.check(facts, excerpt, memories, deadline)
        if not checked:
            return 0
        async with self._ledger.change(
            owner, Operation.IMPORT, Author.IMPORT, trusted=False, continues=request.change
        ) as change:
            if not await change.read(
                "SELECT 1 FROM imported WHERE conversation_id = ? AND NOT undone", (request.conversation,)
            ):
                return 0  # The import was undone.
            waiting = [_mark_unconfirmed(fact) for fact in checked if _is_cited(fact)]
            learned = await self._facts.learn_in(change, waiting, part.messages[0].id or 0)
        return len(learned)


def _restore_provenance(message: Message) -> Message:
    """Restore the original provenance of a message. The user typed the messages without a speaker elsewhere."""
    is_own = message.role is Role.USER and message.speaker is None and message.provenance is Provenance.IMPORTED
    if is_own:
        return replace(message, provenance=Provenance.TYPED)
    return message if message.role is Role.USER else replace(message, provenance=None)


def _is_cited(checked: CheckedFact) -> bool:
    """Return True if a fact has a citation and no doubt."""
    return checked.number is not None and checked.doubt in (None, Doubt.NOT_CHECKED)


def _mark_unconfirmed(checked: CheckedFact) -> CheckedFact:
    """Return a fact as unconfirmed, valid since its message."""
    message_day = checked.message.created_at.date() if checked.message is not None else None
    return replace(checked, doubt=Doubt.IMPORTED, fact=replace(checked.fact, since=checked.fact.since or message_day))
