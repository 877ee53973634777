"""Commands for reminders: /reminders, and the commands below a reminder: /done_12 /snooze_12 /cancel_12 /remind_12."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from bot.commands.command import REMINDERS, CommandCall, WrongArgument, command
from bot.features.reminders.reminder import Reminder, ReminderState
from bot.features.reminders.reminders import Reminders, parse_snooze
from config.texts import N_, _, format_day_and_hour, shorten_to_line

MAX_LISTED = 20


@dataclass(frozen=True, slots=True)
class ReminderCommands:
    heading: ClassVar = REMINDERS

    service: Reminders

    @command("reminders", N_("List your reminders"))
    async def reminders(self, call: CommandCall) -> str:
        return format_reminders(await self.service.list(call.session.owner))

    @command("done", N_("Mark a reminder as done"), "NUMBER", listed=False)
    async def done(self, call: CommandCall) -> str:
        reminder = await self.service.complete(call.session.owner, _parse_number(call))
        if reminder.next_at:
            return _(
                "Done: {text}. The next one is on {hour}.",
                text=shorten_to_line(reminder.text),
                hour=_format_time(reminder),
            )
        return _("Done: {text}", text=shorten_to_line(reminder.text))

    @command("snooze", N_("Snooze a reminder"), "NUMBER [10m|2h|1d]", listed=False)
    async def snooze(self, call: CommandCall) -> str:
        number = _parse_number(call)
        length = parse_snooze(call.argument.partition(" ")[2])
        reminder = await self.service.snooze(call.session.owner, number, length)
        if reminder.task is not None:
            return _(
                "I will do this on {hour}: {text}", hour=_format_time(reminder), text=shorten_to_line(reminder.text)
            )
        return _(
            "I will remind you again on {hour}: {text}",
            hour=_format_time(reminder),
            text=shorten_to_line(reminder.text),
        )

    @command("cancel", N_("Cancel a reminder"), "NUMBER", listed=False)
    async def cancel(self, call: CommandCall) -> str:
        reminder = await self.service.cancel(call.session.owner, _parse_number(call))
        return _("Cancelled: {text}", text=shorten_to_line(reminder.text))

    @command("remind", N_("Set a reminder that I suggested"), "NUMBER", listed=False)
    async def remind(self, call: CommandCall) -> str:
        if not call.argument:
            raise WrongArgument(
                _("Just tell me what to remind you of and when, such as: remind me tomorrow at 9 to call Ann.")
            )
        reminder = await self.service.accept(call.session.owner, _parse_number(call), call.session.id)
        repetition = f", {reminder.rule}" if reminder.is_recurring else ""
        if reminder.task is not None:
            return _(
                "I will do this on {hour}: {text} ({command})",
                hour=f"{_format_time(reminder)}{repetition}",
                text=shorten_to_line(reminder.text),
                command=f"/cancel_{reminder.id}",
            )
        return _(
            "I will remind you on {hour}: {text} ({command})",
            hour=f"{_format_time(reminder)}{repetition}",
            text=shorten_to_line(reminder.text),
            command=f"/cancel_{reminder.id}",
        )


def format_reminders(reminders: Sequence[Reminder]) -> str:
    if not reminders:
        return _("You have no reminders: tell me what to remind you of and when.")
    titles = {
        ReminderState.WAITING: _("Upcoming:"),
        ReminderState.OFFERED: _("Suggested, not set yet:"),
        ReminderState.TELLING: _("Being delivered:"),
        ReminderState.TOLD: _("Delivered in the last day:"),
        ReminderState.FAILED: _("Could not be delivered:"),
    }
    zones = sorted({reminder.rule.zone.key for reminder in reminders})
    parts: list[str] = []
    for state, title in titles.items():
        lines = [_format_reminder(reminder, zoned=len(zones) > 1) for reminder in reminders if reminder.state is state]
        more = [_("... and {n} more.", n=len(lines) - MAX_LISTED)] if len(lines) > MAX_LISTED else []
        parts += ["\n".join([title, *lines[:MAX_LISTED], *more])] if lines else []
    hours = (
        _("Times are in {zone}.", zone=zones[0])
        if len(zones) == 1
        else _("Each time is in the time zone shown next to it.")
    )
    return "\n\n".join([*parts, f"_{hours}_"])


def _format_reminder(reminder: Reminder, *, zoned: bool) -> str:
    zone = f" ({reminder.rule.zone.key})" if zoned else ""
    hour = f"{_format_time(reminder)}{zone}: " if reminder.next_at else ""
    marks = [_("task")] if reminder.task is not None else []
    marks += [str(reminder.rule)] if reminder.is_recurring else []
    suffix = f" ({', '.join(marks)})" if marks else ""
    number = reminder.id
    taps = f"/remind_{number}" if reminder.state is ReminderState.OFFERED else f"/done_{number} /snooze_{number}"
    return f"- {hour}{shorten_to_line(reminder.text)}{suffix} {taps} /cancel_{number}"


def _format_time(reminder: Reminder) -> str:
    return format_day_and_hour(reminder.next_at, reminder.rule.zone) if reminder.next_at is not None else _("no date")


def _parse_number(call: CommandCall) -> str:
    if not call.argument:
        raise WrongArgument(_("/{name} needs the number of a reminder: see /reminders.", name=call.name))
    return call.argument.split()[0]
