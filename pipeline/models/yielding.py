"""A model that answers one request at a time: what a person waits for goes first, work in the background gives way."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog

from memory.errors import Postponed
from pipeline.models.model import WrappedModel

if TYPE_CHECKING:
    from pipeline.models.model import ChatModel, ModelAnswer, ModelRequest, OnText

log = structlog.get_logger(__name__)


class YieldingModel(WrappedModel):
    """A ChatModel over one with a single slot.

    A request in the background that meets one of a person, or is met by one, ends at once with Postponed: its
    connection is closed, which frees the slot within the model's next batch, and whoever asked does it later.
    """

    def __init__(self, model: ChatModel) -> None:
        super().__init__(model)
        self._in_front = 0
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._behind: set[asyncio.Task[ModelAnswer]] = set()

    async def quiet(self) -> None:
        """Wait until nobody waits for an answer."""
        await self._quiet.wait()

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelAnswer:
        """Answer `request`. Raises ModelError, and Postponed for one in the background."""
        if request.background:
            return await self._complete_behind(request)
        self._in_front += 1
        self._quiet.clear()
        for task in self._behind:
            task.cancel()
        try:
            return await self._model.complete(request, on_text)
        finally:
            self._in_front -= 1
            if not self._in_front:
                self._quiet.set()

    async def _complete_behind(self, request: ModelRequest) -> ModelAnswer:
        if self._in_front:
            raise Postponed("Somebody waits for the model's answer.")
        task = asyncio.create_task(self._model.complete(request), name=request.purpose)
        self._behind.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            own = asyncio.current_task()
            if own is not None and own.cancelling():
                raise
            log.info("gave_way", purpose=request.purpose)
            raise Postponed("Somebody began to wait for the model's answer.") from None
        finally:
            self._behind.discard(task)
