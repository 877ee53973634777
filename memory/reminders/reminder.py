"""What a reminder is, and how rows of the store are read as such. For use by what is beside it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from memory.clock import from_text
from memory.reminders.recurrence import Repeat, Rule

if TYPE_CHECKING:
    from memory.store.database import Row

REMINDER_ROWS = "SELECT r.*, o.name AS owner FROM reminders r JOIN owners o ON o.id = r.owner_id"
"""Selects what `reminder_of` reads."""


class ReminderState(StrEnum):
    """Where a reminder stands.

    OFFERED: it waits for somebody's yes. WAITING: it comes at its hour. TELLING: its message is in the outbox. TOLD:
    the channel has confirmed the message. FAILED: the channel never will.
    """

    OFFERED = "offered"
    WAITING = "waiting"
    TELLING = "telling"
    TOLD = "told"
    FAILED = "failed"
    DONE = "done"
    CANCELLED = "cancelled"


class TaskSound(StrEnum):
    """How the answer to a task comes: like any message, or without a sound."""

    ALOUD = "aloud"
    QUIET = "quiet"


@dataclass(frozen=True, slots=True)
class Reminder:
    """One reminder of an owner, told in the session that it was set in.

    next_at: when it comes next; None where nothing more is to come. told_at: when the channel last confirmed its
    message. trusted: nothing foreign could speak through the model that wrote its text. task: it is done and not only
    told; failures: how often in a row that has failed.
    """

    id: int
    owner: str
    session_id: str
    text: str
    rule: Rule
    state: ReminderState
    next_at: datetime | None
    told_at: datetime | None
    trusted: bool
    task: TaskSound | None = None
    failures: int = 0

    @property
    def is_recurring(self) -> bool:
        """Whether it comes again."""
        return self.rule.repeat is not Repeat.ONCE


@dataclass(frozen=True, slots=True)
class Due:
    """A reminder whose hour has come: at: the newest such hour; missed: how many there were before it."""

    reminder: Reminder
    at: datetime
    missed: int


def reminder_of(row: Row) -> Reminder:
    """The reminder that a row holds."""
    days = tuple(int(day) for day in row["days"].split(",") if day)
    return Reminder(
        id=row["id"],
        owner=row["owner"],
        session_id=row["session_id"],
        text=row["text"],
        rule=Rule(Repeat(row["repeat"]), datetime.fromisoformat(row["first"]), _zone(row["zone"]), days),
        state=ReminderState(row["state"]),
        next_at=from_text(row["next_at"]) if row["next_at"] else None,
        told_at=from_text(row["told_at"]) if row["told_at"] else None,
        trusted=bool(row["trusted"]),
        task=TaskSound(row["task"]) if row["task"] else None,
        failures=row["failures"],
    )


def due_of(reminder: Reminder, now: datetime) -> Due:
    """A reminder that is due, with the hours that came since: it is told once for all of them."""
    assert reminder.next_at is not None, "what is due has its hour"  # noqa: S101  # states what due rows have
    since = reminder.rule.between(reminder.next_at, now) if reminder.is_recurring else []
    return Due(reminder, (reminder.next_at, *since)[-1], len(since))


def _zone(key: str) -> ZoneInfo:
    """A zone by its name; UTC where this machine's tables no longer know it, so that nothing is held up by it."""
    try:
        return ZoneInfo(key)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")
