"""AutoCompaction (18): shortens a conversation that grew too large, before the request is built."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memory.compaction import CompactionService
    from pipeline.model import ChatModel
    from pipeline.turn import Turn


class AutoCompaction:
    """Compacts when the model's window or the message window is outgrown (S0, S2)."""

    name = "AutoCompaction"

    def __init__(self, compaction: CompactionService, model: ChatModel) -> None:
        self._compaction = compaction
        self._model = model

    async def process(self, turn: Turn) -> None:
        """Compact if needed; the user is told when no summary could be made."""
        done = await self._compaction.compact_if_needed(
            turn.session, self._model.name, self._model.window.max_input_tokens
        )
        if done is not None and not done.summarized:
            turn.notices.append(
                f"The conversation grew long and no summary could be made: {done.removed} earlier messages "
                f"left my view and are kept as {done.archive_name}."
            )
