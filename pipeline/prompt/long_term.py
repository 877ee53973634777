"""MEMORY.md as a prompt shows it: without lines that are over, and with the newest lines last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory.search.activation_candidates import PageLines
from pipeline.prompt.budget import Budget

NEW_HEADER = "## Learned This Week"


@dataclass(frozen=True, slots=True)
class LongTermText:
    """MEMORY.md in two parts, so that new lines don't invalidate the prompt cache.

    Attributes:
        new: The lines written since Monday. They come after the daily notes in the prompt.
    """

    text: str
    new: tuple[str, ...] = ()

    @property
    def whole(self) -> str:
        return "\n".join([self.text, *self.new]).strip()


def without_hidden(text: str, lines: PageLines) -> LongTermText:
    """Remove lines that are over or repeat the visible conversation, and separate the lines written this week."""
    if not lines.hidden and not lines.fresh:
        return LongTermText(text)
    shown = [line for line in text.splitlines() if line not in lines.hidden]
    fresh = tuple(line for line in shown if line in lines.fresh)
    return LongTermText("\n".join(line for line in shown if line not in lines.fresh), fresh)


def with_vital(long_term: LongTermText, vital: Sequence[str], budget: Budget) -> LongTermText:
    """Add the vital lines that were cut because the window is small."""
    shown, remaining, missing = set(long_term.whole.splitlines()), budget.memory // 4, []
    for line in vital:
        if line not in shown and (cost := budget.text(line) + 1) <= remaining:
            remaining -= cost
            missing.append(line)
    if not missing:
        return long_term
    return LongTermText("\n".join([long_term.text.rstrip(), *missing]).strip(), long_term.new)
