"""What systemd is told: that the bot is ready, that it lives, what it does, that it stops.

The protocol is lines of NAME=value in a datagram to $NOTIFY_SOCKET, as sd_notify(3) describes it. Where nothing
listens, nothing happens.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from bot.chat.lanes import Lanes
    from bot.monitoring.health import Health

log = structlog.get_logger(__name__)

START_PATIENCE = 30.0
"""Seconds after which the bot counts as started although Telegram could not be reached yet.

Without an end to it a start without network would be broken off and repeated for ever, and would hold up the boot.
"""
STATUS_PAUSE = 20.0
"""Seconds between two status lines where no watchdog asks for more."""


@dataclass(frozen=True, slots=True)
class ServiceManager:
    """The way to systemd. address: of its socket; watchdog: seconds after which it restarts who is silent."""

    address: str | None = None
    watchdog: float | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> ServiceManager:
        """The one that started this process, if it wants to be told anything."""
        microseconds = environment.get("WATCHDOG_USEC", "")
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
async def reporting(manager: ServiceManager, health: Health, lanes: Lanes) -> AsyncIterator[None]:
    """Tell `manager` for as long as the context is open; that the bot stops, its own signal handler tells."""
    if manager.address is None:
        yield
        return
    task = asyncio.create_task(_report(manager, health, lanes), name="service manager")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _report(manager: ServiceManager, health: Health, lanes: Lanes) -> None:
    manager.tell("STATUS=Reaching Telegram")
    await _until_ready(health)
    pause = STATUS_PAUSE if manager.watchdog is None else manager.watchdog / 3
    greeting = ["READY=1"]
    while True:
        stuck = await health.stuck()
        if stuck is None:
            fed = [] if manager.watchdog is None else ["WATCHDOG=1"]
            manager.tell(*greeting, *fed, f"STATUS={_status(health, lanes)}")
            greeting = []
        else:
            # not a word more: systemd restarts what it does not hear from
            log.error("bot_is_stuck", reason=stuck)
            manager.tell(f"STATUS=Stuck: {stuck}")
        await asyncio.sleep(pause)


async def _until_ready(health: Health) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(START_PATIENCE):
            await health.updates.worked.wait()


def _status(health: Health, lanes: Lanes) -> str:
    if health.updates.trouble is not None:
        return f"Telegram is out of reach, trying again: {' '.join(health.updates.trouble.split())}"
    running, waiting = lanes.load()
    return f"Serving Telegram: {running} answers being written, {waiting} messages waiting"
