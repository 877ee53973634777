"""Delivery of due reminders and tasks, exactly once: each is handed over in the transaction that advances its schedule.

A reminder enters the outbox. A trigger (memory/store/schema.sql) updates its state after the message is sent. A task
enters the channel's inbox (tasks.py).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime

from bot.features.reminders.reminder import REMINDER_ROWS, DueReminder, find_newest_due, reminder_from_row
from bot.features.reminders.wording import LanguageOf, create_buttons, format_message
from config.texts import use_language
from memory.clock import Clock, now_text, to_text
from memory.log.sessions import Address
from memory.store.button_rows import OutgoingReply, put_reply
from memory.store.database import Connection, Database
from pipeline.scheduled import Serves


class ReminderDelivery:
    """Delivers due reminders in the language of each chat."""

    def __init__(self, database: Database, language_of: LanguageOf, clock: Clock) -> None:
        self._database = database
        self._language_of = language_of
        self._clock = clock

    async def deliver(self, channel: str, serves: Serves) -> list[str]:
        """Put due reminders into a channel's outbox and return their sessions. Others stay due."""
        now = self._clock()

        async def put(connection: Connection, due: DueReminder) -> int | None:
            with use_language(await self._get_language(due.reminder.session_id)):
                text, keyboard = format_message(due, now), create_buttons(due.reminder)
            reply = OutgoingReply(channel, text, keyboard=keyboard)
            return await put_reply(connection, due.reminder.session_id, reply, now)

        return await hand_over(self._database, now, f"{channel}:", serves, put, tasks=False)

    async def show(self, session_id: str, show: Callable[[str], object]) -> None:
        """Show the due reminders of a session in a channel without an outbox."""
        for due, text in await self.list_due(session_id):
            show(text)
            # Mark them after showing them: an interruption may repeat a reminder, but never loses one.
            await self.mark_shown(due)

    async def list_due(self, session_id: str) -> list[tuple[DueReminder, str]]:
        """Return the due reminders of a session and their messages."""
        now = self._clock()
        rows = await self._database.rows(*_build_due_query(session_id, now, tasks=False))
        # The query matches a prefix, which also finds the topics of the chat.
        dues = [find_newest_due(reminder_from_row(row), now) for row in rows if row["session_id"] == session_id]
        with use_language(await self._get_language(session_id)):
            return [(due, format_message(due, now)) for due in dues]

    async def mark_shown(self, due: DueReminder) -> None:
        async with self._database.transaction() as connection:
            await _advance_schedule(connection, due, None)
            await connection.execute(
                "UPDATE reminders SET told_at = ?, state = iif(state = 'telling', 'told', state)"
                " WHERE id = ? AND state IN ('telling', 'waiting')",
                (now_text(self._clock), due.reminder.id),
            )

    async def _get_language(self, session_id: str) -> str:
        return await self._language_of(Address.parse(session_id).owner)


async def hand_over(
    database: Database,
    now: datetime,
    place: str,
    serves: Serves,
    put: Callable[[Connection, DueReminder], Awaitable[int | None]],
    *,
    tasks: bool,
) -> list[str]:
    """Call `put` for everything that is due and advance the schedules. Return the sessions."""
    query, parameters = _build_due_query(place, now, tasks=tasks)
    # Read without the lock first, since usually nothing is due.
    waiting = {row["session_id"] for row in await database.rows(query, parameters)}
    served = {session_id for session_id in waiting if await serves(session_id)}
    if not served:
        return []
    async with database.transaction() as connection:
        # Read again under the lock, since another process may have delivered it.
        rows = await connection.execute_fetchall(query, parameters)
        dues = [find_newest_due(reminder_from_row(row), now) for row in rows if row["session_id"] in served]
        for due in dues:
            await _advance_schedule(connection, due, await put(connection, due))
    return list(dict.fromkeys(due.reminder.session_id for due in dues))


def _build_due_query(place: str, now: datetime, *, tasks: bool) -> tuple[str, dict[str, object]]:
    """Return the query for due tasks or reminders, and its parameters."""
    query = (
        f"{REMINDER_ROWS} LEFT JOIN sessions s ON s.id = r.session_id"
        " WHERE r.state = 'waiting' AND r.next_at <= :now AND substr(r.session_id, 1, length(:place)) = :place"
        " AND (r.task IS NOT NULL) = :tasks"
        # Reminders of users who blocked the bot wait until they are back.
        " AND coalesce(s.state, '') <> 'TERMINATED' ORDER BY r.next_at, r.id"
    )
    return query, {"now": to_text(now), "place": place, "tasks": tasks}


async def _advance_schedule(connection: Connection, due: DueReminder, outbox_id: int | None) -> None:
    """Advance the schedule. A recurring reminder waits for its next time, any other reminder for its confirmation."""
    # The next time after the delivered one, which may be due already.
    coming = due.reminder.rule.find_next(due.at) if due.reminder.is_recurring else None
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
