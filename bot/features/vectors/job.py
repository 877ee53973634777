"""Computes vectors in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from bot.features.vectors.store import Embedding, EmbeddingProgress
from bot.jobs.background import Quiet
from bot.tasks import BackgroundTasks
from config.waiting import Backoff, wait_at_most
from memory.errors import MnemeError
from pipeline.turn import Turn

log = structlog.get_logger(__name__)

POLL_INTERVAL_SECONDS = 30.0
"""Seconds between checks for new entries by other processes, such as the command line."""
FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 10.0, 600.0
"""Seconds between attempts while the embedder fails, doubled each time."""


class BackgroundEmbedding:
    """Creates vectors while no user waits for the model. Failures are retried indefinitely."""

    def __init__(self, embedding: Embedding, quiet: Quiet, first_retry: float = FIRST_RETRY_SECONDS) -> None:
        self._embedding = embedding
        self._quiet = quiet
        self._backoff = Backoff(LAST_RETRY_SECONDS, first_retry)
        self._due = asyncio.Event()
        self.trouble: str | None = None

    def start(self, tasks: BackgroundTasks) -> None:
        tasks.start(self._run(), "embedding")

    def wake(self) -> None:
        self._due.set()

    async def measure_progress(self, owner: str | None = None) -> EmbeddingProgress:
        return await self._embedding.measure_progress(owner)

    async def _run(self) -> None:
        while True:
            # Clear this before the work, so that entries added during it wake the job again.
            self._due.clear()
            try:
                await self.run_pending()
            except Exception as error:
                log.warning("embedding_postponed", reason=str(error), exc_info=not isinstance(error, MnemeError))
                await self._backoff.wait()
            else:
                self._backoff.reset()
                await wait_at_most(self._due, POLL_INTERVAL_SECONDS)

    async def run_pending(self) -> None:
        """Create all missing vectors. Raises MnemeError, which `trouble` describes until the next success."""
        try:
            await self._quiet()
            while await self._embedding.embed_batch():
                self.trouble = None
                await self._quiet()
        except MnemeError as error:
            self.trouble = str(error)
            raise


class Indexing:
    """Starts the background embedding. The search index needs no update here, since the commit wrote it.

    Args:
        on_change: Called after each answered turn, so that new vectors are computed.
    """

    name = "Indexing"

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change

    async def process(self, turn: Turn) -> None:
        self._on_change()
