"""MEMORY.md as a model wants it rewritten: what of that is believed, and what is refused (S2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.text.overlap import Overlap, says_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

LINES_KEPT = 0.75
"""An update that keeps fewer of the lines, without having been asked to compress, is refused."""


def believed(memory: str, update: str, said: Sequence[str]) -> str:
    """`update` without new lines that nothing bears out: neither the long-term memory nor what was `said`."""
    known = {line.strip() for line in memory.splitlines()}
    ground = Overlap([memory, *said])
    kept = [
        line
        for line in update.splitlines()
        if line.strip() in known or line.lstrip().startswith("#") or not line.strip() or ground.grounds(line)
    ]
    return "\n".join(kept)


def keeping_lines(memory: str, update: str) -> str:
    """`update` with the lines of `memory` that it leaves out without saying anything in their place.

    A new line takes the place of the one missing line that it shares most telling words with, and at least half:
    that line was corrected or put in other words; and of each that it says all of: those were merged into it. Whatever
    else is missing was dropped unasked, and stays.
    """
    known = {line.strip() for line in memory.splitlines()}
    said = {line.strip() for line in update.splitlines()}
    missing = [line for line in memory.splitlines() if line.strip() and line.strip() not in said]
    for line in update.splitlines():
        if line.strip() in known or not missing:
            continue
        replaced = max(missing, key=Overlap([line]).share_of)
        if Overlap([line]).covers(replaced):
            missing.remove(replaced)
        missing = [one for one in missing if not says_whole(line, one)]
    return "\n".join([*update.rstrip().splitlines(), *missing]) if missing else update


def why_refused(memory: str, update: str, limit: int, *, losing: bool = False) -> str | None:
    """Why an update is not written, None where it may be. limit: bytes. losing: whether it may lose lines."""
    before, after = len(memory.encode()), len(update.strip().encode()) + 1
    compressing = before > limit
    if not update.strip():
        return "it is empty"
    if compressing and after >= before:
        return "it was to be compressed and is not shorter"
    if not compressing and after > limit:
        return f"it would grow to {after} bytes of {limit}"
    if not compressing and not losing and _line_count(update) < LINES_KEPT * _line_count(memory):
        return "it loses more than a quarter of the lines"
    return None


def _line_count(text: str) -> int:
    # each line once: a model that repeats one line has lost the others
    return len({line.strip() for line in text.splitlines() if line.strip()})
