"""Scheduled tasks, which the bot does at their time.

A due task enters the channel's inbox and is handled like a message: as a turn of its session, again after a crash, and
completed by the turn's commit, which also counts failures.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from bot.features.reminders.delivery import hand_over
from bot.features.reminders.reminder import REMINDER_ROWS, DueReminder, Reminder, TaskSound, reminder_from_row
from config.texts import _, format_day_and_hour
from memory.buttons import Button, Notice
from memory.clock import Clock, from_text, now_text
from memory.mail.inbox import put_scheduled
from memory.store.database import Connection, Database
from pipeline.scheduled import RunResult, Serves, Settlement

MAX_TASK_FAILURES = 3
"""A task is turned off after this number of consecutive failures."""


@dataclass(frozen=True, slots=True)
class TaskRun:
    """A due task. `due_at` is the newest due time if several were missed, `received_at` when it entered the inbox."""

    reminder: Reminder
    due_at: datetime
    received_at: datetime
    clock: Clock

    @property
    def session_id(self) -> str:
        return self.reminder.session_id

    @property
    def text(self) -> str:
        return self.reminder.text

    @property
    def is_quiet(self) -> bool:
        return self.reminder.task is TaskSound.QUIET

    @property
    def hour(self) -> str:
        return format_day_and_hour(self.due_at, self.reminder.rule.zone)

    def settle(self, result: RunResult) -> Settlement:
        reminder = self.reminder
        failures = reminder.failures + 1 if result.has_failed else 0
        # Neither the daily limit nor a /stop counts as a failure of the task.
        if result.is_inconclusive:
            failures = reminder.failures
        is_off = not result.is_silent and reminder.is_recurring and failures >= MAX_TASK_FAILURES

        async def write(connection: Connection) -> None:
            await connection.execute(
                "UPDATE reminders SET failures = ?, told_at = ?, next_at = iif(?, NULL, next_at),"
                " state = CASE WHEN ? THEN 'failed' WHEN state = 'telling' THEN 'told' ELSE state END"
                " WHERE id = ? AND state IN ('waiting', 'telling')",
                (failures, now_text(self.clock), is_off, is_off, reminder.id),
            )

        return Settlement(None if result.is_silent else self._create_notice(failures, is_off=is_off), write)

    def _create_notice(self, failures: int, *, is_off: bool) -> Notice:
        reminder = self.reminder
        command = f"/cancel_{reminder.id}"
        buttons = [Button(_("No more"), command)] if reminder.is_recurring else []
        if is_off:
            text = _(
                "This task failed {n} times in a row, so I turned it off. /snooze_{id} tries it again in an hour, and"
                " then continues as before: {text}",
                n=failures,
                id=reminder.id,
                text=reminder.text,
            )
            buttons.insert(0, Button(_("In an hour"), f"/snooze_{reminder.id}"))
        elif reminder.is_recurring:
            text = _("Task of {hour}: {text} ({command} ends it)", hour=self.hour, text=reminder.text, command=command)
        else:
            text = _("Task of {hour}: {text}", hour=self.hour, text=reminder.text)
        return Notice(text, (tuple(buttons),) if buttons else ())


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

        async def put(connection: Connection, due: DueReminder) -> None:
            await put_scheduled(connection, due.reminder.session_id, due.reminder.id, due.at, now)

        return bool(await hand_over(self._database, now, place, serves, put, tasks=True))

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
        return (
            None
            if row is None
            else TaskRun(reminder_from_row(row), from_text(content["due"]), received_at, self._clock)
        )
