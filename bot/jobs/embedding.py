"""Vectors are made beside the turns: of what was just said, and of all that has none yet."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog

from bot.tasks import BackgroundTasks, Backoff, wait_at_most
from memory.errors import MnemeError

if TYPE_CHECKING:
    from bot.jobs.consolidation import Quiet
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
        self._backoff = Backoff(LAST_RETRY, first_retry)
        self._due = asyncio.Event()
        self._tasks = BackgroundTasks()
        self.trouble: str | None = None

    def start(self) -> None:
        """Begin. Only programs that stay do this."""
        self._tasks.start(self._run(), "embedding")

    def wake(self) -> None:
        """There is something new."""
        self._due.set()

    async def progress(self, owner: str | None = None) -> Embedded:
        """How far it has come with what one owner has, or all."""
        return await self._embedding.progress(owner)

    async def close(self) -> None:
        """End at once; what has no vector yet gets it after the next start."""
        await self._tasks.close()

    async def _run(self) -> None:
        while True:
            self._due.clear()
            try:
                await self.run_pending()
            except Exception as error:
                log.warning("embedding_postponed", reason=str(error), exc_info=not isinstance(error, MnemeError))
                await self._backoff.wait()
            else:
                self._backoff.reset()
                await wait_at_most(self._due, PAUSE)

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
