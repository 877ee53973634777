"""MemoryPersist (50): the daily note of the exchange (S0)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memory.log.daily_notes import DailyNotes
    from pipeline.turn import Turn


class MemoryPersist:
    """Has `[HH:mm] User: ... | Assistant: ...` stand in the note of the day on which the answer was given."""

    name = "MemoryPersist"

    def __init__(self, notes: DailyNotes | None) -> None:
        self._notes = notes

    async def process(self, turn: Turn) -> None:
        """Bring the notes in step with the log. A failure is logged and never reaches the user's answer."""
        if self._notes is not None:
            await self._notes.settle(turn.session.owner)
