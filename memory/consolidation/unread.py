"""Tracking of the messages that truncated answers did not cover, so that only these are sent to the model again."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

from memory.consolidation.consolidation_answer import ConsolidationAnswer
from memory.consolidation.parts import Part, behind, halves, upto


@dataclass(slots=True)
class Unread:
    """The parts of one conversation by their keys, from the first try to those in the background.

    Attributes:
        cut_off: Parts with a truncated answer. Their halves are sent instead.
        of_halves: The halves of such parts.
        told: Parts that have a history entry already.
    """

    cut_off: set[str] = field(default_factory=set)
    of_halves: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)

    def next_part(self, waiting: deque[Part]) -> Part:
        """Take the next part to send. `waiting` must not be empty."""
        part = waiting.popleft()
        while part.key in self.cut_off and len(pair := halves(part)) > 1:
            self.of_halves |= {half.key for half in pair}
            waiting.extendleft(reversed(pair))
            part = waiting.popleft()
        return part

    def halve(self, part: Part, waiting: deque[Part]) -> bool:
        """Queue the halves of a part. Return False if it is a half already or has only one message."""
        if part.key in self.of_halves or len(halves(part)) == 1:
            return False
        self.cut_off.add(part.key)
        waiting.appendleft(part)
        return True

    def new_of(self, part: Part, answer: ConsolidationAnswer) -> ConsolidationAnswer:
        """Remove the history entry of an answer if the part has one already."""
        return replace(answer, history_entry=None) if part.key in self.told else answer

    def leave(self, part: Part, answer: ConsolidationAnswer, waiting: deque[Part]) -> Part:
        """Queue the rest of a part that its answer did not cover. Return the covered part."""
        rest = behind(part, answer.cited_through) if answer.lacks_facts else None
        if rest is None:
            return part
        self.told.add(rest.key)
        waiting.appendleft(rest)
        return upto(part, answer.cited_through)
