"""Groups of labelled figures, as `/status` shows them in monospace."""

from __future__ import annotations

import unicodedata
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from config.texts import _, format_number, ngettext
from memory.log.sessions import Session

WIDTH_CELLS = 28
"""Width of a line in cells. Phones show about 32 monospace characters."""
# Room for ` 100%`.
_SHARE_CELLS = 5


@dataclass(frozen=True, slots=True)
class Group:
    title: str
    rows: tuple[tuple[str, str], ...] = ()
    share: float | None = None  # A fraction from 0 to 1, shown as a bar
    notes: tuple[str, ...] = ()  # Sentences below the figures or instead of them

    def __str__(self) -> str:
        lines = [] if self.share is None else [bar(self.share)]
        lines += [align(label, value) for label, value in self.rows]
        figures = ["```", *lines, "```"] if lines else []
        return "\n".join([f"**{self.title}**", *figures, *self.notes])


StatusReport = Callable[[Session], Awaitable[Sequence[Group]]]
"""Returns groups for the `/status` of a session."""


def bar(share: float) -> str:
    cells = WIDTH_CELLS - _SHARE_CELLS
    filled = round(min(1.0, max(0.0, share)) * cells)
    return "█" * filled + "░" * (cells - filled) + f"{share:.0%}".rjust(_SHARE_CELLS)


def align(label: str, value: str) -> str:
    """Align a label to the left and its value to the right, with at least one space between them."""
    return label + " " * max(1, WIDTH_CELLS - _cells(label) - _cells(value)) + value


def format_duration(seconds: int) -> str:
    days, rest = divmod(max(0, seconds), 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, remaining = divmod(rest, 60)
    parts = (
        (days, ngettext("{n} d", "{n} d", days)),
        (hours, ngettext("{n} h", "{n} h", hours)),
        (minutes, ngettext("{n} min", "{n} min", minutes)),
        (remaining, ngettext("{n} s", "{n} s", remaining)),
    )
    return " ".join([text for amount, text in parts if amount][:2]) or ngettext("{n} s", "{n} s", 0)


def format_part(part: int, whole: int) -> str:
    return _("{part} of {whole}", part=format_number(part), whole=format_number(whole))


def _cells(text: str) -> int:
    """Return the monospace width of a text: East Asian characters take two cells, combining marks none."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(bool(unicodedata.combining(character)) for character in text)
