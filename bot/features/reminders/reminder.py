"""Reminders, and their rows in the database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from memory.clock import from_text
from memory.recurrence import Repeat, Rule
from memory.store.database import Row

REMINDER_ROWS = "SELECT r.*, o.name AS owner FROM reminders r JOIN owners o ON o.id = r.owner_id"
"""SQL query for the rows that `reminder_from_row` reads."""


class ReminderState(StrEnum):
    OFFERED = "offered"  # waits for the user's consent
    WAITING = "waiting"  # scheduled
    TELLING = "telling"  # its message is in the outbox
    TOLD = "told"  # the channel has confirmed the message
    FAILED = "failed"  # the message can't be delivered
    DONE = "done"
    CANCELLED = "cancelled"


class TaskSound(StrEnum):
    """The notification sound of the answer to a task."""

    ALOUD = "aloud"
    QUIET = "quiet"


@dataclass(frozen=True, slots=True)
class Reminder:
    """One reminder of an owner, delivered in the session in which it was set."""

    id: int
    owner: str
    session_id: str
    text: str
    rule: Rule
    state: ReminderState
    next_at: datetime | None  # None if it isn't delivered again
    told_at: datetime | None  # when the channel last confirmed its message
    trusted: bool  # no foreign text could have influenced the model that wrote its text
    task: TaskSound | None = None  # set if it is a task for the bot
    failures: int = 0  # consecutive failures of the task

    @property
    def is_recurring(self) -> bool:
        return self.rule.repeat is not Repeat.ONCE


@dataclass(frozen=True, slots=True)
class DueReminder:
    """A due reminder. `at` is its newest due time, `missed` the number of earlier ones."""

    reminder: Reminder
    at: datetime
    missed: int


def reminder_from_row(row: Row) -> Reminder:
    days = tuple(int(day) for day in row["days"].split(",") if day)
    return Reminder(
        id=row["id"],
        owner=row["owner"],
        session_id=row["session_id"],
        text=row["text"],
        rule=Rule(
            Repeat(row["repeat"]),
            datetime.fromisoformat(row["first"]),
            _load_zone(row["zone"]),
            days,
            row["every"],
            row["nth"],
        ),
        state=ReminderState(row["state"]),
        next_at=from_text(row["next_at"]) if row["next_at"] else None,
        told_at=from_text(row["told_at"]) if row["told_at"] else None,
        trusted=bool(row["trusted"]),
        task=TaskSound(row["task"]) if row["task"] else None,
        failures=row["failures"],
    )


def find_newest_due(reminder: Reminder, now: datetime) -> DueReminder:
    """Find the newest due time of a reminder and count the earlier ones, which share one message."""
    assert reminder.next_at is not None, "what is due has its hour"  # noqa: S101  # states what due rows have
    at, missed = reminder.next_at, 0
    while reminder.is_recurring and (coming := reminder.rule.find_next(at)) is not None and coming <= now:
        at, missed = coming, missed + 1
    return DueReminder(reminder, at, missed)


def _load_zone(key: str) -> ZoneInfo:
    """Return a time zone, or UTC if this machine no longer knows it."""
    try:
        return ZoneInfo(key)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")
