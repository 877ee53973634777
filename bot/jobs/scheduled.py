"""What is done by the clock for as long as the program runs: reminders, offers, tidying, cleaning up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING

import structlog

from config.texts import N_, _, use_language
from memory.buttons import Notice
from memory.errors import Postponed, StoreError
from memory.reminders.reminder import Repeat, Rule

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from zoneinfo import ZoneInfo

    from bot.languages import Languages
    from bot.tasks import BackgroundTasks
    from memory.clock import Clock
    from memory.consolidation.weekly import WeeklyConsolidation
    from memory.ledger.ledger import Ledger
    from memory.mail.pruning import Pruning
    from memory.reminders.dates import NearDates
    from memory.service.jobs import JobLog
    from memory.store.erasure import PendingErasures
    from memory.store.integrity import IntegrityCheck
    from memory.store.notices import PendingNotices

log = structlog.get_logger(__name__)

DAY = 24 * 60 * 60.0
MINUTE = 60.0
REMINDERS_PAUSE = 5.0
"""Seconds between two looks at what is due: two reads of an index, whatever clock, zone or other process changed it."""
WEEKLY = "weekly consolidation"
DATES = "dates that come near"
DATES_EVERY = timedelta(hours=23)
"""A little less than a day, so that it does not wander through the day."""
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_GIVEN_UP = N_("I couldn't tidy the memory: I crashed on it twice. I'll try again in a week.")


def weekly_hour(day: str, hour: int, zone: ZoneInfo) -> Rule:
    return Rule(Repeat.WEEKLY, datetime.combine(date.min, time(hour)), zone, (_DAYS.index(day),))


@dataclass(frozen=True, slots=True)
class WeeklySchedule:
    """Runs the weekly consolidation (S4) at its hour, or at the start after a downtime."""

    weekly: WeeklyConsolidation
    jobs: JobLog
    notices: PendingNotices
    languages: Languages
    clock: Clock
    at: Rule

    def start(self, tasks: BackgroundTasks) -> None:
        """Begin with what a downtime missed. Only programs that stay do this."""
        log.info("weekly_consolidation_scheduled", at=self.at.after(self.clock()))
        tasks.every(MINUTE, self.run_if_due, WEEKLY)

    async def run_if_due(self) -> bool:
        """Tidy everybody's memory if the hour has come since the last time; whether it was done."""
        now = self.clock()
        ran_at = await self.jobs.ran_at(WEEKLY)
        if ran_at is None or ran_at > now:
            # the first start, or a clock that was set back: the next hour that comes is the next time
            await self.jobs.mark(WEEKLY, now)
            return False
        due = self.at.after(ran_at)
        if due is None or due > now:
            return False
        await self._tidy()
        # last of all: a run that is killed is due at the next start, and finds done what it had done
        await self.jobs.mark(WEEKLY, now)
        log.info("weekly_consolidation_done")
        return True

    async def _tidy(self) -> None:
        for owner in await self.weekly.owners():
            try:
                async with self.jobs.attempt(f"{WEEKLY} of {owner}") as may:
                    done = await self.weekly.run(owner) if may else None
                if done is None:
                    log.error("weekly_consolidation_given_up", owner=owner)
                with use_language(await self.languages.of_chat(owner)):
                    summary = _(_GIVEN_UP) if done is None else done.summary
                    if summary:
                        await self.notices.add(owner, Notice(summary))
            except Exception:
                # the next week tries again; the others need not go without
                log.exception("weekly_consolidation_failed", owner=owner)


@dataclass(eq=False)
class DateOffers:
    """Looks once a day, however often the program is started, for dates that a reminder may be offered for."""

    near: NearDates
    jobs: JobLog
    is_wanted: Callable[[str], bool]  # whether a session is offered anything
    clock: Clock

    async def run_if_due(self) -> bool:
        """Look, if that was not done today. Return True if it was done now."""
        now = self.clock()
        before = await self.jobs.ran_at(DATES)
        # a clock that was set back counts as due
        if before is not None and before <= now < before + DATES_EVERY:
            return False
        async with self.jobs.attempt(DATES) as may:
            if may:
                try:
                    await self.near.offer(self.is_wanted)
                except Postponed:
                    return False  # the model is needed for an answer
            else:
                log.error("near_dates_given_up", remedy="looked for again tomorrow")
        await self.jobs.mark(DATES, now)
        return True


def begin_reminding(tell: Callable[[], Awaitable[None]], offers: DateOffers | None, tasks: BackgroundTasks) -> None:
    """Have a channel tell what is due, at once and as each hour comes. offers None: nothing is offered."""
    tasks.every(REMINDERS_PAUSE, tell, "reminders")
    if offers is not None:
        tasks.every(REMINDERS_PAUSE, offers.run_if_due, DATES)


@dataclass(eq=False)
class Maintenance:
    """Removes old mail, entries whose undo has run out and traces of deletions; looks whether the database is whole."""

    pruning: Pruning
    ledger: Ledger
    soundness: IntegrityCheck
    traces: PendingErasures

    async def begin(self) -> None:
        """Do it at a start. Raises StoreError where the database is damaged, unless it takes long to look."""
        if self.soundness.is_quick:
            await self.soundness.examine()
        await self.run()

    async def run(self) -> None:
        """Do it once. What goes wrong, such as a full disk, is logged: the next time does it."""
        try:
            await self.ledger.purge()
            pruned = await self.pruning.prune()
        except StoreError as error:
            log.warning("housekeeping_failed", reason=str(error))
        else:
            log.debug("housekeeping_done", rows=pruned)

    async def remove_traces(self) -> None:
        """Finish the deletions whose traces are left. What can't be done now is logged, and done the next time."""
        try:
            await self.traces.remove()
        except StoreError as error:
            log.warning("traces_left", reason=str(error))

    def start(self, tasks: BackgroundTasks) -> None:
        """Do it daily from now on, and look for traces every minute. Only programs that stay do this."""
        at_once = not self.soundness.is_quick  # else it was looked at just now
        tasks.every(DAY, self._daily, "housekeeping", at_once=at_once)
        tasks.every(MINUTE, self.remove_traces, "traces", at_once=False)

    async def _daily(self) -> None:
        try:
            await self.soundness.examine()
        except StoreError as error:
            log.error("database_damaged", reason=str(error))  # the sentence says it all
        await self.run()
