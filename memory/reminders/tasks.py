"""Tasks: reminders whose hour begins a turn of their session, in the place of a message.

What is due goes into the channel's inbox, in the transaction that moves the reminder on to its next hour. From there
it is worked on as a message is: one turn at a time, again after a kill, and finished by the turn's commit
(memory/log/turn_log.py), which counts the failures too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.clock import Clock, from_text, now_text, to_text
from memory.reminders.delivery import due_rows, go_on
from memory.reminders.reminder import REMINDER_ROWS, due_of, reminder_of
from memory.reminders.wording import day_and_hour

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime

    from memory.reminders.reminder import Reminder
    from memory.store.database import Database

MOST_FAILURES = 3
"""So many failures in a row turn a task off."""


@dataclass(frozen=True, slots=True)
class TaskRun:
    """A task whose hour has come. due_at: that hour, of several that were missed the newest one.

    received_at: when it was put into the inbox.
    """

    reminder: Reminder
    due_at: datetime
    received_at: datetime

    @property
    def hour(self) -> str:
        """When it was due, on the clock that it was set on."""
        return day_and_hour(self.due_at, self.reminder.rule.zone)


class Tasks:
    """Puts what is due into the inbox, and reads it when it is taken from there."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def put_in(self, place: str, serves: Callable[[str], Awaitable[bool]]) -> bool:
        """Put what is due into the inbox of its channel; whether there was anything.

        place: what the ids of the sessions begin with. A task is put there once, however many of its hours have passed,
        and stays due while its session is not served.
        """
        now = self._clock()
        query, parameters = due_rows(place, now, tasks=True)
        # looked at first without the lock: most of the time there is nothing
        waiting = {row["session_id"] for row in await self._database.rows(query, parameters)}
        served = {session_id for session_id in waiting if await serves(session_id)}
        if not served:
            return False
        async with self._database.transaction() as connection:
            for row in await connection.execute_fetchall(query, parameters):
                if row["session_id"] not in served:
                    continue
                due = due_of(reminder_of(row), now)
                channel = due.reminder.session_id.partition(":")[0]
                payload = json.dumps({"task": due.reminder.id, "due": to_text(due.at)})
                # numbers below zero, since those of a channel's own updates are above
                await connection.execute(
                    "INSERT INTO inbox (channel, update_id, session_id, payload, received_at)"
                    " SELECT ?1, min(0, coalesce(min(update_id), 0)) - 1, ?2, ?3, ?4 FROM inbox WHERE channel = ?1",
                    (channel, due.reminder.session_id, payload, now_text(self._clock)),
                )
                await go_on(connection, due, None)
        return True

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
