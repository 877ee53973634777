"""APScheduler, as no change of the machine's clock can stop it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger

LONGEST_WAIT = 60.0
"""Seconds at most until the scheduler asks the wall clock again what is due."""


class Again(BaseTrigger):  # type: ignore[misc]  # the library has no types
    """Due some seconds after it was last looked at.

    APScheduler's own IntervalTrigger counts from a start, which lies in the future once the clock is set back: then
    it waits until the clock has caught up.
    """

    def __init__(self, seconds: float) -> None:
        self._pause = timedelta(seconds=seconds)

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        return now + self._pause


class SteadyScheduler(AsyncIOScheduler):  # type: ignore[misc]  # the same
    """Waits by the event loop's clock, which nobody sets, and asks the wall clock anew each time what is due.

    APScheduler alone works out once how long to wait, by the wall clock, so a clock set forward in between is noticed
    late, and one set back delays every job by as much.
    """

    def _process_jobs(self) -> float:
        now = datetime.now(UTC)
        for job in self.get_jobs():
            due = job.trigger.get_next_fire_time(None, now)
            if due < job.next_run_time:  # the clock was set back
                job.modify(next_run_time=due)
        wait: float | None = super()._process_jobs()
        return LONGEST_WAIT if wait is None else min(wait, LONGEST_WAIT)
