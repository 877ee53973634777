"""Messages and tasks with a scheduled time, such as reminders. Each channel checks every few seconds what is due."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from bot.tasks import BackgroundTasks, Periodic
from pipeline.scheduled import ScheduledRun, Serves

DUE_INTERVAL_SECONDS = 5.0
"""Seconds between checks for what is due. They are cheap, so they can notice any change of clock or zone."""


class DueMessages(Protocol):
    """A source of messages that are sent at a scheduled time."""

    async def deliver(self, channel: str, serves: Serves) -> list[str]:
        """Put due messages into a channel's outbox and return their sessions. Others stay due."""

    async def show(self, session_id: str, show: Callable[[str], object]) -> None:
        """Show the due messages of a session in a channel without an outbox."""


class TaskSource(Protocol):
    """A source of tasks that run at a scheduled time, each as a turn."""

    async def enqueue_due(self, place: str, serves: Serves) -> bool:
        """Put due tasks into the inbox of their channel. Return True if there were any.

        Args:
            place: Prefix of the session ids.
        """

    async def list_waiting(self, session_id: str) -> Sequence[tuple[int, ScheduledRun]]:
        """Return the inbox ids and runs that wait in a session, for a channel with only tasks in its inbox."""

    async def find_run(self, payload: str, received_at: datetime) -> ScheduledRun | None:
        """Return the run of an inbox row, or None if it isn't known any more."""


@dataclass(frozen=True, slots=True)
class Due:
    """Everything that may come due."""

    messages: Sequence[DueMessages]
    tasks: Sequence[TaskSource]

    async def deliver(self, channel: str, serves: Serves) -> list[str]:
        return [session_id for each in self.messages for session_id in await each.deliver(channel, serves)]

    async def show(self, session_id: str, show: Callable[[str], object]) -> None:
        for each in self.messages:
            await each.show(session_id, show)

    async def enqueue(self, place: str, serves: Serves) -> bool:
        return any([await each.enqueue_due(place, serves) for each in self.tasks])

    async def list_waiting(self, session_id: str) -> list[tuple[int, ScheduledRun]]:
        return [waiting for each in self.tasks for waiting in await each.list_waiting(session_id)]

    async def find_run(self, payload: str, received_at: datetime) -> ScheduledRun | None:
        for each in self.tasks:
            if (run := await each.find_run(payload, received_at)) is not None:
                return run
        return None


def start_checks(deliver: Callable[[], Awaitable[None]], periodic: Sequence[Periodic], tasks: BackgroundTasks) -> None:
    """Check now and repeatedly what is due.

    Args:
        deliver: delivers what is due through a channel.
        periodic: the work of features to do with it.
    """
    tasks.every(DUE_INTERVAL_SECONDS, deliver, "due")
    for work in periodic:
        tasks.every(DUE_INTERVAL_SECONDS, work.run_if_due, work.name)
