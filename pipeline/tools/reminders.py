"""Tools over reminders: reminder_set, reminder_list, reminder_cancel."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field

from config.texts import N_, _, use_language
from memory.messages import Passage, Provenance
from memory.reminders.reminder import Repeat, TaskSound
from memory.reminders.reminders import Offer
from memory.reminders.wording import line
from pipeline.tools.cited_writes import Quote  # noqa: TC001  # the toolbox reads the annotations
from pipeline.tools.toolbox import Tool, ToolContext

if TYPE_CHECKING:
    from memory.reminders.reminders import Reminders
    from pipeline.tools.cited_writes import CitedWrites

Number = Annotated[str, BeforeValidator(lambda given: str(given).strip())]
"""A reminder's number, which models write as 12, "12" and "#12"."""
Days = Annotated[
    str,
    BeforeValidator(lambda given: ", ".join(map(str, given)) if isinstance(given, list) else given),
    Field(description="with weekly: mon, fri"),
]

# why a reminder is only offered, by what the model had read
_WHY = {
    Provenance.TASK: N_("A task asked for this, not you, so I ask first."),
    Provenance.FILE: N_("What I just read (a file) isn't all yours, so I ask first."),
    Provenance.WEB: N_("What I just read (text from the web) isn't all yours, so I ask first."),
    Provenance.FORWARDED: N_("What I just read (a forwarded text) isn't all yours, so I ask first."),
    Provenance.FOREIGN: N_("What I just read (others' words) isn't all yours, so I ask first."),
}


def reminder_tools(reminders: Reminders, writes: CitedWrites) -> list[Tool]:
    """The tools over the reminders of the calling session's owner, who is told in that session."""

    def is_asked_for(context: ToolContext, quote: str) -> bool:
        # where others' words are in view they could speak through the model
        return not context.provenance.is_foreign or writes.cited(context, quote).quote is not None

    async def reminder_set(
        context: ToolContext,
        text: str,
        when: Annotated[str, Field(description="first time, ISO 8601, user's clock")],
        repeat: Literal["once", "daily", "weekly", "monthly", "yearly"] = "once",
        days: Days = "",
        task: Literal["no", "aloud", "quiet"] = "no",
        quote: Quote = "",
    ) -> str:
        """Remind the user, or do what text says then (task). Tell them the day and hour of the answer."""
        wish = reminders.read(context.session_id, text, when, Repeat(repeat), days)
        wish = replace(wish, task=TaskSound(task) if task != "no" else None)
        if not is_asked_for(context, quote):
            with use_language(context.language):
                offer = Offer(_(_WHY[context.provenance]), context.language)
            offered = await reminders.offer(context.owner, context.session_id, wish, offer)
            return (
                f"not set yet: {context.provenance} text is in view, so the user is asked under your answer, and taps "
                f"/remind_{offered.id} to have it set: {line(offered)}"
            )
        set_now = await reminders.set(context.owner, context.session_id, wish, context.language)
        return f"set: {line(set_now)}"

    async def reminder_list(context: ToolContext) -> str | Passage:
        """The user's reminders."""
        current = await reminders.list(context.owner)
        if not current:
            return "there are none"
        made_of = Provenance.TYPED if all(reminder.trusted for reminder in current) else Provenance.FOREIGN
        return Passage("\n".join(f"- {reminder.state} {line(reminder)}" for reminder in current), made_of)

    async def reminder_cancel(context: ToolContext, number: Number, quote: Quote = "") -> str:
        """End a reminder for good."""
        if not is_asked_for(context, quote):
            return f"error: cite the user's words that ask for it, or ask them to tap /cancel_{number}"
        return f"cancelled: {line(await reminders.cancel(context.owner, number))}"

    return [
        Tool(reminder_set, writes=True),
        Tool(reminder_list),
        Tool(reminder_cancel, writes=True),
    ]
