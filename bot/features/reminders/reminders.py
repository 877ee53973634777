"""The reminders of owners in the database: set, offer, list, complete, snooze and cancel."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from bot.features.reminders.reminder import REMINDER_ROWS, Reminder, ReminderState, reminder_from_row
from bot.features.reminders.request import ONCE, ReminderRequest, Rhythm, read_request
from config.numbers import parse_reference
from config.texts import N_, SOURCE, _, format_day_and_hour, ngettext, use_language
from memory.buttons import Button, Notice
from memory.clock import Clock, TimezoneLookup, now_text, to_text
from memory.errors import MemoryRefused
from memory.log.sessions import GUEST, Address
from memory.recurrence import Repeat
from memory.store.database import Connection, Database
from memory.store.effects import record_causes
from memory.store.entry_rows import get_or_create_owner_id
from memory.store.notices import store_notice

MAX_WAITING = 100
"""Maximum number of waiting reminders of one owner."""
MAX_OFFERED = 20
RECENT_PERIOD = timedelta(days=1)
"""How long a delivered reminder is still listed."""
DEFAULT_SNOOZE = timedelta(hours=1)
MAX_SNOOZE = timedelta(days=366)
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_SPAN = re.compile(r"(?P<number>[0-9]{1,5})\s*(?P<unit>[mhdw])[a-z]*", re.IGNORECASE)

# Refusals of operations that a reminder's state doesn't allow.
_NOT_NOW = {
    ReminderState.OFFERED: N_("Reminder {id} isn't set yet: /reminders lists the open ones."),
    ReminderState.WAITING: N_("Reminder {id} isn't due yet: /reminders lists the open ones."),
    ReminderState.TELLING: N_("Reminder {id} is being delivered: /reminders lists the open ones."),
    ReminderState.TOLD: N_("Reminder {id} was already delivered: /reminders lists the open ones."),
    ReminderState.FAILED: N_("Reminder {id} could not be delivered: /reminders lists the open ones."),
    ReminderState.DONE: N_("Reminder {id} is done: /reminders lists the open ones."),
    ReminderState.CANCELLED: N_("Reminder {id} is cancelled: /reminders lists the open ones."),
}
_OPEN = (ReminderState.WAITING, ReminderState.TELLING, ReminderState.TOLD, ReminderState.FAILED)


@dataclass(frozen=True, slots=True)
class Offer:
    """The reason for an offered reminder, as a sentence in `language`."""

    why: str
    language: str
    trusted: bool = False  # no foreign text could have influenced its wording
    entry_id: int | None = None  # the memory with the date, which gets only one offer


class Reminders:
    def __init__(
        self,
        database: Database,
        clock: Clock,
        zone_of: TimezoneLookup,  # the time zone of a session
        introduces: Callable[[str], bool] = lambda _: False,  # whether the first reminder mentions the time zone
    ) -> None:
        self._database = database
        self._clock = clock
        self.zone_of = zone_of
        self._introduces = introduces

    def read(self, session_id: str, text: str, when: str, rhythm: Rhythm = ONCE) -> ReminderRequest:
        """Parse a model's request. Raise MemoryRefused with a sentence that says what to write instead."""
        return read_request(text, when, rhythm, now=self._clock(), zone=self.zone_of(session_id))

    async def set(self, owner: str, session_id: str, request: ReminderRequest, language: str = SOURCE) -> Reminder:
        """Store a reminder. Raise MemoryRefused if there are too many."""
        return await self._add(owner, session_id, request, ReminderState.WAITING, language=language)

    async def offer(self, owner: str, session_id: str, request: ReminderRequest, offer: Offer) -> Reminder:
        """Store a reminder that needs the user's consent, and ask for it with the next reply."""
        return await self._add(owner, session_id, request, ReminderState.OFFERED, offer)

    async def _add(
        self,
        owner: str,
        session_id: str,
        request: ReminderRequest,
        state: ReminderState,
        offer: Offer | None = None,
        *,
        language: str = SOURCE,
    ) -> Reminder:
        if Address.parse(session_id).channel == GUEST:  # The bot can't start a conversation there.
            raise MemoryRefused(_("I can't send reminders in a chat where I'm not a member: ask me in private."))
        async with self._database.transaction() as connection:
            number = await get_or_create_owner_id(connection, owner)
            await _require_room(connection, number, state, now_text(self._clock))
            rule = request.rule
            days = ",".join(map(str, rule.days))
            when = (rule.repeat, rule.first.isoformat(), rule.zone.key, days, rule.every, rule.nth)
            trusted, entry_id = (True, None) if offer is None else (offer.trusted, offer.entry_id)
            about = (state, to_text(request.at), trusted, entry_id, request.task, now_text(self._clock))
            cursor = await connection.execute(
                "INSERT INTO reminders (owner_id, session_id, text, repeat, first, zone, days, every, nth, state,"
                " next_at, trusted, entry_id, task, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (number, session_id, request.text, *when, *about),
            )
            added = int(cursor.lastrowid or 0)
            if offer is not None:
                with use_language(offer.language):
                    line = _create_question(request, offer, added)
                await store_notice(connection, number, line)
            elif self._introduces(session_id) and await _is_first(connection, number):
                with use_language(language):
                    clock_note = _create_clock_notice(rule.zone)
                await store_notice(connection, number, clock_note)
            await record_causes(connection)
            return await _get(connection, owner, added)

    async def list(self, owner: str) -> list[Reminder]:
        """Return waiting reminders, soonest first, then offered reminders and reminders delivered in the last day."""
        rows = await self._database.rows(
            f"{REMINDER_ROWS} WHERE o.name = ? AND (r.state IN ('waiting', 'telling', 'failed')"
            " OR r.state = 'offered' AND r.next_at > ? OR r.state = 'told' AND r.told_at >= ?)"
            " ORDER BY r.state <> 'waiting', r.state <> 'offered', coalesce(r.next_at, r.told_for), r.id",
            (owner, now_text(self._clock), to_text(self._clock() - RECENT_PERIOD)),
        )
        return [reminder_from_row(row) for row in rows]

    async def accept(self, owner: str, number: str, session_id: str) -> Reminder:
        """Set an offered reminder, for the session in which the user accepts it."""
        async with self._database.transaction() as connection:
            reminder = await _in_state(connection, owner, number, (ReminderState.OFFERED,))
            owner_id = await get_or_create_owner_id(connection, owner)
            await _require_room(connection, owner_id, ReminderState.WAITING, now_text(self._clock))
            next_at = reminder.next_at
            if next_at is None or next_at <= self._clock():
                next_at = reminder.rule.find_next(self._clock()) if reminder.is_recurring else None
            if next_at is None:
                raise MemoryRefused(_("The time of this reminder has already passed: ask for a new one."))
            await connection.execute("UPDATE reminders SET session_id = ? WHERE id = ?", (session_id, reminder.id))
            return await self._change(connection, reminder, ReminderState.WAITING, next_at)

    async def complete(self, owner: str, number: str) -> Reminder:
        """Complete a reminder. A recurring one waits for its next time."""
        async with self._database.transaction() as connection:
            reminder = await _in_state(connection, owner, number, _OPEN)
            coming = reminder.rule.find_next(self._clock()) if reminder.is_recurring else None
            state = ReminderState.WAITING if coming is not None else ReminderState.DONE
            return await self._change(connection, reminder, state, coming)

    async def snooze(self, owner: str, number: str, length: timedelta) -> Reminder:
        """Postpone a reminder by `length` from now. A recurring one continues as before after that."""
        async with self._database.transaction() as connection:
            reminder = await _in_state(connection, owner, number, _OPEN)
            return await self._change(connection, reminder, ReminderState.WAITING, self._clock() + length)

    async def cancel(self, owner: str, number: str) -> Reminder:
        """Cancel a reminder or decline an offered one."""
        async with self._database.transaction() as connection:
            reminder = await _in_state(connection, owner, number, (*_OPEN, ReminderState.OFFERED))
            return await self._change(connection, reminder, ReminderState.CANCELLED, None)

    async def _change(
        self, connection: Connection, reminder: Reminder, state: ReminderState, next_at: datetime | None
    ) -> Reminder:
        # A change by the user resets the failure count of a task.
        await connection.execute(
            "UPDATE reminders SET state = ?, next_at = ?, failures = 0 WHERE id = ?",
            (state, to_text(next_at) if next_at is not None else None, reminder.id),
        )
        await record_causes(connection)
        return await _get(connection, reminder.owner, reminder.id)


