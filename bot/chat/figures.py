"""Figures in groups, as a telephone shows them: short lines in monospace, the numbers under each other."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

WIDTH = 28
"""Cells of a line: a telephone shows some 32 in monospace before it breaks one."""
_SHARE_CELLS = 5
"""` 100%`."""


@dataclass(frozen=True, slots=True)
class Group:
    """Figures that belong together: each a label with its value.

    share: how full something is, from 0 to 1, shown as a bar. notes: sentences below, or instead of all that.
    """

    title: str
    rows: tuple[tuple[str, str], ...] = ()
    share: float | None = None
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The group as Markdown."""
        lines = [] if self.share is None else [bar(self.share)]
        lines += [aligned(label, value) for label, value in self.rows]
        figures = ["```", *lines, "```"] if lines else []
        return "\n".join([f"**{self.title}**", *figures, *self.notes])


def bar(share: float) -> str:
    """How full something is, in one line."""
    cells = WIDTH - _SHARE_CELLS
    filled = round(min(1.0, max(0.0, share)) * cells)
    return "█" * filled + "░" * (cells - filled) + f"{share:.0%}".rjust(_SHARE_CELLS)


def aligned(label: str, value: str) -> str:
    """A label at the left end of a line and its value at the right one; one space between them where both are long."""
    return label + " " * max(1, WIDTH - _cells(label) - _cells(value)) + value


def _cells(text: str) -> int:
    """How many cells `text` takes in monospace: Chinese, Japanese and Korean characters two, combining marks none."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(bool(unicodedata.combining(character)) for character in text)
