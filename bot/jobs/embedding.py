"""Vectors are made beside the turns: of what was just said, and of all that has none yet."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import structlog

from memory.errors import MnemeError

if TYPE_CHECKING:
    from bot.jobs.background import Quiet
    from memory.search.vectors import Embedded, Embedding

log = structlog.get_logger(__name__)

PAUSE = 30.0
"""Seconds after which it is looked for what others, such as the command line, have added."""
FIRST_RETRY, LAST_RETRY = 10.0, 600.0
"""Seconds between tries while the embedder fails, doubled each time."""


class BackgroundEmbedding:
    """Makes vectors while nobody waits for the model; what fails is tried again, for as long as it takes."""

    def __init__(self, embedding: Embedding, quiet: Quiet, first_retry: float = FIRST_RETRY) -> None:
        self._embedding = embedding
        self._quiet = quiet
        self._first_retry = first_retry
        self._due = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.trouble: str | None = None

    def start(self) -> None:
        """Begin. Only programs that stay do this."""
        self._task = asyncio.create_task(self._run(), name="embedding")

    def wake(self) -> None:
        """There is something new."""
        self._due.set()

    async def progress(self, owner: str | None = None) -> Embedded:
        """How far it has come with what one owner has, or all."""
        return await self._embedding.progress(owner)

    async def close(self) -> None:
        """End at once; what has no vector yet gets it after the next start."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        retry = self._first_retry
        while True:
            self._due.clear()
            try:
                await self.run_pending()
                retry = self._first_retry
            except MnemeError as error:
                log.warning("embedding_postponed", reason=str(error), seconds=retry)
                await asyncio.sleep(retry)
                retry = min(LAST_RETRY, 2 * retry)
            except Exception:
                log.exception("embedding_failed")
                await asyncio.sleep(LAST_RETRY)
            else:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(PAUSE):
                        await self._due.wait()

    async def run_pending(self) -> None:
        """Make all that are missing. Raises MnemeError where that fails; `trouble` says so till it goes well again."""
        try:
            await self._quiet()
            while await self._embedding.some():
                self.trouble = None
                await self._quiet()
        except MnemeError as error:
            self.trouble = str(error)
            raise
