"""Which conversations have something to consolidate: rows that survive a restart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.log.sessions import message_of
from memory.store.erasure import IS_KEPT

if TYPE_CHECKING:
    from memory.log.sessions import Session, SessionService
    from memory.messages import Message
    from memory.store.database import Database


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be consolidated. through: the id of the last message that is due, be it spoken or not."""

    conversation_id: int
    owner: str
    messages: list[Message]
    through: int


class DueConversations:
    """The conversations with something to consolidate."""

    def __init__(self, database: Database, sessions: SessionService) -> None:
        self._database = database
        self._sessions = sessions

    async def current(self, session: Session) -> int | None:
        """The current conversation of a session; None where there is none."""
        return (await self._sessions.transcript(session.id)).conversation_id

    async def end(self, session: Session) -> int:
        """End the current conversation; its number of messages."""
        return await self._sessions.clear_messages(session.id)

    async def mark_due(self, conversation_id: int, before_message: int | None = None) -> None:
        """All messages of a conversation, or those before one of them, are to be consolidated."""
        await self._database.write(
            "UPDATE conversations SET consolidation_due = coalesce((SELECT max(id) FROM messages"
            " WHERE conversation_id = ? AND (? IS NULL OR id < ?)), 0) WHERE id = ?",
            (conversation_id, before_message, before_message, conversation_id),
        )

    async def pending(self) -> list[tuple[int, str]]:
        """The conversations with something to consolidate, oldest first, each with its owner."""
        rows = await self._database.rows(
            "SELECT c.id, o.name FROM conversations c JOIN owners o ON o.id = c.owner_id"
            " WHERE c.consolidation_due > c.consolidated_through ORDER BY c.id"
        )
        return [(row["id"], row["name"]) for row in rows]

    async def job(self, conversation_id: int) -> Job | None:
        """What is due of a conversation; None when that is gone."""
        about = await self._database.row(
            "SELECT o.name AS owner, c.consolidated_through, c.consolidation_due FROM conversations c"
            " JOIN owners o ON o.id = c.owner_id WHERE c.id = ?",
            (conversation_id,),
        )
        if about is None:
            return None
        rows = await self._database.rows(
            "SELECT * FROM spoken WHERE conversation_id = ? AND id > ? AND id <= ? ORDER BY id",
            (conversation_id, about["consolidated_through"], about["consolidation_due"]),
        )
        return Job(conversation_id, about["owner"], [message_of(row) for row in rows], about["consolidation_due"])

    async def is_gone(self, conversation_id: int) -> bool:
        """Whether the user had everything forgotten meanwhile: then nothing of it is written."""
        query = f"SELECT 1 FROM conversations c JOIN owners o ON o.id = c.owner_id WHERE c.id = ? AND {IS_KEPT}"
        return await self._database.value(query, (conversation_id,)) is None

    async def mark_done(self, conversation_id: int, through: int) -> None:
        """The result for all messages up to one is on disk."""
        await self._database.write(
            "UPDATE conversations SET consolidated_through = max(consolidated_through, ?) WHERE id = ?",
            (through, conversation_id),
        )
