"""Scheduled jobs of the running bot: reminders, offers, weekly consolidation and maintenance."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import structlog

from bot.languages import Languages
from bot.tasks import BackgroundTasks
from config.texts import N_, _, use_language
from memory.buttons import Notice
from memory.clock import Clock
from memory.consolidation.weekly import WeeklyConsolidation
from memory.errors import Postponed, StoreError
from memory.ledger.ledger import Ledger
from memory.mail.pruning import Pruning
from memory.reminders.dates import NearDates
from memory.reminders.reminder import Repeat, Rule
from memory.runtime.jobs import JobLog
from memory.store.erasure import PendingErasures
from memory.store.integrity import IntegrityCheck
from memory.store.notices import PendingNotices

log = structlog.get_logger(__name__)

DAY_SECONDS = 24 * 60 * 60.0
MINUTE_SECONDS = 60.0
REMINDERS_INTERVAL_SECONDS = 5.0
"""Seconds between checks for due reminders. Each reads an index twice, so it notices any change of clock or zone."""
WEEKLY = "weekly consolidation"
DATES = "dates that come near"
DATES_INTERVAL = timedelta(hours=23)
"""A little less than a day, so that delays don't add up."""
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_GIVEN_UP = N_("I couldn't tidy my memory: I crashed on it twice. I'll try again in a week.")


def create_weekly_rule(day: str, hour: int, zone: ZoneInfo) -> Rule:
    return Rule(Repeat.WEEKLY, datetime.combine(date.min, time(hour)), zone, (_DAYS.index(day),))


@dataclass(frozen=True, slots=True)
class WeeklySchedule:
    """Runs the weekly consolidation at its hour, or at the next start if the bot was off."""

    weekly: WeeklyConsolidation
    jobs: JobLog
    notices: PendingNotices
    languages: Languages
    clock: Clock
    at: Rule

    def start(self, tasks: BackgroundTasks) -> None:
        """Start with a run that was missed. One-off commands don't call this."""
        log.info("weekly_consolidation_scheduled", at=self.at.find_next(self.clock()))
        tasks.every(MINUTE_SECONDS, self.run_if_due, WEEKLY)

    async def run_if_due(self) -> bool:
        """Consolidate the memory of all owners if a run is due. Return True if it was."""
        now = self.clock()
        last_run = await self.jobs.find_last_run(WEEKLY)
        if last_run is None or last_run > now:
            # At the first start, or after the clock was set back, wait for the next hour
            await self.jobs.mark(WEEKLY, now)
            return False
        due = self.at.find_next(last_run)
        if due is None or due > now:
            return False
        await self._tidy()
        # Last, so that an interrupted run is due at the next start, which skips finished work
        await self.jobs.mark(WEEKLY, now)
        log.info("weekly_consolidation_done")
        return True

    async def _tidy(self) -> None:
        for owner in await self.weekly.list_owners():
            try:
                async with self.jobs.attempt(f"{WEEKLY} of {owner}") as is_allowed:
                    done = await self.weekly.run(owner) if is_allowed else None
                if done is None:
                    log.error("weekly_consolidation_given_up", owner=owner)
                with use_language(await self.languages.get_for_chat(owner)):
                    summary = _(_GIVEN_UP) if done is None else done.summary
                    if summary:
                        await self.notices.add(owner, Notice(summary))
            except Exception:
                # Next week it is tried again. Go on with the other owners
                log.exception("weekly_consolidation_failed", owner=owner)


@dataclass(eq=False)
class DateOfferJob:
    """Searches once a day for dates in memory to offer a reminder for, no matter how often the program starts."""

    near: NearDates
    jobs: JobLog
    is_wanted: Callable[[str], bool]
    clock: Clock

    async def run_if_due(self) -> bool:
        """Search if that wasn't done today. Return True if it was done now."""
        now = self.clock()
        last_run = await self.jobs.find_last_run(DATES)
        # If the clock was set back, a search is due
        if last_run is not None and last_run <= now < last_run + DATES_INTERVAL:
            return False
        async with self.jobs.attempt(DATES) as is_allowed:
            if is_allowed:
                try:
                    await self.near.offer(self.is_wanted)
                except Postponed:
                    return False  # An answer needs the model first
            else:
                log.error("near_dates_given_up", remedy="looked for again tomorrow")
        await self.jobs.mark(DATES, now)
        return True


def start_reminders(tell: Callable[[], Awaitable[None]], offers: DateOfferJob | None, tasks: BackgroundTasks) -> None:
    """Check for due reminders now and repeatedly.

    Args:
        tell: delivers what is due through a channel.
        offers: None if no dates are offered.
    """
    tasks.every(REMINDERS_INTERVAL_SECONDS, tell, "reminders")
    if offers is not None:
        tasks.every(REMINDERS_INTERVAL_SECONDS, offers.run_if_due, DATES)


@dataclass(eq=False)
class Maintenance:
    """Removes old mail, entries that can't be restored any more, and traces of deletions. Checks the database."""

    pruning: Pruning
    ledger: Ledger
    integrity: IntegrityCheck
    traces: PendingErasures

    async def run_at_start(self) -> None:
        """Run at the start. Raises StoreError if the database is damaged. A long check is postponed."""
        if self.integrity.is_quick:
            await self.integrity.examine()
        await self.run()

    async def run(self) -> None:
        """Run once. Failures such as a full disk are logged, and the next run tries again."""
        try:
            await self.ledger.purge()
            pruned = await self.pruning.prune()
        except StoreError as error:
            log.warning("housekeeping_failed", reason=str(error))
        else:
            log.debug("housekeeping_done", rows=pruned)

    async def remove_traces(self) -> None:
        """Complete deletions that left traces. Failures are logged, and the next run tries again."""
        try:
            await self.traces.remove()
        except StoreError as error:
            log.warning("traces_left", reason=str(error))

    def start(self, tasks: BackgroundTasks) -> None:
        """Run daily, and remove traces every minute. One-off commands don't call this."""
        at_once = not self.integrity.is_quick
        tasks.every(DAY_SECONDS, self._run_daily, "housekeeping", at_once=at_once)
        tasks.every(MINUTE_SECONDS, self.remove_traces, "traces", at_once=False)

    async def _run_daily(self) -> None:
        try:
            await self.integrity.examine()
        except StoreError as error:
            log.error("database_damaged", reason=str(error))  # Its text says what to do
        await self.run()
