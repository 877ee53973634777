"""What is due is handed over in the transaction that moves it on, so that it is once, whatever ends the program.

A reminder is told. What becomes of it when its message is settled, a trigger on the outbox says
(memory/store/schema.sql). A task begins a turn of its session, in the place of a message: it goes into the channel's
inbox. From there it is worked on as a message is: one turn at a time, again after a kill, and finished by the turn's
commit (memory/log/turn_log.py), which counts the failures too.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from config.texts import use_language
from memory.clock import Clock, from_text, now_text, to_text
from memory.log.sessions import Address
from memory.reminders.reminder import REMINDER_ROWS, due_of, reminder_of
from memory.reminders.wording import buttons, day_and_hour, message
from memory.store.button_rows import OutgoingReply, put_reply

if TYPE_CHECKING:
    from datetime import datetime

    import aiosqlite

    from memory.reminders.reminder import Due, Reminder
    from memory.reminders.wording import LanguageOf
    from memory.store.database import Database

Serves = Callable[[str], Awaitable[bool]]
"""Tells by its id whether a session is one that the bot may speak to."""
MOST_FAILURES = 3
"""So many failures in a row turn a task off."""


class ReminderDelivery:
    """Tells what is due, each chat in its language: through an outbox where a channel has one."""

    def __init__(self, database: Database, language_of: LanguageOf, clock: Clock) -> None:
        self._database = database
        self._language_of = language_of
        self._clock = clock

    async def put_out(self, channel: str, serves: Serves) -> list[str]:
        """Put what is due into a channel's outbox; the sessions it goes to. What is not served waits until it is."""
        now = self._clock()

        async def put(connection: aiosqlite.Connection, due: Due) -> int | None:
            with use_language(await self._language(due.reminder.session_id)):
                text, keyboard = message(due, now), buttons(due.reminder)
            reply = OutgoingReply(channel, text, keyboard=keyboard)
            return await put_reply(connection, due.reminder.session_id, reply, now)

        return await _hand_over(self._database, now, f"{channel}:", serves, put, tasks=False)

    async def due_in(self, session_id: str) -> list[tuple[Due, str]]:
        """What is due in a session of a channel without an outbox, with its message."""
        now = self._clock()
        rows = await self._database.rows(*_due_rows(session_id, now, tasks=False))
        # the query goes by prefix, which the topics of the same chat share
        dues = [due_of(reminder_of(row), now) for row in rows if row["session_id"] == session_id]
        with use_language(await self._language(session_id)):
            return [(due, message(due, now)) for due in dues]

    async def shown(self, due: Due) -> None:
        async with self._database.transaction() as connection:
            await _go_on(connection, due, None)
            await connection.execute(
                "UPDATE reminders SET told_at = ?, state = iif(state = 'telling', 'told', state)"
                " WHERE id = ? AND state IN ('telling', 'waiting')",
                (now_text(self._clock), due.reminder.id),
            )

    async def _language(self, session_id: str) -> str:
        return await self._language_of(Address.of(session_id).owner)


@dataclass(frozen=True, slots=True)
class TaskRun:
    """A task whose hour, due_at, has come: of several that were missed the newest. received_at: put into the inbox."""

    reminder: Reminder
    due_at: datetime
    received_at: datetime

    @property
    def hour(self) -> str:
        return day_and_hour(self.due_at, self.reminder.rule.zone)


class Tasks:
    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def put_in(self, place: str, serves: Serves) -> bool:
        """Put what is due into the inbox of its channel; whether there was anything.

        place: what the ids of the sessions begin with. A task is put there once, however many of its hours have passed,
        and stays due while its session is not served.
        """
        now = self._clock()

        async def put(connection: aiosqlite.Connection, due: Due) -> None:
            channel = due.reminder.session_id.partition(":")[0]
            payload = json.dumps({"task": due.reminder.id, "due": to_text(due.at)})
            # numbers below zero, since those of a channel's own updates are above
            await connection.execute(
                "INSERT INTO inbox (channel, update_id, session_id, payload, received_at)"
                " SELECT ?1, min(0, coalesce(min(update_id), 0)) - 1, ?2, ?3, ?4 FROM inbox WHERE channel = ?1",
                (channel, due.reminder.session_id, payload, to_text(now)),
            )

        return bool(await _hand_over(self._database, now, place, serves, put, tasks=True))

    async def waiting(self, session_id: str) -> list[tuple[int, TaskRun]]:
        """The runs that wait in the inbox of a session whose channel has no other mail, with their numbers there."""
        rows = await self._database.rows(
            "SELECT id, payload, received_at FROM inbox WHERE session_id = ? AND state <> 'done' ORDER BY id",
            (session_id,),
        )
        runs = [(row["id"], await self.run_of(row["payload"], from_text(row["received_at"]))) for row in rows]
        return [(number, run) for number, run in runs if run is not None]

    async def run_of(self, payload: str, received_at: datetime) -> TaskRun | None:
        """The run that an item of the inbox asks for; None where its task is over by now, or was forgotten."""
        content = json.loads(payload)
        row = await self._database.row(
            f"{REMINDER_ROWS} WHERE r.id = ? AND r.task IS NOT NULL AND r.state IN ('waiting', 'telling')",
            (content["task"],),
        )
        return None if row is None else TaskRun(reminder_of(row), from_text(content["due"]), received_at)


def is_task(payload: str) -> bool:
    """Whether an item of the inbox is a task, and not an update of the channel."""
    return payload.startswith('{"task":')


async def _hand_over(
    database: Database,
    now: datetime,
    place: str,
    serves: Serves,
    put: Callable[[aiosqlite.Connection, Due], Awaitable[int | None]],
    *,
    tasks: bool,
) -> list[str]:
    """Have `put` write what is due, and move it on; the sessions that it was for."""
    query, parameters = _due_rows(place, now, tasks=tasks)
    # looked at first without the lock: most of the time there is nothing
    waiting = {row["session_id"] for row in await database.rows(query, parameters)}
    served = {session_id for session_id in waiting if await serves(session_id)}
    if not served:
        return []
    async with database.transaction() as connection:
        # read again under the lock: another process may have handed it over since
        rows = await connection.execute_fetchall(query, parameters)
        dues = [due_of(reminder_of(row), now) for row in rows if row["session_id"] in served]
        for due in dues:
            await _go_on(connection, due, await put(connection, due))
    return list(dict.fromkeys(due.reminder.session_id for due in dues))


def _due_rows(place: str, now: datetime, *, tasks: bool) -> tuple[str, dict[str, object]]:
    """The query for what is due, and its parameters: tasks, or what is only told."""
    query = (
        f"{REMINDER_ROWS} LEFT JOIN sessions s ON s.id = r.session_id"
        " WHERE r.state = 'waiting' AND r.next_at <= :now AND substr(r.session_id, 1, length(:place)) = :place"
        " AND (r.task IS NOT NULL) = :tasks"
        # whoever blocked the bot is told when they are back
        " AND coalesce(s.state, '') <> 'TERMINATED' ORDER BY r.next_at, r.id"
    )
    return query, {"now": to_text(now), "place": place, "tasks": tasks}


async def _go_on(connection: aiosqlite.Connection, due: Due, outbox_id: int | None) -> None:
    """A recurring one waits for its next time, any other for the confirmation."""
    # counted from the hour that was told: one that has come since then is told too
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
