"""What is said when no model answers: what memory holds about the question, and how to get a model.

This is no model: what it says is the failed turn's sentence, so it enters no transcript, no note and no prompt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from config.texts import _
from memory.search.search import Filter

if TYPE_CHECKING:
    from memory.log.sessions import Session
    from memory.search.recall import Recall

LINES = 6
"""How many lines of memory an answer shows."""


class RecallOnly:
    """Answers from what is remembered."""

    def __init__(self, recall: Recall) -> None:
        self._recall = recall

    async def about(self, session: Session, question: str, reason: str) -> str:
        """Why no model answers, and the lines of memory that fit `question` best."""
        head = _("No model answers, so I can only recall, not think. {why}", why=reason)
        hits = await self._recall.recall(question, session.owner, Filter(current=True), LINES + 1)
        found = [one for one in hits if one.hit.content != question][:LINES]
        if not found:
            return f"{head}\n\n" + _("I noted your message; I remember nothing about it yet.")
        return "\n".join([head, "", _("What I remember about that:"), *(f"- {one.text}" for one in found)])
