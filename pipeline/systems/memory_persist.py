"""MemoryPersist (50): the daily note of the exchange (S0)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memory.files.notes import exchange_notes

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from memory.files.markdown import MarkdownFiles
    from pipeline.turn import Turn


class MemoryPersist:
    """Appends `[HH:mm] User: ... | Assistant: ...` to the note of the day on which the answer was given."""

    name = "MemoryPersist"

    def __init__(self, files: MarkdownFiles | None, zone: ZoneInfo) -> None:
        self._files = files
        self._zone = zone

    async def process(self, turn: Turn) -> None:
        """Write the note. A failure is logged and never reaches the user's answer."""
        if self._files is None:
            return
        messages = [replace(m, turn_id=turn.committed_as) for m in (*turn.user_messages, *turn.produced)]
        for note in exchange_notes(messages, self._zone):
            await self._files.append_today(turn.session.owner, messages[-1].created_at, note)
