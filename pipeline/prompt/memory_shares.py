"""What of an owner's files a prompt has room for: each part keeps its share, and what was cut is said."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.files.notes import Memory
    from pipeline.prompt.budget import Budget


def fitted(memory: Memory, tokens: int, budget: Budget) -> Memory:
    """`memory` in at most `tokens`: MEMORY.md from its beginning, each day's notes from the newest back.

    MEMORY.md gets at most half. Of what it leaves, today's notes and those of all other days get half each, every day
    as much as another; what a part does not need goes to those that do.
    """
    long_term = budget.cut(memory.long_term, tokens // 2)
    left = max(0, tokens - budget.text(long_term))
    today_cost = budget.text(memory.today)
    costs = [budget.text(notes) for _, notes in memory.recent]
    today = max(left // 2, left - sum(costs))
    recent = _shares(costs, left - min(today, today_cost))
    return replace(
        memory,
        long_term=long_term,
        today=_newest_lines(memory.today, today, budget),
        recent=tuple(
            (day, kept)
            for (day, notes), share in zip(memory.recent, recent, strict=True)
            if (kept := _newest_lines(notes, share, budget))
        ),
    )


def _shares(costs: Sequence[int], tokens: int) -> list[int]:
    """`tokens` among parts: to each what it costs, where that is too much the same to each."""
    shares = [0] * len(costs)
    cheapest_first = sorted(range(len(costs)), key=lambda at: costs[at])
    for number, at in enumerate(cheapest_first):
        shares[at] = min(costs[at], tokens // (len(costs) - number))
        tokens -= shares[at]
    return shares


def _newest_lines(notes: str, tokens: int, budget: Budget) -> str:
    if budget.text(notes) <= tokens:
        return notes
    lines = notes.splitlines()
    kept: list[str] = []
    tokens -= budget.text(_left_out(len(lines)))
    if tokens < 0:
        return ""  # not even what says that they are missing
    for line in reversed(lines):
        tokens -= budget.text(line) + 1
        if tokens < 0:
            break
        kept.append(line)
    return "\n".join([_left_out(len(lines) - len(kept)), *reversed(kept)])


def _left_out(count: int) -> str:
    return f"[... {count} earlier lines of this day left out ...]"
