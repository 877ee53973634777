"""A private talk: from /private to /new memory is read, and nothing is kept.

That a session is private stands in `sessions.private`. What is said there is marked by the store itself (triggers in
memory/store/schema.sql) and left out of all that is made of the log; here it is deleted, with whatever else of it
the service has kept meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.store.pending_erasures import record_erasure

if TYPE_CHECKING:
    from memory.store.database import Database
    from memory.store.pending_erasures import PendingErasures

_OF_SESSION = "conversation_id IN (SELECT id FROM conversations WHERE session_id = :session)"
_SETTLED = "session_id = :session AND private AND state <> 'waiting'"

_DELETIONS = (
    # first, for the triggers that mark what is private
    "UPDATE sessions SET private = 0, activated = NULL WHERE id = :session",
    f"DELETE FROM turns WHERE private AND {_OF_SESSION}",  # with their messages
    f"DELETE FROM markers WHERE summary IS NOT NULL AND {_OF_SESSION}",
    "DELETE FROM media WHERE private AND session_id = :session",  # with their parts
    f"DELETE FROM buttons WHERE outbox_id IN (SELECT id FROM outbox WHERE {_SETTLED})",
    # mail is emptied and not deleted: what comes again, or is about it, is known by its ids; what is still to be sent
    # is emptied when that is done
    f"UPDATE outbox SET text = '', failure = NULL WHERE {_SETTLED}",
    "UPDATE inbox SET payload = '{}', state = 'done' WHERE session_id = :session AND private",
    "DELETE FROM set_aside WHERE session_id = :session",
)


class PrivateTalks:
    """Begins and ends the private talks of sessions."""

    def __init__(self, database: Database, traces: PendingErasures) -> None:
        self._database = database
        self._traces = traces

    async def begin(self, session_id: str) -> None:
        """Keep nothing of what is said in a session from now on, until `end`."""
        await self._database.write("UPDATE sessions SET private = 1 WHERE id = ?", (session_id,))

    async def end(self, session_id: str) -> frozenset[int]:
        """Delete all that was said in a private talk, and keep what is said from now on.

        The inbox ids of what /stop held back there, which no turn is to answer any more. Scrubbing the file is left to
        `scrub`, or to the next start.
        """
        of_it: dict[str, object] = {"session": session_id}
        async with self._database.transaction() as connection:
            held = await connection.execute_fetchall(
                "SELECT id FROM inbox WHERE session_id = :session AND private AND state = 'held'", of_it
            )
            gone = frozenset(int(row[0]) for row in held)
            for deletion in _DELETIONS:
                await connection.execute(deletion, of_it)
            await record_erasure(connection, indexed=False)
        return gone

    async def scrub(self) -> None:
        """Leave nothing in any file of what was deleted. Raises StoreError for what stays until later."""
        await self._traces.remove()
