"""Telling what is due: message and state change together, so that it is told once whatever ends the program.

What becomes of a reminder when its message is settled, a trigger on the outbox says (memory/store/schema.sql).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from config.texts import use_language
from memory.clock import Clock, now_text, to_text
from memory.log.sessions import Address
from memory.reminders.reminder import REMINDER_ROWS, due_of, reminder_of
from memory.reminders.wording import buttons, message
from memory.store.button_rows import place_buttons

if TYPE_CHECKING:
    from datetime import datetime

    import aiosqlite

    from memory.reminders.reminder import Due
    from memory.reminders.wording import LanguageOf
    from memory.store.database import Database

Serves = Callable[[str], Awaitable[bool]]
"""Tells by its id whether a session is one that the bot may speak to."""


def due_rows(place: str, now: datetime, *, tasks: bool) -> tuple[str, dict[str, object]]:
    """The query for what is due, and its parameters: tasks, or what is only told.

    place: what the ids of the sessions begin with.
    """
    query = (
        f"{REMINDER_ROWS} LEFT JOIN sessions s ON s.id = r.session_id"
        " WHERE r.state = 'waiting' AND r.next_at <= :now AND substr(r.session_id, 1, length(:place)) = :place"
        " AND (r.task IS NOT NULL) = :tasks"
        # whoever blocked the bot is told when they are back
        " AND coalesce(s.state, '') <> 'TERMINATED' ORDER BY r.next_at, r.id"
    )
    return query, {"now": to_text(now), "place": place, "tasks": tasks}


async def go_on(connection: aiosqlite.Connection, due: Due, outbox_id: int | None) -> None:
    """A recurring one waits for its next time, any other for the confirmation.

    Counted from the hour that was told: one that has come since then is told, too.
    """
    coming = due.reminder.rule.after(due.at) if due.reminder.is_recurring else None
    await connection.execute(
        "UPDATE reminders SET state = ?, next_at = ?, told_for = ?, outbox_id = ? WHERE id = ? AND state = 'waiting'",
        (
            "telling" if coming is None else "waiting",
            to_text(coming) if coming is not None else None,
            to_text(due.at),
            outbox_id,
            due.reminder.id,
        ),
    )


class ReminderDelivery:
    """Tells what is due, each chat in its language: through an outbox where a channel has one."""

    def __init__(self, database: Database, language_of: LanguageOf, clock: Clock) -> None:
        self._database = database
        self._language_of = language_of
        self._clock = clock

    async def put_out(self, channel: str, serves: Serves) -> list[str]:
        """Put the messages of what is due in a channel into its outbox; the sessions that they go to.

        What is due to one that is not served any more waits until it is again.
        """
        now = self._clock()
        query, parameters = due_rows(f"{channel}:", now, tasks=False)
        # looked at first without the lock: most of the time there is nothing
        waiting = {row["session_id"] for row in await self._database.rows(query, parameters)}
        served = {session_id: await self._language(session_id) for session_id in waiting if await serves(session_id)}
        if not served:
            return []
        sessions: list[str] = []
        async with self._database.transaction() as connection:
            for row in await connection.execute_fetchall(query, parameters):
                if row["session_id"] not in served:
                    continue
                due = due_of(reminder_of(row), now)
                with use_language(served[row["session_id"]]):
                    text, keyboard = message(due, now), buttons(due.reminder)
                cursor = await connection.execute(
                    "INSERT INTO outbox (channel, session_id, text, created_at) VALUES (?, ?, ?, ?)",
                    (channel, due.reminder.session_id, text, now_text(self._clock)),
                )
                await place_buttons(connection, cursor.lastrowid, keyboard, asker=None, now=self._clock())
                await go_on(connection, due, cursor.lastrowid)
                sessions.append(due.reminder.session_id)
        return list(dict.fromkeys(sessions))

    async def due_in(self, session_id: str) -> list[tuple[Due, str]]:
        """What is due in a session of a channel without an outbox, with its message."""
        now = self._clock()
        rows = await self._database.rows(*due_rows(session_id, now, tasks=False))
        dues = [due_of(reminder_of(row), now) for row in rows if row["session_id"] == session_id]
        with use_language(await self._language(session_id)):
            return [(due, message(due, now)) for due in dues]

    async def shown(self, due: Due) -> None:
        """A message of `due_in` stands on the screen."""
        async with self._database.transaction() as connection:
            await go_on(connection, due, None)
            await connection.execute(
                "UPDATE reminders SET told_at = ?, state = iif(state = 'telling', 'told', state)"
                " WHERE id = ? AND state IN ('telling', 'waiting')",
                (now_text(self._clock), due.reminder.id),
            )

    async def _language(self, session_id: str) -> str:
        return await self._language_of(Address.of(session_id).owner)
