"""Health checks, and status reports to a service manager such as systemd."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import structlog

from bot.sessions import SessionQueues
from bot.tasks import BackgroundTasks
from config.waiting import wait_at_most
from memory.errors import StoreError
from memory.store.database import Database

log = structlog.get_logger(__name__)

DATABASE_TIMEOUT_SECONDS = 5.0
"""Timeout for a small read, even during a large search."""

START_TIMEOUT_SECONDS = 30.0
"""Timeout for reaching Telegram, after which the bot counts as started anyway.

Otherwise a start without network would delay the boot, fail and be repeated for ever.
"""
STATUS_INTERVAL_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Measurement:
    """A figure that monitoring reads.

    Args:
        name: The name, with its unit.
        read: Returns the present value, or None if it is unknown.
    """

    name: str
    description: str
    read: Callable[[], float | None]


class Safeguard(Protocol):
    """Protects the commits of a running bot, for example by copying them to another machine."""

    async def wait_until_safe(self) -> None:
        """Wait until all commits are safe, but only for a limited time.

        Called before updates are confirmed to their sender, and before and after the delivery of a reply.
        """

    async def require_place(self) -> None:
        """Raise ConfigurationError if another machine has taken over. Called if another program polls for updates."""


class Heartbeat:
    """Watches a loop, which reports before each step when the next one will come.

    A failed step counts too. The loop is dead only if no step comes.

    Args:
        what: the name of the loop in reports.
    """

    def __init__(self, what: str, now: Callable[[], float] = time.monotonic) -> None:
        self.what = what
        self._now = now
        self._due: float | None = None
        self.worked = asyncio.Event()
        self.trouble: str | None = "it has not begun"

    def report_step(self, within: float) -> None:
        self._due = self._now() + within

    def report_success(self) -> None:
        self.trouble = None
        self.worked.set()

    def report_failure(self, reason: str) -> None:
        self.trouble = reason

    @property
    def is_late(self) -> bool:
        """Return True if the next step is overdue. A loop that hasn't started is not late."""
        return self._due is not None and self._now() > self._due


class Health:
    def __init__(self, database: Database, now: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self.updates = Heartbeat("polling", now)

    async def explain_stuck(self) -> str | None:
        """Return the reason why only a restart would help, or None."""
        # Being unable to reach Telegram is no reason: a restart doesn't repair the network
        if self.updates.is_late:
            return f"{self.updates.what} has come to a standstill"
        return await self._find_database_trouble()

    async def find_trouble(self) -> str | None:
        if (stuck := await self.explain_stuck()) is not None:
            return stuck
        trouble = self.updates.trouble
        return None if trouble is None else f"{self.updates.what} does not work: {trouble}"

    async def _find_database_trouble(self) -> str | None:
        try:
            async with asyncio.timeout(DATABASE_TIMEOUT_SECONDS):
                await self._database.value("SELECT count(*) FROM jobs")
        except TimeoutError:
            return f"the database did not answer within {DATABASE_TIMEOUT_SECONDS:g} s"
        except StoreError as error:
            return str(error)
        return None


@dataclass(frozen=True, slots=True)
class ServiceManager:
    """The connection to systemd.

    Args:
        address: its notification socket.
        watchdog: seconds of silence after which it restarts the bot.
    """

    address: str | None = None
    watchdog: float | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> ServiceManager:
        """Create the connection to the manager that started this process, if it expects notifications."""
        microseconds = environment.get("WATCHDOG_USEC", "")
        # Child processes inherit the variables, but only the process with this id is watched
        is_ours = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        watched = is_ours and microseconds.isdecimal() and int(microseconds) > 0
        return cls(environment.get("NOTIFY_SOCKET") or None, int(microseconds) / 1_000_000 if watched else None)

    def send(self, *lines: str) -> None:
        """Send lines such as READY=1. Failures are only logged."""
        if self.address is None:
            return
        # An abstract socket is written with an @ for its leading zero byte
        address = f"\0{self.address[1:]}" if self.address.startswith("@") else self.address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as line:
                line.setblocking(False)
                line.sendto("\n".join(lines).encode(), address)
        except OSError as error:
            log.warning("service_manager_unreachable", reason=error.strerror)


@contextlib.asynccontextmanager
async def report_status(manager: ServiceManager, health: Health, queues: SessionQueues) -> AsyncIterator[None]:
    """Report the status until the context ends. The signal handler reports the shutdown."""
    if manager.address is None:
        yield
        return
    tasks = BackgroundTasks()
    tasks.start(_report(manager, health, queues), "service manager")
    try:
        yield
    finally:
        await tasks.close()


async def _report(manager: ServiceManager, health: Health, queues: SessionQueues) -> None:
    manager.send("STATUS=Reaching Telegram")
    await wait_at_most(health.updates.worked, START_TIMEOUT_SECONDS)
    # Three times per period, so that one delay causes no restart
    pause = STATUS_INTERVAL_SECONDS if manager.watchdog is None else manager.watchdog / 3
    greeting = ["READY=1"]
    while True:
        stuck = await health.explain_stuck()
        if stuck is None:
            watchdog = [] if manager.watchdog is None else ["WATCHDOG=1"]
            manager.send(*greeting, *watchdog, f"STATUS={_format_status(health, queues)}")
            greeting = []
        else:
            # Send no watchdog message, so that systemd restarts the bot
            log.error("bot_is_stuck", reason=stuck)
            manager.send(f"STATUS=Stuck: {stuck}")
        await asyncio.sleep(pause)


def _format_status(health: Health, queues: SessionQueues) -> str:
    if health.updates.trouble is not None:
        return f"Telegram is out of reach, trying again: {' '.join(health.updates.trouble.split())}"
    running, waiting = queues.measure_load()
    return f"Serving Telegram: {running} answers being written, {waiting} messages waiting"
