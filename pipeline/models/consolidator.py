"""The model as the consolidation's PromptFn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.messages import Message, Role
from pipeline.models.model import ChatModel, ModelRequest, Tier

if TYPE_CHECKING:
    from memory.clock import Clock
    from memory.messages import Completion

CONSOLIDATION_TEMPERATURE = 0.2


class ModelConsolidator:
    """Asks the quick model for the JSON of a consolidation."""

    def __init__(self, model: ChatModel, clock: Clock) -> None:
        self._model = model
        self._clock = clock

    async def __call__(self, prompt: str, seconds: float) -> Completion:
        """The model's answer to `prompt`, as it came, in so many seconds for all models that are tried.

        Raises ModelError, LimitReached or Postponed.
        """
        request = ModelRequest(
            messages=[Message(Role.USER, prompt, self._clock())],
            tier=Tier.FAST,
            temperature=CONSOLIDATION_TEMPERATURE,
            purpose="consolidation",
            json=True,
            background=True,
            whole=True,
            seconds=max(seconds, 0.0),
        )
        return (await self._model.complete(request)).completion
