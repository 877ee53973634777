"""Commands on reminders: /reminders, and what is tapped under one: /done_12 /snooze_12 /cancel_12 /remind_12."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.commands import Command, CommandCall, WrongArgument
from bot.chat.memory_queries import in_line
from memory.reminders.reminder import ReminderState
from memory.reminders.reminders import snooze_length
from memory.reminders.wording import day_and_hour

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.reminders.reminder import Reminder
    from memory.reminders.reminders import Reminders

SHOWN = 20
"""Reminders that /reminders lists at most: the soonest."""


class ReminderCommands:
    """What the commands do: each parses its argument, calls one service and returns text."""

    def __init__(self, reminders: Reminders) -> None:
        self._reminders = reminders

    def commands(self) -> list[Command]:
        """The commands."""
        return [
            Command("reminders", "What I will remind you of", self.reminders),
            Command("done", "A reminder is done", self.done, "NUMBER", listed=False),
            Command("snooze", "Remind again later", self.snooze, "NUMBER [10m|2h|1d]", listed=False),
            Command("cancel", "End a reminder", self.cancel, "NUMBER", listed=False),
            Command("remind", "Set a reminder that I offered", self.remind, "NUMBER", listed=False),
        ]

    async def reminders(self, call: CommandCall) -> str:
        """/reminders"""
        return format_reminders(await self._reminders.list(call.session.owner))

    async def done(self, call: CommandCall) -> str:
        """/done NUMBER"""
        reminder = await self._reminders.done(call.session.owner, _number(call))
        return f"Done: {in_line(reminder.text)}" + (
            f". It comes again on {_hour(reminder)}." if reminder.next_at else ""
        )

    async def snooze(self, call: CommandCall) -> str:
        """/snooze NUMBER [10m|2h|1d]"""
        number = _number(call)
        length = snooze_length(call.argument.partition(" ")[2])
        reminder = await self._reminders.snooze(call.session.owner, number, length)
        return f"I will remind you again on {_hour(reminder)}: {in_line(reminder.text)}"

    async def cancel(self, call: CommandCall) -> str:
        """/cancel NUMBER"""
        reminder = await self._reminders.cancel(call.session.owner, _number(call))
        return f"Cancelled: {in_line(reminder.text)}"

    async def remind(self, call: CommandCall) -> str:
        """/remind NUMBER"""
        if not call.argument:
            raise WrongArgument(
                "Just tell me what to remind you of and when, such as: remind me tomorrow at 9 to call Ann."
            )
        reminder = await self._reminders.accept(call.session.owner, _number(call), call.session.id)
        again = f", {reminder.rule}" if reminder.is_recurring else ""
        return f"I will remind you on {_hour(reminder)}{again}: {in_line(reminder.text)} (/cancel_{reminder.id})"


def format_reminders(reminders: Sequence[Reminder]) -> str:
    """What is to come, what is offered, and what was told of late, each with what to tap."""
    if not reminders:
        return "There are no reminders: tell me what to remind you of and when."
    titles = {
        ReminderState.WAITING: "To come:",
        ReminderState.OFFERED: "Offered, and not set yet:",
        ReminderState.TELLING: "On its way to you:",
        ReminderState.TOLD: "Told in the last day:",
        ReminderState.FAILED: "Could not be delivered:",
    }
    zones = sorted({one.rule.zone.key for one in reminders})
    parts: list[str] = []
    for state, title in titles.items():
        alike = [_listed(one, zoned=len(zones) > 1) for one in reminders if one.state is state]
        more = [f"... and {len(alike) - SHOWN} more."] if len(alike) > SHOWN else []
        parts += ["\n".join([title, *alike[:SHOWN], *more])] if alike else []
    hours = f"_Hours are those of {zones[0]}._" if len(zones) == 1 else "_Hours are those of the zone beside each._"
    return "\n\n".join([*parts, hours])


def _listed(reminder: Reminder, *, zoned: bool) -> str:
    zone = f" ({reminder.rule.zone.key})" if zoned else ""
    hour = f"{_hour(reminder)}{zone}: " if reminder.next_at else ""
    again = f" ({reminder.rule})" if reminder.is_recurring else ""
    number = reminder.id
    taps = f"/remind_{number}" if reminder.state is ReminderState.OFFERED else f"/done_{number} /snooze_{number}"
    return f"- {hour}{in_line(reminder.text)}{again} {taps} /cancel_{number}"


def _hour(reminder: Reminder) -> str:
    return day_and_hour(reminder.next_at, reminder.rule.zone) if reminder.next_at is not None else "no day"


def _number(call: CommandCall) -> str:
    if not call.argument:
        raise WrongArgument(f"/{call.name} takes the number of a reminder: see /reminders.")
    return call.argument.split()[0]
