"""How moments and spans are told to people."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from memory.buttons import Button

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from memory.buttons import Keyboard
    from memory.reminders.reminder import Due, Reminder

LATE = timedelta(minutes=2)
"""From when on a reminder says that it is late."""


def day_and_hour(moment: datetime, zone: ZoneInfo) -> str:
    """A moment with its weekday on the clock of a zone: `Monday, 23 November 2026, 09:00`."""
    local = moment.astimezone(zone)
    return f"{local:%A}, {local.day} {local:%B %Y, %H:%M}"


def span(length: timedelta) -> str:
    """A length of time in its largest whole unit: `5 min`, `3 h`, `2 days`."""
    minutes = int(length.total_seconds() // 60)
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h"
    return f"{minutes // (24 * 60)} days"


def line(reminder: Reminder) -> str:
    """A reminder in one line, for people and models."""
    rule = reminder.rule
    again = f", {rule}" if reminder.is_recurring else ""
    at = reminder.next_at
    hour = f"{day_and_hour(at, rule.zone)} ({rule.zone.key}){again}" if at is not None else "no more to come"
    return f"#{reminder.id}, {hour}: {reminder.text}"


def buttons(reminder: Reminder) -> Keyboard:
    """What can be pressed under a reminder that is told; one of it is enough."""
    number = reminder.id
    row = (
        Button("Done", f"/done_{number}"),
        Button("In an hour", f"/snooze_{number}"),
        Button("Tomorrow", f"/snooze {number} 1d"),
    )
    return ((*row, Button("No more", f"/cancel_{number}")) if reminder.is_recurring else row,)


def message(due: Due, now: datetime) -> str:
    """What is told when a reminder is due, with what can be tapped."""
    reminder = due.reminder
    facts: list[str] = []
    if now - due.at >= LATE:
        facts.append(f"due {span(now - due.at)} ago")
    if due.missed:
        facts.append(f"missed {'once' if due.missed == 1 else f'{due.missed} times'} before that")
    hour = day_and_hour(due.at, reminder.rule.zone) + (f" ({', '.join(facts)})" if facts else "")
    ends = f" /cancel_{reminder.id} ends it ({reminder.rule})." if reminder.is_recurring else ""
    return f"**Reminder**: {reminder.text}\n\n{hour}\n\n/done_{reminder.id} or /snooze_{reminder.id} for an hour.{ends}"
