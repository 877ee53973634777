"""The part of a long text that is shown."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memory.text.sought import Sought

TEXT_CHARACTERS = 300
"""How much of each message or entry is shown. Twice as much brought nothing more on LoCoMo, half cost 10 points."""
_BEFORE = TEXT_CHARACTERS // 4
_LONGEST_WORD = 40


def excerpt(text: str, sought: Sought) -> str:
    """`text` in one line; of a long one the part that holds most of what is sought, cut between words."""
    line = " ".join(text.split())
    if len(line) <= TEXT_CHARACTERS:
        return line
    found = sought.places(line)
    starts = [at for at, _ in found]

    def held(start: int) -> int:
        end = bisect_left(starts, start + TEXT_CHARACTERS - _BEFORE - _LONGEST_WORD)
        return len({term for _, term in found[bisect_left(starts, start) : end]})

    best = max(starts, key=held, default=0)
    start = max(0, min(best - _BEFORE, len(line) - TEXT_CHARACTERS))
    end = start + TEXT_CHARACTERS
    if start:
        gap = line.find(" ", start - 1, start + _LONGEST_WORD)
        start = gap + 1 if gap >= 0 and gap < best else start
    if end < len(line):
        gap = line.rfind(" ", end - _LONGEST_WORD, end + 1)
        end = gap if gap > 0 else end
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"
