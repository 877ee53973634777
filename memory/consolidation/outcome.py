"""What a consolidation did, and how that is said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memory.learning.facts import Learned
    from memory.store.entry import Entry

UNSURE_SHOWN = 3
"""How many of the doubtful facts are told; all are listed by /memory unsure."""


@dataclass(frozen=True, slots=True)
class Consolidated:
    """What a consolidation did.

    fell_back: no usable answer came, and the history holds the messages as they were. is_left: something is still due.
    changes: how many actions memory was changed by, each one /undo.
    """

    messages: int = 0
    fell_back: bool = False
    memory_changed: bool = False
    learned: tuple[Learned, ...] = ()
    forgotten: tuple[str, ...] = ()
    changes: int = 0
    is_left: bool = False

    def __add__(self, other: Consolidated) -> Consolidated:
        """Both, one after the other."""
        return Consolidated(
            self.messages + other.messages,
            self.fell_back or other.fell_back,
            self.memory_changed or other.memory_changed,
            (*self.learned, *other.learned),
            (*self.forgotten, *other.forgotten),
            self.changes + other.changes,
            self.is_left or other.is_left,
        )

    @property
    def unsure(self) -> list[Entry]:
        """What was learned and is not confirmed."""
        return [one.entry for one in self.learned if one.entry.unconfirmed is not None]

    @property
    def summary(self) -> str:
        """What was learned, in a line or two for the user; empty for nothing."""
        sure = [one for one in self.learned if one.entry.unconfirmed is None]
        told = []
        if sure:
            parts = [
                f"{one.entry.content} (was: {one.superseded.content})" if one.superseded else one.entry.content
                for one in sure
            ]
            told.append(f"Learned: {'; '.join(parts)}")
        if self.forgotten:
            told.append(f"Forgotten: {'; '.join(self.forgotten)}")
        if told:
            lines = [f"{'. '.join(told)} ({self._undo})"]
        else:
            lines = ["MEMORY.md was updated (/undo takes it back)."] if self.memory_changed else []
        if self.unsure:
            shown = "; ".join(entry.content for entry in self.unsure[:UNSURE_SHOWN])
            more = f" and {len(self.unsure) - UNSURE_SHOWN} more" if len(self.unsure) > UNSURE_SHOWN else ""
            lines.append(f"Not sure: {shown}{more} - /memory unsure")
        return "\n".join(lines)

    @property
    def _undo(self) -> str:
        return "/undo takes it back" if self.changes < 2 else f"/undo, sent {self.changes} times, takes it back"
