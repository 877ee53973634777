"""The weekly run of the tidying."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time
from zoneinfo import ZoneInfo

import structlog

from bot.features.tidying.tidying import WeeklyConsolidation
from bot.jobs.scheduled import MINUTE_SECONDS
from bot.languages import Languages
from bot.tasks import BackgroundTasks
from config.texts import N_, _, use_language
from memory.buttons import Notice
from memory.clock import Clock
from memory.recurrence import Repeat, Rule
from memory.runtime.jobs import JobLog
from memory.store.notices import PendingNotices

log = structlog.get_logger(__name__)

WEEKLY = "weekly consolidation"
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
