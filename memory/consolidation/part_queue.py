"""Tracking of the messages that truncated answers did not cover, so that only these are sent to the model again."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

from memory.consolidation.consolidation_answer import ConsolidationAnswer
from memory.consolidation.parts import Part, drop_through, halve, take_through


@dataclass(slots=True)
class PartQueue:
    """The parts of one conversation by their keys, from the first try to those in the background.

    Attributes:
        truncated_keys: Parts with a truncated answer. Their halves are sent instead.
        half_keys: The halves of such parts.
        keys_with_history: Parts that have a history entry already.
    """

    truncated_keys: set[str] = field(default_factory=set)
    half_keys: set[str] = field(default_factory=set)
    keys_with_history: set[str] = field(default_factory=set)

    def next_part(self, waiting: deque[Part]) -> Part:
        """Take the next part to send. `waiting` must not be empty."""
        part = waiting.popleft()
        while part.key in self.truncated_keys and len(pair := halve(part)) > 1:
            self.half_keys |= {half.key for half in pair}
            waiting.extendleft(reversed(pair))
            part = waiting.popleft()
        return part

    def halve(self, part: Part, waiting: deque[Part]) -> bool:
        """Queue the halves of a part. Return False if it is a half already or has only one message."""
        if part.key in self.half_keys or len(halve(part)) == 1:
            return False
        self.truncated_keys.add(part.key)
        waiting.appendleft(part)
        return True

    def new_of(self, part: Part, answer: ConsolidationAnswer) -> ConsolidationAnswer:
        """Remove the history entry of an answer if the part has one already."""
        return replace(answer, history_entry=None) if part.key in self.keys_with_history else answer

    def queue_rest(self, part: Part, answer: ConsolidationAnswer, waiting: deque[Part]) -> Part:
        """Queue the rest of a part that its answer did not cover. Return the covered part."""
        rest = drop_through(part, answer.last_cited_message) if answer.lacks_facts else None
        if rest is None:
            return part
        self.keys_with_history.add(rest.key)
        waiting.appendleft(rest)
        return take_through(part, answer.last_cited_message)
