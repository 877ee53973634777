"""What a prompt says already, so that nothing in it is said twice."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memory.ledger.page import format_line
from memory.messages import Provenance, Role
from memory.text.overlap import says_whole, wording

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from memory.messages import Message, Passage

_ENDS = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")
_HEAD = re.compile(r"^(?:- \[[^\]]*\]|  \d\d:\d\d) ")
_SPEAKER = re.compile(r"^[^:|]{1,64}: ")
_MARKS = re.compile(r"^\s*(?:[-*•>#]+\s+)*")


@dataclass(frozen=True, slots=True)
class Shown:
    """Lines and sentences of the user's own, and by their turns what he typed in the conversation that is seen.

    What others said is no part of it: it must not take the place of what is trusted.
    """

    lines: frozenset[str] = frozenset()
    sentences: frozenset[str] = frozenset()
    turns: Mapping[int, str] = field(default_factory=dict)

    def with_lines(self, text: str) -> Shown:
        """Also the lines of a text that is trusted, such as MEMORY.md."""
        return Shown(self.lines | {*text.splitlines()}, self.sentences | _sentences(text), self.turns)

    def with_messages(self, messages: Iterable[Message]) -> Shown:
        """Also what the user typed in messages."""
        sentences, turns = set(self.sentences), dict(self.turns)
        for message in messages:
            if message.role is Role.USER and message.provenance is Provenance.TYPED:
                sentences |= _sentences(message.content)
                if message.turn_id is not None:
                    turns[message.turn_id] = f"{turns.get(message.turn_id, '')}\n{message.content}".strip()
        return Shown(self.lines, frozenset(sentences), turns)

    def with_passage(self, passage: Passage) -> Shown:
        """Also what the lines of a passage quote, whole, where nothing in it is foreign.

        A sentence of a long message is no line of its own: that it was said then does not tell that it holds.
        """
        if passage.provenance.is_foreign:
            return self
        quoted = (part for line in passage.text.splitlines() for part in _HEAD.sub("", line).split(" | "))
        # with and without the speaker in front
        said = {wording(text) for part in quoted for text in (part, _SPEAKER.sub("", part))}
        return Shown(self.lines, self.sentences | said, self.turns)

    def says(self, content: str, line: str | None = None, turn: int | None = None) -> bool:
        """Whether all of a memory is said: by its line of MEMORY.md, by sentences, or in the turn that it is from."""
        if (line or format_line(content)) in self.lines:
            return True
        meant = _sentences(content)
        if wording(content) in self.sentences or (meant and meant <= self.sentences):
            return True
        return turn is not None and turn in self.turns and says_whole(self.turns[turn], content)


def _sentences(text: str) -> frozenset[str]:
    """What a text says, sentence by sentence, however it is laid out."""
    parts = (_MARKS.sub("", part) for line in text.splitlines() for part in _ENDS.split(line))
    return frozenset(said for part in parts if (said := wording(part)))


NOTHING_SHOWN = Shown()
