"""Model calls for memory: summaries and consolidation."""

from __future__ import annotations

import time

from memory.clock import Clock
from memory.messages import Completion, Message, Role
from pipeline.models.model import ChatModel, ContentRefused, Finish, ModelError, ModelRequest, Tier
from pipeline.prompt.prompts import SUMMARIZER_PROMPT, summary_request

MAX_SUMMARY_TOKENS = 500
SUMMARY_TEMPERATURE = 0.3


class ModelSummarizer:
    """Summarises conversations with the fast model."""

    def __init__(self, model: ChatModel, clock: Clock) -> None:
        self._model = model
        self._clock = clock

    async def summarize(self, earlier: str | None, transcript: str, seconds: float) -> Completion:
        """Return a summary of a transcript that builds on the earlier summary. Raises ModelError."""
        began = time.monotonic()
        summary = await self._ask(summary_request(earlier, transcript), seconds)
        remaining = seconds - (time.monotonic() - began)
        if not summary.is_whole and remaining > 0:
            # In many scripts, the number of words that the prompt asks for needs more tokens than the limit.
            summary = await self._ask(summary_request(earlier, transcript, shorter=True), remaining)
        return summary

    async def _ask(self, question: str, seconds: float) -> Completion:
        now = self._clock()
        request = ModelRequest(
            messages=[Message(Role.SYSTEM, SUMMARIZER_PROMPT, now), Message(Role.USER, question, now)],
            tier=Tier.FAST,
            max_output_tokens=MAX_SUMMARY_TOKENS,
            temperature=SUMMARY_TEMPERATURE,
            purpose="summary",
            low_effort=True,
            whole=True,
            seconds=seconds,
        )
        answer = await self._model.complete(request)
        if not answer.text.strip():
            raise ModelError("The model gave an empty summary: the archive holds an extract instead.")
        return answer.completion


class ModelConsolidator:
    """Asks the fast model for the JSON of a consolidation, or for plain text.

    Args:
        purpose: The name of its calls in the usage log.
        json: The prompt asks for JSON. For plain text this must be False, since strict servers force JSON.
    """

    def __init__(self, model: ChatModel, clock: Clock, purpose: str = "consolidation", *, json: bool = True) -> None:
        self._model = model
        self._clock = clock
        self._purpose = purpose
        self._json = json

    async def __call__(self, prompt: str, seconds: float) -> Completion:
        """Return the answer to a prompt. The timeout covers all models that are tried.

        Raises ModelError, ContentRefused, LimitReached or Postponed.
        """
        request = ModelRequest(
            messages=[Message(Role.USER, prompt, self._clock())],
            tier=Tier.FAST,
            steady=True,
            low_effort=True,
            purpose=self._purpose,
            json=self._json,
            background=True,
            whole=True,
            seconds=max(seconds, 0.0),
        )
        answer = await self._model.complete(request)
        if answer.finish is Finish.FILTERED and not answer.text.strip():
            raise ContentRefused("The provider's content filter stopped the answer.")
        return answer.completion
