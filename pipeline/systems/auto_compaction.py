"""AutoCompaction (18): shortens a conversation that grew too large, before the request is built."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from config.texts import ngettext
from memory.buttons import Notice

if TYPE_CHECKING:
    from memory.log.compaction import Compacted, CompactionService
    from memory.log.sessions import SessionService
    from pipeline.turn import Turn

OnCompacted = Callable[["Compacted"], Awaitable[None]]
"""Is told of each compaction, so that what left the model's view is consolidated."""


class AutoCompaction:
    """Reads the conversation, and compacts it when the model's window or the message window is outgrown (S0, S2)."""

    name = "AutoCompaction"

    def __init__(self, sessions: SessionService, compaction: CompactionService, on_compacted: OnCompacted) -> None:
        self._sessions = sessions
        self._compaction = compaction
        self._on_compacted = on_compacted

    async def process(self, turn: Turn) -> None:
        """Compact if needed; the user is told when no summary could be made.

        It is the first in a turn to look at the model's window, so it is here that the endpoint may be asked for it.
        """
        turn.transcript = await self._sessions.transcript(turn.session.id)
        model = turn.talking
        await model.get_to_know()
        done = await self._compaction.compact_if_needed(
            turn.session, turn.transcript, model.name, model.window.max_input_tokens
        )
        if done is None:
            return
        turn.transcript = await self._sessions.transcript(turn.session.id)
        await self._on_compacted(done)
        if not done.summarized:
            turn.notices.append(Notice(_without_summary(done)))


def _without_summary(done: Compacted) -> str:
    if done.archive_name is None:
        return ngettext(
            "The conversation grew long and no summary could be made: {n} earlier message left my view.",
            "The conversation grew long and no summary could be made: {n} earlier messages left my view.",
            done.removed,
        )
    return ngettext(
        "The conversation grew long and no summary could be made: {n} earlier message left my view and"
        " is kept as {name}.",
        "The conversation grew long and no summary could be made: {n} earlier messages left my view and"
        " are kept as {name}.",
        done.removed,
        name=done.archive_name,
    )