def parse_snooze(text: str) -> timedelta:
    """Parse a duration such as `10m`, `2 hours` or `1d`. An empty string means one hour. Raises MemoryRefused."""
    if not text.strip():
        return DEFAULT_SNOOZE
    match = _SPAN.fullmatch(text.strip())
    length = timedelta(**{_UNITS[match["unit"].lower()]: int(match["number"])}) if match else timedelta()
    if not timedelta() < length <= MAX_SNOOZE:
        raise MemoryRefused(_("A reminder can be snoozed for a time such as 10m, 2h or 1d, up to a year."))
    return length


def _create_clock_notice(zone: ZoneInfo) -> Notice:
    text = _("Times here are in {zone}. If that isn't your time zone, change it with /timezone.", zone=zone.key)
    return Notice(text, ((Button(_("Change time zone"), "/timezone"),),))


async def _is_first(connection: Connection, owner_id: int) -> bool:
    (row,) = await connection.execute_fetchall("SELECT count(*) FROM reminders WHERE owner_id = ?", (owner_id,))
    return bool(row[0] == 1)


def _create_question(wish: ReminderRequest, offer: Offer, number: int) -> Notice:
    hour = format_day_and_hour(wish.at, wish.rule.zone)
    if wish.task is not None:
        question = _(
            "{why} Shall I do this on {hour} ({rhythm}): {text}? /remind_{id} sets it.",
            why=offer.why,
            hour=hour,
            rhythm=wish.rule,
            text=wish.text,
            id=number,
        )
    elif wish.rule.repeat is Repeat.ONCE:
        question = _(
            "{why} Shall I remind you on {hour} of: {text}? /remind_{id} sets it.",
            why=offer.why,
            hour=hour,
            text=wish.text,
            id=number,
        )
    else:
        question = _(
            "{why} Shall I remind you on {hour}, {rhythm}, of: {text}? /remind_{id} sets it.",
            why=offer.why,
            hour=hour,
            rhythm=wish.rule,
            text=wish.text,
            id=number,
        )
    yes = Button(_("Remind me") if wish.task is None else _("Do it"), f"/remind_{number}", wish.text)
    return Notice(question.strip(), ((yes, Button(_("No"), f"/cancel_{number}", wish.text)),))


