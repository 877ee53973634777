"""Reminders from plain words, for models that don't call tools.

Such a model says "I'll remind you tomorrow" and sets nothing. But it can extract day and time as JSON, in any language.
The result is offered with a button, so a mistake does no harm.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Annotated

import structlog
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bot.features.reminders.reminders import Offer, Reminders
from bot.features.reminders.request import ONCE, REMINDER_TIME, Rhythm
from config.texts import _
from memory.clock import Clock
from memory.errors import MemoryRefused
from memory.log.sessions import Session
from memory.messages import Message, Role
from memory.recurrence import Repeat
from memory.text.phrases import asks_for_reminder
from pipeline.models.model import ChatModel, ModelRequest

log = structlog.get_logger(__name__)

MAX_MESSAGE_CHARS = 500
"""Longer messages are not read as reminders, since they are about more than a reminder."""
TIMEOUT_SECONDS = 60.0
MAX_ANSWER_TOKENS = 120
NAMED_DAYS = 14
"""Number of days that the prompt lists with their dates. Models count weekdays wrongly."""

_PROMPT = """\
You read when and of what somebody wants to be reminded. It is {now}.
The next days: {days}.
Answer with JSON: {{"what": "...", "day": "YYYY-MM-DD", "hour": "HH:MM", "repeat": "once"}}. "what" is what to be \
reminded of, in the user's own words and language, or null if the user asks for something else. "day" and "hour" are \
null if they are not named. "repeat" is "once", "daily", "weekly", "monthly" or "yearly"; for "every two weeks" add \
"every": 2, for "the last Friday of the month" add "nth": "last", "weekday": "fri". For "in 20 minutes" or "in \
two hours" give "in_minutes" in the place of day and hour."""


class _Reading(BaseModel):
    model_config = ConfigDict(extra="ignore")

    what: str | None = None
    day: date | None = None
    hour: time | None = None
    in_minutes: Annotated[int, Field(ge=1, le=366 * 24 * 60)] | None = None
    repeat: Repeat = Repeat.ONCE
    every: int = 1
    nth: str = ""
    weekday: str = ""

    @property
    def rhythm(self) -> Rhythm:
        return Rhythm(self.repeat, self.weekday if self.nth else "", self.every, self.nth)


@dataclass(frozen=True, slots=True)
class ReminderWish:
    """A reminder that a message asks for."""

    what: str
    when: datetime | None  # The first time, on the session's clock. None if the message names none.
    rhythm: Rhythm = ONCE


class PlainReminders:
    """Reads reminders from plain words and offers them if the chat model can't or doesn't call the tool."""

    def __init__(self, reminders: Reminders, clock: Clock) -> None:
        self._reminders = reminders
        self._clock = clock

    async def answer(self, session: Session, message: str, model: ChatModel, language: str) -> str | None:
        """Answer a message that asks for a reminder, and offer the reminder below the answer.

        Returns None if the message asks for no reminder. Raises ModelError.
        """
        if not could_ask_for_reminder(message):
            return None
        try:
            wish = await self.read(session, message, model)
        except ValidationError as error:
            log.info("reminder_not_read", error=type(error).__name__)
            return explain_unreadable()
        if wish is None:
            return None
        return await self.offer(session, wish, language)

    async def read(self, session: Session, message: str, model: ChatModel) -> ReminderWish | None:
        """Have the model read a message. Return None for other requests such as "remind me what she is called".

        Raises ModelError, and ValidationError if the answer is not valid.
        """
        reading = await self._read(session, message, model)
        return (
            ReminderWish(reading.what, self._find_first_time(session, reading), reading.rhythm)
            if reading.what
            else None
        )

    async def offer(self, session: Session, wish: ReminderWish, language: str) -> str:
        """Offer a reminder with a button and return the text above it."""
        if wish.when is None:
            return _explain_unclear()
        try:
            when = wish.when.isoformat(timespec="minutes")
            request = self._reminders.read(session.id, wish.what, when, wish.rhythm)
            await self._reminders.offer(session.owner, session.id, request, Offer("", language, trusted=True))
        except MemoryRefused as error:
            log.info("reminder_refused", error=str(error))
            return _explain_unclear()
        return _("I can remind you of that.")

    async def _read(self, session: Session, message: str, model: ChatModel) -> _Reading:
        now = self._clock()
        local = now.astimezone(self._reminders.zone_of(session.id))
        days = ", ".join(f"{local + timedelta(days=ahead):%A %Y-%m-%d}" for ahead in range(NAMED_DAYS))
        texts = [(Role.SYSTEM, _PROMPT.format(now=f"{local:%A %Y-%m-%d %H:%M}", days=days))]
        for asked, answer in _build_examples(local.date()):
            texts += [(Role.USER, asked), (Role.ASSISTANT, json.dumps(answer, ensure_ascii=False))]
        request = ModelRequest(
            [Message(role, text, now) for role, text in (*texts, (Role.USER, message))],
            max_output_tokens=MAX_ANSWER_TOKENS,
            steady=True,
            json=True,
            low_effort=True,
            whole=True,
            seconds=TIMEOUT_SECONDS,
            purpose="reminder",
            session_id=session.id,
        )
        return _Reading.model_validate_json((await model.complete(request)).text.strip() or "{}")

    def _find_first_time(self, session: Session, wish: _Reading) -> datetime | None:
        zone = self._reminders.zone_of(session.id)
        instant = self._clock()
        if wish.in_minutes is not None:
            return (instant + timedelta(minutes=wish.in_minutes)).astimezone(zone)
        now = instant.astimezone(zone)
        if wish.day is None and wish.hour is None:
            return None
        hour = (wish.hour or REMINDER_TIME).replace(tzinfo=None)
        first = datetime.combine(wish.day or now.date(), hour, zone)
        if first > now:
            return first.replace(tzinfo=None)
        # The time has passed today, so the user means tomorrow.
        if wish.day is None or wish.day == now.date():
            return (first + timedelta(days=1)).replace(tzinfo=None)
        try:  # If a date has no year, models return the current year.
            return first.replace(year=now.year + 1, tzinfo=None)
        except ValueError:  # 29 February doesn't exist in the next year.
            return None


def could_ask_for_reminder(message: str) -> bool:
    return len(message) <= MAX_MESSAGE_CHARS and asks_for_reminder(message)


def explain_unreadable() -> str:
    return _("I couldn't read the model's answer about the reminder, so no reminder is set: send your message again.")


def _explain_unclear() -> str:
    return _("I couldn't tell when to remind you: tell me the day and time, such as “tomorrow at 9”.")


def _build_examples(today: date) -> tuple[tuple[str, dict[str, object]], ...]:
    sunday = today + timedelta(days=(6 - today.weekday()) or 7)
    return (
        (
            "remind me on Sunday at half past six to feed the fish",
            {"what": "feed the fish", "day": f"{sunday}", "hour": "06:30", "repeat": "once"},
        ),
        ("Erinnere mich in einer Stunde an die Pizza", {"what": "die Pizza", "in_minutes": 60, "repeat": "once"}),
        ("Recuérdame cómo se llama mi jefa", {"what": None}),
        ("Rappelle-moi d'acheter du pain", {"what": "acheter du pain", "day": None, "hour": None, "repeat": "once"}),
    )
