"""The part of a long text that is shown."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memory.text.sought import QueryTerms

TEXT_CHARACTERS = 300
"""How much of each message or entry is shown. Twice as much brought nothing more on LoCoMo, half cost 10 points."""
_BEFORE = 1 / 4
"""The part of it that may stand before what is sought."""
_LONGEST_WORD = 40


def excerpt(text: str, sought: QueryTerms, most: int = TEXT_CHARACTERS) -> str:
    """`text` in one line; of a long one the part that holds most of what is sought, cut between words."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    before = int(most * _BEFORE)
    found = sought.positions(line)
    starts = [at for at, _ in found]

    def held(start: int) -> int:
        end = bisect_left(starts, start + most - before - _LONGEST_WORD)
        return len({term for _, term in found[bisect_left(starts, start) : end]})

    best = max(starts, key=held, default=0)
    start = max(0, min(best - before, len(line) - most))
    end = start + most
    if start:
        gap = line.find(" ", start - 1, start + _LONGEST_WORD)
        start = gap + 1 if gap >= 0 and gap < best else start
    if end < len(line):
        gap = line.rfind(" ", end - _LONGEST_WORD, end + 1)
        end = gap if gap > 0 else end
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"
