"""Keeps the promises of models that say that they will remind the user, but don't set a reminder."""

from __future__ import annotations

from pydantic import ValidationError

from bot.features.reminders.plain import PlainReminders, could_ask_for_reminder, explain_unreadable
from config.texts import _, get_language
from memory.buttons import Notice
from memory.clock import Clock
from memory.messages import Message, Provenance, Role
from pipeline.answering import RequireTool, Review
from pipeline.models.capabilities import Part
from pipeline.models.model import LimitReached, ModelError
from pipeline.turn import Turn

REMINDER_TOOL = "reminder_set"


class ReminderAid:
    def __init__(self, reminders: PlainReminders, clock: Clock) -> None:
        self._reminders = reminders
        self._clock = clock

    async def begin(self, turn: Turn) -> ReminderCheck:
        return ReminderCheck(turn, self._reminders, self._clock, could_set=await _can_set_reminders(turn))


class ReminderCheck:
    """Offers the reminder that the message of a turn asks for, if the model can't set it or doesn't."""

    def __init__(self, turn: Turn, reminders: PlainReminders, clock: Clock, *, could_set: bool) -> None:
        self._turn = turn
        self._reminders = reminders
        self._clock = clock
        self._could_set = could_set

    async def answer(self) -> bool:
        """Offer the reminder if the model has no tool to set it. Return True if it did."""
        turn, typed = self._turn, self._get_only_message()
        if typed is None or await _can_set_reminders(turn):
            return False
        answer = await self._reminders.answer(turn.session, typed, turn.chat_model, get_language())
        if answer is not None:
            turn.produced.append(Message(Role.ASSISTANT, answer, self._clock()))
        return answer is not None

    async def review(self, require_tool: RequireTool) -> Review:
        """Set or offer the reminder if the model has answered without setting it."""
        if not self._could_set:
            return Review.FINAL
        # If the server has just refused the tools, the model may promise a reminder that it can't set.
        if await self.answer():
            return Review.REPLACED
        turn, typed = self._turn, self._get_only_message()
        called = any(call.name == REMINDER_TOOL for message in turn.produced for call in message.tool_calls)
        if called or typed is None or not could_ask_for_reminder(typed):
            return Review.FINAL
        try:
            wish = await self._reminders.read(turn.session, typed, turn.chat_model)
        except ValidationError:
            turn.notices.append(Notice(explain_unreadable()))
            return Review.FINAL
        except (ModelError, LimitReached):
            turn.notices.append(Notice(_("The model didn't say when to remind you, so no reminder is set: try again.")))
            return Review.FINAL
        if wish is not None and wish.when is None:
            unset = _("No reminder is set yet: tell me the day and time, such as “tomorrow at 9”.")
            turn.notices.append(Notice(unset))
        if wish is None or wish.when is None:
            return Review.FINAL
        if await require_tool(REMINDER_TOOL):
            return Review.CONTINUED
        offered = await self._reminders.offer(turn.session, wish, get_language())
        turn.produced.append(Message(Role.ASSISTANT, offered, self._clock()))
        return Review.REPLACED

    def _get_only_message(self) -> str | None:
        """Return the text of the turn if it answers a single typed message, outside of private talks."""
        typed = [message.content for message in self._turn.user_messages if message.provenance is Provenance.TYPED]
        is_one = len(typed) == len(self._turn.user_messages) == 1
        return typed[0] if is_one and not self._turn.session.private else None


async def _can_set_reminders(turn: Turn) -> bool:
    # Without a budget ContextBuilding fails, which aborts the turn.
    assert turn.budget is not None, "ContextBuilding gives it"  # noqa: S101
    return any(tool.name == REMINDER_TOOL for tool in turn.budget.tools) and await turn.chat_model.can(Part.TOOLS)
