"""The answer of a turn in which no model answers: the lines of memory that fit the question."""

from __future__ import annotations

from config.texts import _
from memory.search.questions import is_question
from memory.search.recall import Recall
from memory.search.search import Filter, Hit
from pipeline.models.model import ModelError
from pipeline.turn import Turn

MAX_LINES = 6


class Recalled(ModelError):
    """The reason why no model answered, and lines of memory, which stay out of the log."""

    def __init__(self, text: str, cause: ModelError) -> None:
        super().__init__(text)
        self._cause = cause

    @property
    def loggable(self) -> str:
        return self._cause.loggable


async def recalled(recall: Recall, turn: Turn, reason: str) -> str:
    """Return the reason why no model answers, and the lines of memory that fit the question best.

    It is the sentence of a failed turn, so it enters no transcript, no note and no prompt.
    """
    question = "\n".join(message.content for message in turn.user_messages)
    hits = await recall.recall(question, turn.session.owner, Filter(current=True), MAX_LINES * 2)
    results = [result for result in hits if not _is_useless(result.hit, turn)]
    if not results:
        return reason
    head = _("No model answers, so I can only recall, not think. {why}", why=reason)
    lines = (f"- {result.text}" for result in results[:MAX_LINES])
    return "\n".join([head, "", _("What I remember about that:"), *lines])


def _is_useless(hit: Hit, turn: Turn) -> bool:
    """Return True for a memory of this very message, and for a question."""
    return hit.id in turn.written_entries if hit.turn_id is None else is_question(hit.content)