async def _require_room(connection: Connection, owner_id: int, state: ReminderState, now: str) -> None:
    """Raise MemoryRefused if too many reminders are in a state. Offers for past times don't count."""
    limit = MAX_WAITING if state is ReminderState.WAITING else MAX_OFFERED
    (row,) = await connection.execute_fetchall(
        "SELECT count(*) FROM reminders WHERE owner_id = ? AND state = ? AND (state <> 'offered' OR next_at > ?)",
        (owner_id, state, now),
    )
    if row[0] >= limit:
        raise MemoryRefused(
            ngettext(
                "You already have {n} reminder: cancel some first (/reminders lists them).",
                "You already have {n} reminders: cancel some first (/reminders lists them).",
                limit,
            )
            if state is ReminderState.WAITING
            else ngettext(
                "{n} reminder is already suggested: cancel some first (/reminders lists them).",
                "{n} reminders are already suggested: cancel some first (/reminders lists them).",
                limit,
            )
        )


async def _get(connection: Connection, owner: str, number: int) -> Reminder:
    rows = await connection.execute_fetchall(f"{REMINDER_ROWS} WHERE o.name = ? AND r.id = ?", (owner, number))
    for row in rows:
        return reminder_from_row(row)
    raise MemoryRefused(_("There is no reminder {id}: /reminders lists all reminders.", id=number))


async def _in_state(connection: Connection, owner: str, number: str, states: Collection[ReminderState]) -> Reminder:
    """Return the owner's reminder `12` or `#12`. Raise MemoryRefused if its state is not among `states`."""
    parsed = parse_reference(number)
    if parsed is None:
        raise MemoryRefused(
            _("{text!r} isn't the number of a reminder: /reminders lists them.", text=number.strip()[:40])
        )
    reminder = await _get(connection, owner, parsed)
    if reminder.state not in states:
        raise MemoryRefused(_(_NOT_NOW[reminder.state], id=reminder.id))
    return reminder
