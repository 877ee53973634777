"""Offers of reminders for dates in memory: expirations, such as a passport's, and birthdays and anniversaries."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

from bot.features.reminders.near_date_look import MAX_CLAIMS, DateClaim, OfferLook
from bot.features.reminders.reminders import Offer, Reminders
from bot.features.reminders.request import REMINDER_TIME, ReminderRequest, validate_text
from bot.features.reminders.wording import LanguageOf
from config.texts import _, format_day, use_language
from memory.clock import Clock, from_text, to_text
from memory.errors import MemoryRefused
from memory.log.sessions import Address
from memory.recurrence import Repeat, Rule
from memory.store.database import Database, Row
from memory.store.entry import Author, Kind
from memory.store.entry_rows import LIVE, sql_list
from memory.transfer.import_fields import MAX_REMINDER_CHARS

OFFER_PERIOD = timedelta(days=30)
"""How long before a date its reminder is offered."""
LEAD_TIME = timedelta(days=7)
"""How long before an expiration the reminder comes."""
_KINDS = sql_list((Kind.FACT, Kind.DECISION, Kind.NOTE))

_YEARLY = re.compile(
    r"birthday|anniversary|\bborn\b|день рождения|дня рождения|годовщин|родил(?:ся|ась)|день народження|дня народження|"
    r"річниц|народи(?:вся|лася)|geburtstag|jahrestag|hochzeitstag|geboren|cumpleaños|aniversario|nació|anniversaire|"
    r"\bnée? le\b|生日|纪念日",
    re.IGNORECASE,
)
_MONTHS = (
    "jan|janv|jän|ene|янв|січ",
    "feb|fév|фев|лют",
    "mar|mär|март|берез",
    "apr|abr|avr|апр|квіт",
    "may|mai|мая|май|трав",
    "jun|juin|июн|черв",
    "jul|juil|июл|лип",
    "aug|ago|août|авг|серп",
    "sep|сен|верес",
    "oct|okt|окт|жовт",
    "nov|ноя|листоп",
    "dec|dez|dic|déc|дек|груд",
)
_MONTH = "|".join(f"(?P<m{number}>(?:{stems}))" for number, stems in enumerate(_MONTHS, 1))
_WRITTEN = (
    re.compile(r"\b\d{4}-(?P<month>\d{2})-(?P<day>\d{2})\b"),
    re.compile(r"(?<![\d.])(?P<day>\d{1,2})\.(?P<month>\d{1,2})(?![\d])"),
    re.compile(r"(?P<month>\d{1,2})月(?P<day>\d{1,2})[日号]"),
    re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|º|\.)?\s+(?:of\s+|de\s+)?(?:{_MONTH})\w*", re.IGNORECASE),
    re.compile(rf"\b(?:{_MONTH})\w*\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b", re.IGNORECASE),
)


def find_yearly_day(text: str) -> tuple[int, int] | None:
    """Return the month and day of a birthday or anniversary in a text, or None."""
    if not _YEARLY.search(text):
        return None
    for pattern in _WRITTEN:
        for match in pattern.finditer(text):
            groups = match.groupdict()
            named = (number for number in range(1, 13) if groups.get(f"m{number}"))
            month, day = int(groups.get("month") or next(named, 0)), int(groups["day"])
            if 1 <= month <= 12 and 1 <= day <= 31:
                return month, day
    return None


@dataclass(frozen=True, slots=True)
class _NearDate:
    """A memory with a near date and the reminder for it. Yearly dates have no `ends`."""

    entry_id: int
    owner: str
    session_id: str
    ends: date | None
    wish: ReminderRequest
    claim: DateClaim

    @property
    def why(self) -> str:
        if self.ends is None:
            return _("A date you told me about is coming up.")
        return _("This ends on {day}.", day=format_day(self.ends))


class NearDates:
    """Offers reminders for near dates: one per run and owner, and once for each memory.

    A model judges which dates deserve one.
    """

    def __init__(
        self, database: Database, reminders: Reminders, look: OfferLook, language_of: LanguageOf, clock: Clock
    ) -> None:
        self._database = database
        self._reminders = reminders
        self._language_of = language_of
        self._clock = clock
        self._look = look
        # Memories and dates that the model has declined. They are judged again after a restart.
        self._declined: set[tuple[int, date]] = set()

    async def offer(self, is_wanted: Callable[[str], bool] = lambda _: True) -> int:
        """Offer reminders and return their number. Raises Postponed.

        Args:
            is_wanted: Returns whether a session may get offers.
        """
        # Only trusted memories of owners with a session.
        rows = await self._database.rows(
            "SELECT e.id, e.content, e.quote, e.author, e.valid_until, o.name AS owner, (SELECT s.id FROM sessions s"
            " WHERE s.owner = o.name AND s.state <> 'TERMINATED' ORDER BY s.updated_at DESC LIMIT 1) AS session_id"
            f" FROM entries e JOIN owners o ON o.id = e.owner_id WHERE {LIVE} AND e.trusted AND e.kind IN ({_KINDS})"
            " AND (e.valid_until IS NULL OR e.valid_until <= ?)"
            " AND NOT EXISTS (SELECT 1 FROM reminders r WHERE r.entry_id = e.id) AND session_id IS NOT NULL",
            (to_text(self._clock() + OFFER_PERIOD),),
        )
        near = await asyncio.to_thread(
            lambda: [result for row in rows if (result := self._find_near_date(row)) is not None]
        )
        by_owner: defaultdict[str, list[_NearDate]] = defaultdict(list)
        for item in sorted(near, key=lambda item: item.wish.at):
            if (item.entry_id, item.claim.day) not in self._declined and is_wanted(item.session_id):
                by_owner[item.owner].append(item)
        return sum([await self._offer_best(self._look, items[:MAX_CLAIMS]) for items in by_owner.values()])

    async def _offer_best(self, look: OfferLook, items: Sequence[_NearDate]) -> bool:
        """Offer a reminder for the nearest of an owner's dates that the model approves. Return True if there is one."""
        session_id = items[0].session_id
        language = await self._language_of(Address.parse(session_id).owner)
        today = self._clock().astimezone(self._reminders.zone_of(session_id)).date()
        texts = await look.look([item.claim for item in items], today, language)
        self._declined |= {
            (item.entry_id, item.claim.day) for at, item in enumerate(items) if texts.get(at, "") is None
        }
        chosen = next(((item, text) for at, item in enumerate(items) if (text := texts.get(at))), None)
        if chosen is None:
            return False
        await self._offer(*chosen, language)
        return True

    async def _offer(self, near: _NearDate, text: str, language: str) -> None:
        with use_language(language):
            offer = Offer(near.why, language, trusted=True, entry_id=near.entry_id)
        with contextlib.suppress(MemoryRefused):  # There may be too many offers already.
            wish = replace(near.wish, text=validate_text(text))
            await self._reminders.offer(near.owner, near.session_id, wish, offer)

    def _find_near_date(self, row: Row) -> _NearDate | None:
        now, zone = self._clock(), self._reminders.zone_of(row["session_id"])
        text = " ".join(row["content"].split())[:MAX_REMINDER_CHARS]
        own_words = text if row["author"] in (Author.USER, Author.CAPTURE) else row["quote"]
        if row["valid_until"]:
            ends = from_text(row["valid_until"]).astimezone(zone).date()
            # A week before the end, or the day before it if that is past.
            for days in (LEAD_TIME.days, 1):
                first = datetime.combine(ends - timedelta(days=days), REMINDER_TIME)
                at = first.replace(tzinfo=zone).astimezone(UTC)
                if at > now:
                    wish = ReminderRequest(text, Rule(Repeat.ONCE, first, zone), at)
                    claim = DateClaim(text, ends, is_yearly=False, own_words=own_words)
                    return _NearDate(row["id"], row["owner"], row["session_id"], ends, wish, claim)
            return None
        day = find_yearly_day(text)
        if day is None:
            return None
        # 2024 is a leap year, so 29 February is valid. In other years the reminder comes on the 28th.
        try:
            rule = Rule(Repeat.YEARLY, datetime.combine(datetime(2024, *day, tzinfo=UTC).date(), REMINDER_TIME), zone)
        except ValueError:
            return None
        at_next = rule.find_next(now)
        if at_next is None or at_next - now > OFFER_PERIOD:
            return None
        wish = ReminderRequest(text, rule, at_next)
        claim = DateClaim(text, at_next.astimezone(zone).date(), is_yearly=True, own_words=own_words)
        return _NearDate(row["id"], row["owner"], row["session_id"], None, wish, claim)
