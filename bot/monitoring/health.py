"""Whether the bot lives: its updates come and its database answers. The watchdog and /healthz ask this."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from memory.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.store.database import Database

DATABASE_PATIENCE = 5.0
"""Seconds that a small read may take, also beside a large search."""


class Pulse:
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
        """The last step did what it was for."""
        self.trouble = None
        self.worked.set()

    def failed(self, reason: str) -> None:
        """The last step did not, and will be tried again."""
        self.trouble = reason

    @property
    def late(self) -> bool:
        """Whether the next step should have come by now. What has not begun is not late."""
        return self._due is not None and self._now() > self._due


class Health:
    """The health of a running bot."""

    def __init__(self, database: Database, now: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self.updates = Pulse("polling", now)

    async def stuck(self) -> str | None:
        """Why only a restart would help; None while it would not.

        Telegram out of reach is no reason: the loop lives, and a restart does not mend a network.
        """
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
