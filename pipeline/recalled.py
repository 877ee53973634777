"""The fallback answer when no model can be reached: memories that fit the question."""

from __future__ import annotations

from config.texts import _
from memory.search.query_splitting import is_question
from memory.search.recall import Recall
from memory.search.types import Filter, Hit
from pipeline.models.model import ModelError
from pipeline.turn import Turn

MAX_LINES = 6


class AnsweredFromMemory(ModelError):
    """Carries the fallback answer. The log gets only the reason, not the memories."""

    def __init__(self, text: str, cause: ModelError) -> None:
        super().__init__(text)
        self._cause = cause

    @property
    def loggable(self) -> str:
        return self._cause.loggable


async def answer_from_memory(recall: Recall, turn: Turn, reason: str) -> str:
    """Return the reason why no model answers, followed by the memories that fit the question best.

    The text is the failure of the turn, so no transcript, note or prompt contains it.
    """
    question = "\n".join(message.content for message in turn.user_messages)
    hits = await recall.recall(question, turn.session.owner, Filter(current=True), MAX_LINES * 2)
    results = [result for result in hits if not _is_useless(result.hit, turn)]
    if not results:
        return reason
    head = _("No model is available, so I can only search my memory. {why}", why=reason)
    lines = (f"- {result.text}" for result in results[:MAX_LINES])
    return "\n".join([head, "", _("What I remember about that:"), *lines])


def _is_useless(hit: Hit, turn: Turn) -> bool:
    """Return True for a memory written from this message, and for a past question."""
    return hit.id in turn.written_entries if hit.turn_id is None else is_question(hit.content)
