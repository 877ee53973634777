"""What an answer that was cut off has left of a part: that alone is asked about again, and nothing is written twice."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from memory.consolidation.parts import behind, halves, upto

if TYPE_CHECKING:
    from collections import deque

    from memory.consolidation.consolidation_answer import ConsolidationAnswer
    from memory.consolidation.parts import Part


@dataclass(slots=True)
class Unread:
    """Remembers the parts of one conversation by their keys, from a first try to those in the background.

    Attributes:
        cut_off: Parts to which a model gave no whole answer. Their halves are asked about instead.
        of_halves: Parts that are such halves.
        told: Parts of which the history tells already.
    """

    cut_off: set[str] = field(default_factory=set)
    of_halves: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)

    def next_part(self, waiting: deque[Part]) -> Part:
        """Take the next part that is to be asked about. `waiting` must not be empty."""
        part = waiting.popleft()
        while part.key in self.cut_off and len(pair := halves(part)) > 1:
            self.of_halves |= {half.key for half in pair}
            waiting.extendleft(reversed(pair))
            part = waiting.popleft()
        return part

    def halve(self, part: Part, waiting: deque[Part]) -> bool:
        """Have the halves of a part asked about. Return False if it is a half already or has none."""
        if part.key in self.of_halves or len(halves(part)) == 1:
            return False
        self.cut_off.add(part.key)
        waiting.appendleft(part)
        return True

    def new_of(self, part: Part, answer: ConsolidationAnswer) -> ConsolidationAnswer:
        """Return an answer without what the history tells already."""
        return replace(answer, history_entry=None) if part.key in self.told else answer

    def leave(self, part: Part, answer: ConsolidationAnswer, waiting: deque[Part]) -> Part:
        """Have what an answer did not come to asked about. Return what it has read of the part."""
        rest = behind(part, answer.cited_through) if answer.lacks_facts else None
        if rest is None:
            return part
        self.told.add(rest.key)
        waiting.appendleft(rest)
        return upto(part, answer.cited_through)
