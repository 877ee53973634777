"""MEMORY.md in a prompt: without what is over, with all that is vital, and ordered by how often it changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.search.activation import PageLines
    from pipeline.prompt.budget import Budget

TODAY_HEADER = "## Learned Today"


@dataclass(frozen=True, slots=True)
class LongTermText:
    """The text of MEMORY.md, and the lines in it that were written today, which stand behind the notes."""

    text: str
    today: tuple[str, ...] = ()

    @property
    def whole(self) -> str:
        """All of it."""
        return "\n".join([self.text, *self.today]).strip()


def without_hidden(text: str, lines: PageLines) -> LongTermText:
    """Return the text of MEMORY.md without what is over or said in the conversation itself, divided by age."""
    if not lines.hidden and not lines.fresh:
        return LongTermText(text)
    shown = [line for line in text.splitlines() if line not in lines.hidden]
    fresh = tuple(line for line in shown if line in lines.fresh)
    return LongTermText("\n".join(line for line in shown if line not in lines.fresh), fresh)


def with_vital(long_term: LongTermText, vital: Sequence[str], budget: Budget) -> LongTermText:
    """Return the text with the vital lines that it doesn't hold: a small window cuts it."""
    shown, remaining, missing = set(long_term.whole.splitlines()), budget.memory // 4, []
    for line in vital:
        if line not in shown and (cost := budget.text(line) + 1) <= remaining:
            remaining -= cost
            missing.append(line)
    if not missing:
        return long_term
    return LongTermText("\n".join([long_term.text.rstrip(), *missing]).strip(), long_term.today)
