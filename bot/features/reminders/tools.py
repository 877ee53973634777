"""Tools to set, list and cancel reminders."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import structlog
from pydantic import BeforeValidator, Field

from bot.features.reminders.reminder import TaskSound
from bot.features.reminders.reminders import Offer, Reminders
from bot.features.reminders.request import read_rhythm
from bot.features.reminders.wording import format_reminder
from config.texts import N_, _, use_language
from memory.buttons import Notice
from memory.messages import Passage, Provenance
from memory.recurrence import Repeat
from pipeline.tools.cited_writes import (
    CitedWrites,
    Quote,  # Not under TYPE_CHECKING: the toolbox evaluates annotations.
)
from pipeline.tools.toolbox import Tool, ToolContext

log = structlog.get_logger(__name__)

Number = Annotated[str, BeforeValidator(lambda given: str(given).strip())]
"""A reminder's number, which models write as 12, "12" and "#12"."""
Days = Annotated[
    str,
    BeforeValidator(lambda given: ", ".join(map(str, given)) if isinstance(given, list) else given),
    Field(description="mon, fri; last fri, last day"),
]

# Reasons for only offering a reminder, by the provenance of the texts that the model has read.
_WHY = {
    Provenance.TASK: N_("This came from a task and not from you, so I'm asking first."),
    Provenance.FILE: N_("I just read text that you didn't write (a file), so I'm asking first."),
    Provenance.WEB: N_("I just read text that you didn't write (from the web), so I'm asking first."),
    Provenance.FORWARDED: N_("I just read text that you didn't write (a forwarded message), so I'm asking first."),
    Provenance.FOREIGN: N_("I just read text that you didn't write (from other people), so I'm asking first."),
}


def reminder_tools(reminders: Reminders, writes: CitedWrites) -> list[Tool]:
    async def reminder_set(
        context: ToolContext,
        text: str,
        when: Annotated[str, Field(description="first, ISO 8601, user's clock")],
        repeat: Literal["once", "daily", "weekly", "monthly", "yearly"] = "once",
        days: Days = "",
        every: int = 1,
        task: Literal["no", "aloud", "quiet"] = "no",
        quote: Quote = "",
    ) -> str:
        """Remind the user, or do what text says (task). Tell them its day and hour."""
        wish = reminders.read(context.session_id, text, when, read_rhythm(Repeat(repeat), days, every))
        wish = replace(wish, task=TaskSound(task) if task != "no" else None)
        kind = "to have this done" if wish.task else "to be reminded"
        rhythm = "" if repeat == "once" else f", {wish.rule}"
        act = f"The user asks {kind}: {text}, at {when}{rhythm}."
        if not await writes.has_asked_for(context, act, quote):
            with use_language(context.language):
                offer = Offer(_(_WHY.get(context.provenance, _WHY[Provenance.FOREIGN])), context.language)
            offered = await reminders.offer(context.owner, context.session_id, wish, offer)
            return (
                f"not set yet: {context.provenance} text is in view, so the user is asked under your answer, and taps "
                f"/remind_{offered.id} to have it set: {format_reminder(offered)}"
            )
        set_now = await reminders.set(context.owner, context.session_id, wish, context.language)
        with use_language(context.language):
            context.notices.append(Notice(_("Set: {reminder}", reminder=format_reminder(set_now))))
        return f"set: {format_reminder(set_now)}"

    async def reminder_list(context: ToolContext) -> str | Passage:
        """The user's reminders."""
        current = await reminders.list(context.owner)
        if not current:
            return "there are none"
        made_of = Provenance.TYPED if all(reminder.trusted for reminder in current) else Provenance.FOREIGN
        return Passage("\n".join(f"- {reminder.state} {format_reminder(reminder)}" for reminder in current), made_of)

    async def reminder_cancel(context: ToolContext, number: Number, quote: Quote = "") -> str:
        """End a reminder for good."""
        wanted = next(
            (format_reminder(r) for r in await reminders.list(context.owner) if str(r.id) == number.lstrip("#")), number
        )
        if not await writes.has_asked_for(context, f"The user asks to cancel the reminder {wanted}.", quote):
            return f"error: cite the user's words that ask for it, or ask them to tap /cancel_{number}"
        cancelled = format_reminder(await reminders.cancel(context.owner, number))
        with use_language(context.language):
            context.notices.append(Notice(_("Cancelled: {reminder}", reminder=cancelled)))
        return f"cancelled: {cancelled}"

    return [
        Tool(reminder_set, writes=True),
        Tool(reminder_list),
        Tool(reminder_cancel, writes=True),
    ]
