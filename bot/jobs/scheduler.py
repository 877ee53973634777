"""APScheduler, made robust against changes of the machine's clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger

MAX_WAIT_SECONDS = 60.0
"""Maximum number of seconds before the scheduler reads the clock again."""


class RepeatTrigger(BaseTrigger):  # type: ignore[misc]  # The library has no types
    """Fires some seconds after the last check.

    APScheduler's IntervalTrigger counts from a start time. After the clock is set back, that lies in the future, and
    the trigger waits until the clock has caught up.
    """

    def __init__(self, seconds: float) -> None:
        self._pause = timedelta(seconds=seconds)

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        return now + self._pause


class SteadyScheduler(AsyncIOScheduler):  # type: ignore[misc]  # As above
    """Waits by the monotonic clock of the event loop, and reads the wall clock each time to find due jobs.

    APScheduler itself computes the wait once from the wall clock. It would notice a clock set forward late, and delay
    all jobs after a clock set back.
    """

    def _process_jobs(self) -> float:
        now = datetime.now(UTC)
        for job in self.get_jobs():
            due = job.trigger.get_next_fire_time(None, now)
            if due < job.next_run_time:  # The clock was set back
                job.modify(next_run_time=due)
        wait: float | None = super()._process_jobs()
        return MAX_WAIT_SECONDS if wait is None else min(wait, MAX_WAIT_SECONDS)
