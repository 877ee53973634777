"""Texts for people about times and reminders, in the user's language."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from bot.features.reminders.reminder import DueReminder, Reminder
from config.texts import _, format_day_and_hour, ngettext
from memory.buttons import Button, Keyboard

LanguageOf = Callable[[str], Awaitable[str]]
"""Returns the language of a chat (`Address.owner`)."""
MIN_DELAY = timedelta(minutes=2)
"""Minimum delay that a reminder mentions."""


def format_duration(length: timedelta) -> str:
    """Format a duration in its largest whole unit: `5 min`, `3 h`, `2 days`."""
    minutes = int(length.total_seconds() // 60)
    if minutes < 60:
        return ngettext("{n} min", "{n} min", minutes)
    if minutes < 48 * 60:
        return ngettext("{n} h", "{n} h", minutes // 60)
    return ngettext("{n} day", "{n} days", minutes // (24 * 60))


def format_reminder(reminder: Reminder) -> str:
    rule = reminder.rule
    again = f", {rule}" if reminder.is_recurring else ""
    again += ", task" if reminder.task is not None else ""
    at = reminder.next_at
    hour = f"{format_day_and_hour(at, rule.zone)} ({rule.zone.key}){again}" if at is not None else "no more to come"
    return f"#{reminder.id}, {hour}: {reminder.text}"


def create_buttons(reminder: Reminder) -> Keyboard:
    number = reminder.id
    choices = [
        (_("Done"), f"/done_{number}"),
        (_("In an hour"), f"/snooze_{number}"),
        (_("Tomorrow"), f"/snooze {number} 1d"),
    ]
    choices += [(_("No more"), f"/cancel_{number}")] if reminder.is_recurring else []
    # The answer replaces the message, so that its buttons disappear.
    return (tuple(Button(label, command, in_place=True) for label, command in choices),)


def format_message(due: DueReminder, now: datetime) -> str:
    """Return the message of a due reminder, with commands to tap."""
    reminder = due.reminder
    taps = (
        _(
            "/done_{id} or /snooze_{id} for an hour. /cancel_{id} ends it ({rhythm}).",
            id=reminder.id,
            rhythm=reminder.rule,
        )
        if reminder.is_recurring
        else _("/done_{id} or /snooze_{id} for an hour.", id=reminder.id)
    )
    return "\n\n".join([_("**Reminder**: {text}", text=reminder.text), _format_due_time(due, now), taps])


def _format_due_time(due: DueReminder, now: datetime) -> str:
    """Return the due time, the delay and the number of missed times before."""
    hour, late = format_day_and_hour(due.at, due.reminder.rule.zone), now - due.at
    if late >= MIN_DELAY and due.missed:
        return ngettext(
            "{hour} (due {span} ago, missed once before that)",
            "{hour} (due {span} ago, missed {n} times before that)",
            due.missed,
            hour=hour,
            span=format_duration(late),
        )
    if late >= MIN_DELAY:
        return _("{hour} (due {span} ago)", hour=hour, span=format_duration(late))
    if due.missed:
        return ngettext(
            "{hour} (missed once before that)", "{hour} (missed {n} times before that)", due.missed, hour=hour
        )
    return hour
