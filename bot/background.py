"""Work that goes on beside the turns: consolidations that are due."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from memory.compaction import Compacted
    from memory.consolidation import ConsolidationService
    from memory.notices import PendingNotices

log = structlog.get_logger(__name__)


class BackgroundConsolidation:
    """Consolidates what is due, also what an earlier run left, and tells the users with their next reply."""

    def __init__(self, consolidation: ConsolidationService, notices: PendingNotices, *, tell: bool) -> None:
        self._consolidation = consolidation
        self._notices = notices
        self._tell = tell
        self._due = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin with what is due already. Only programs that stay do this."""
        self._due.set()
        self._task = asyncio.create_task(self._run(), name="consolidation")

    async def compacted(self, done: Compacted) -> None:
        """What a compaction took from the model's view is to be consolidated."""
        await self._consolidation.mark_due(done.conversation_id, done.first_kept_message_id)
        self.wake()

    def wake(self) -> None:
        """Something has become due."""
        self._due.set()

    async def close(self) -> None:
        """End at once; what was not finished is still due at the next start."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            try:
                await self.run_pending()
            except Exception:
                log.exception("background_consolidation_failed")

    async def run_pending(self) -> None:
        """Consolidate everything that is due."""
        for conversation_id, owner in await self._consolidation.pending():
            try:
                done = await self._consolidation.run(conversation_id)
            except Exception:
                # it is still due at the next start; the others need not wait for it
                log.exception("background_consolidation_failed", conversation=conversation_id)
                continue
            if done is not None and done.told and self._tell:
                await self._notices.add(owner, done.told)
