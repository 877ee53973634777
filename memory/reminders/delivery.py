"""Delivery of due reminders and tasks, exactly once: each is handed over in the transaction that advances its schedule.

A reminder enters the outbox. A trigger (memory/store/schema.sql) updates its state after the message is sent. A task
enters the channel's inbox and is handled like a message: as a turn of its session, again after a crash, and completed
by the turn's commit (memory/log/turn_log.py), which also counts failures.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

import aiosqlite

from config.texts import use_language
from memory.clock import Clock, from_text, now_text, to_text
from memory.log.sessions import Address
from memory.reminders.reminder import REMINDER_ROWS, DueReminder, Reminder, find_newest_due, reminder_from_row
from memory.reminders.wording import LanguageOf, create_buttons, format_day_and_hour, format_message
from memory.store.button_rows import OutgoingReply, put_reply
from memory.store.database import Database

Serves = Callable[[str], Awaitable[bool]]
"""Returns whether the bot may write to the session with an id."""
MAX_TASK_FAILURES = 3
"""A task is turned off after this number of consecutive failures."""


class ReminderDelivery:
    """Delivers due reminders in the language of each chat."""

    def __init__(self, database: Database, language_of: LanguageOf, clock: Clock) -> None:
        self._database = database
        self._language_of = language_of
        self._clock = clock

    async def deliver(self, channel: str, serves: Serves) -> list[str]:
        """Put due reminders into a channel's outbox and return their sessions. Others stay due."""
        now = self._clock()

        async def put(connection: aiosqlite.Connection, due: DueReminder) -> int | None:
            with use_language(await self._get_language(due.reminder.session_id)):
                text, keyboard = format_message(due, now), create_buttons(due.reminder)
            reply = OutgoingReply(channel, text, keyboard=keyboard)
            return await put_reply(connection, due.reminder.session_id, reply, now)

        return await _hand_over(self._database, now, f"{channel}:", serves, put, tasks=False)

    async def list_due(self, session_id: str) -> list[tuple[DueReminder, str]]:
        """Return the due reminders of a session and their messages, for a channel without an outbox."""
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


@dataclass(frozen=True, slots=True)
class TaskRun:
    """A due task. `due_at` is the newest due time if several were missed, `received_at` when it entered the inbox."""

    reminder: Reminder
    due_at: datetime
    received_at: datetime

    @property
    def hour(self) -> str:
        return format_day_and_hour(self.due_at, self.reminder.rule.zone)


class Tasks:
    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def enqueue_due(self, place: str, serves: Serves) -> bool:
        """Put due tasks into the inbox of their channel. Return True if there were any.

        A task runs once even if several due times were missed. It stays due while its session is not served.

        Args:
            place: Prefix of the session ids.
        """
        now = self._clock()

        async def put(connection: aiosqlite.Connection, due: DueReminder) -> None:
            channel = due.reminder.session_id.partition(":")[0]
            payload = json.dumps({"task": due.reminder.id, "due": to_text(due.at)})
            # Negative update ids, since those of the channel are positive.
            await connection.execute(
                "INSERT INTO inbox (channel, update_id, session_id, payload, received_at)"
                " SELECT ?1, min(0, coalesce(min(update_id), 0)) - 1, ?2, ?3, ?4 FROM inbox WHERE channel = ?1",
                (channel, due.reminder.session_id, payload, to_text(now)),
            )

        return bool(await _hand_over(self._database, now, place, serves, put, tasks=True))

    async def list_waiting(self, session_id: str) -> list[tuple[int, TaskRun]]:
        """Return the inbox ids and runs that wait in a session, for a channel with only tasks in its inbox."""
        rows = await self._database.rows(
            "SELECT id, payload, received_at FROM inbox WHERE session_id = ? AND state <> 'done' ORDER BY id",
            (session_id,),
        )
        runs = [(row["id"], await self.find_run(row["payload"], from_text(row["received_at"]))) for row in rows]
        return [(number, run) for number, run in runs if run is not None]

    async def find_run(self, payload: str, received_at: datetime) -> TaskRun | None:
        """Return the run of an inbox row, or None if the task has ended or was forgotten."""
        content = json.loads(payload)
        row = await self._database.row(
            f"{REMINDER_ROWS} WHERE r.id = ? AND r.task IS NOT NULL AND r.state IN ('waiting', 'telling')",
            (content["task"],),
        )
        return None if row is None else TaskRun(reminder_from_row(row), from_text(content["due"]), received_at)


def is_task(payload: str) -> bool:
    """Return True if an inbox row is a task and not an update of the channel."""
    return payload.startswith('{"task":')


async def _hand_over(
    database: Database,
    now: datetime,
    place: str,
    serves: Serves,
    put: Callable[[aiosqlite.Connection, DueReminder], Awaitable[int | None]],
    *,
    tasks: bool,
) -> list[str]:
    """Call `put` for everything that is due and advance the schedules. Return the sessions."""
    query, parameters = _build_due_query(place, now, tasks=tasks)
    # Without the lock first, since usually nothing is due.
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


async def _advance_schedule(connection: aiosqlite.Connection, due: DueReminder, outbox_id: int | None) -> None:
    """Advance the schedule: a recurring reminder waits for its next time, another one for its confirmation."""
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
