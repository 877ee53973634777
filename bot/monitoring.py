"""What a service manager is told: whether the bot lives, what it does, that it stops."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from bot.tasks import BackgroundTasks
from config.waiting import wait_at_most
from memory.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from bot.sessions import SessionQueues
    from memory.store.database import Database

log = structlog.get_logger(__name__)

DATABASE_PATIENCE = 5.0
"""Seconds that a small read may take, also beside a large search."""

START_PATIENCE = 30.0
"""Seconds after which the bot counts as started although Telegram could not be reached yet.

Without an end to it a start without network would be broken off and repeated for ever, and would hold up the boot.
"""
STATUS_PAUSE = 20.0
"""Seconds between two status lines where no watchdog asks for more."""


class Heartbeat:
    """Whether a loop goes on: before each of its steps it says by when the next one comes.

    A step that fails is a step, too. What counts as dead is only a loop that no longer takes any.
    what: what is to be named when it does not go on.
    """

    def __init__(self, what: str, now: Callable[[], float] = time.monotonic) -> None:
        self.what = what
        self._now = now
        self._due: float | None = None
        self.worked = asyncio.Event()
        self.trouble: str | None = "it has not begun"

    def step(self, within: float) -> None:
        """The loop lives; its next step comes within so many seconds."""
        self._due = self._now() + within

    def succeeded(self) -> None:
        self.trouble = None
        self.worked.set()

    def failed(self, reason: str) -> None:
        self.trouble = reason

    @property
    def late(self) -> bool:
        """Whether the next step should have come by now. What has not begun is not late."""
        return self._due is not None and self._now() > self._due


class Health:
    def __init__(self, database: Database, now: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self.updates = Heartbeat("polling", now)

    async def stuck(self) -> str | None:
        """Why only a restart would help; None while it would not."""
        # Telegram out of reach is no reason: the loop lives, and a restart mends no network
        if self.updates.late:
            return f"{self.updates.what} has come to a standstill"
        return await self._database_trouble()

    async def trouble(self) -> str | None:
        """Why the bot can't be of service at this moment; None while it is."""
        if (stuck := await self.stuck()) is not None:
            return stuck
        trouble = self.updates.trouble
        return None if trouble is None else f"{self.updates.what} does not work: {trouble}"

    async def _database_trouble(self) -> str | None:
        try:
            async with asyncio.timeout(DATABASE_PATIENCE):
                await self._database.value("SELECT count(*) FROM jobs")
        except TimeoutError:
            return f"the database did not answer within {DATABASE_PATIENCE:g} s"
        except StoreError as error:
            return str(error)
        return None


@dataclass(frozen=True, slots=True)
class ServiceManager:
    """The way to systemd. address: of its socket; watchdog: seconds after which it restarts who is silent."""

    address: str | None = None
    watchdog: float | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> ServiceManager:
        """The one that started this process, if it wants to be told anything."""
        microseconds = environment.get("WATCHDOG_USEC", "")
        # children inherit the variables, but only the process with this id is watched
        ours = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        watched = ours and microseconds.isdecimal() and int(microseconds) > 0
        return cls(environment.get("NOTIFY_SOCKET") or None, int(microseconds) / 1_000_000 if watched else None)

    def tell(self, *lines: str) -> None:
        """Send lines such as READY=1. A socket that is gone or full is no reason to fail."""
        if self.address is None:
            return
        # an @ in front stands for an abstract socket, which has a zero byte there
        address = f"\0{self.address[1:]}" if self.address.startswith("@") else self.address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as line:
                line.setblocking(False)
                line.sendto("\n".join(lines).encode(), address)
        except OSError as error:
            log.warning("service_manager_unreachable", reason=error.strerror)


@contextlib.asynccontextmanager
async def reporting(manager: ServiceManager, health: Health, queues: SessionQueues) -> AsyncIterator[None]:
    """Tell `manager` for as long as the context is open; that the bot stops, its own signal handler tells."""
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
    manager.tell("STATUS=Reaching Telegram")
    await wait_at_most(health.updates.worked, START_PATIENCE)
    # three times in each period, so that a late one is no reason for a restart
    pause = STATUS_PAUSE if manager.watchdog is None else manager.watchdog / 3
    greeting = ["READY=1"]
    while True:
        stuck = await health.stuck()
        if stuck is None:
            fed = [] if manager.watchdog is None else ["WATCHDOG=1"]
            manager.tell(*greeting, *fed, f"STATUS={_status(health, queues)}")
            greeting = []
        else:
            # not a word more: systemd restarts what it does not hear from
            log.error("bot_is_stuck", reason=stuck)
            manager.tell(f"STATUS=Stuck: {stuck}")
        await asyncio.sleep(pause)


def _status(health: Health, queues: SessionQueues) -> str:
    if health.updates.trouble is not None:
        return f"Telegram is out of reach, trying again: {' '.join(health.updates.trouble.split())}"
    running, waiting = queues.load()
    return f"Serving Telegram: {running} answers being written, {waiting} messages waiting"
