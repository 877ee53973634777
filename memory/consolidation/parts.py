"""A conversation cut into parts that a model can read, in order, nothing of what the user said left out."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memory.facts.fact import is_typed, shortened
from memory.messages import Message, Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

LONGEST_YES = 80
"""Characters of an answer that may affirm what was said before it: that is shown whole."""
OVERHEAD = 8
"""Tokens that a message costs beside its text: number, name, line break."""
_BREAKS = re.compile(r"\n\s*\n|(?<=[.!?。！？])\s+|\n|\s")


@dataclass(frozen=True, slots=True)
class Part:
    """Messages that a model reads at once, as it is shown them."""

    messages: tuple[Message, ...]
    before: tuple[Message, ...]  # said just before, for who "she" is; nothing is learned from it
    through: int | None  # this part and those before show everything up to this message; None: up to none

    @property
    def key(self) -> str:
        first, last = self.messages[0], self.messages[-1]
        return f"messages {first.id}-{last.id}" + ("" if self.through == last.id else f" ({len(last.content)})")


def parts(messages: Sequence[Message], tokens: int, count: Callable[[str], int], carried: int = 4) -> Iterator[Part]:
    """`messages` in parts of at most `tokens` each. carried: how many messages before a part are shown with it."""
    affirmed = {message.id for at, message in enumerate(messages) if may_be_affirmed(messages, at)}
    visible = [
        message
        if (message.role is Role.USER and not message.is_attachment) or message.id in affirmed
        else replace(message, content=shortened(message.content))
        for message in messages
    ]
    pieces = [(piece, is_last) for message in visible for piece, is_last in _pieces(message, tokens, count)]
    started, held, done = 0, 0, None
    for at, (piece, is_last) in enumerate(pieces):
        cost = count(piece.content) + OVERHEAD
        # a yes stays with what it says yes to
        if at > started and held + cost > tokens and pieces[at - 1][0].id not in affirmed:
            yield _part(pieces, started, at, done, carried)
            started, held = at, 0
        held += cost
        done = piece.id if is_last else done
    if pieces:
        yield _part(pieces, started, len(pieces), done, carried)


def may_be_affirmed(messages: Sequence[Message], at: int) -> bool:
    """Whether the user's next message may be a yes to what the assistant says in this one."""
    if messages[at].role is not Role.ASSISTANT or at + 1 >= len(messages):
        return False
    return is_typed(messages[at + 1]) and len(messages[at + 1].content) <= LONGEST_YES


def halves(part: Part) -> tuple[Part, ...]:
    """A part as two, where it has several messages: what a model could not answer for at once it may one by one."""
    middle = len(part.messages) // 2
    if middle == 0:
        return (part,)
    first, second = part.messages[:middle], part.messages[middle:]
    return Part(first, part.before, first[-1].id), Part(second, first[-2:], part.through)


def upto(part: Part, number: int) -> Part:
    """Return the beginning of a part up to the message of that number, from 1."""
    messages = part.messages[:number]
    return Part(messages, part.before, messages[-1].id if number < len(part.messages) else part.through)


def behind(part: Part, number: int) -> Part | None:
    """Return what follows in a part behind the message of that number. None if there is none, or none is named."""
    messages = part.messages[number:]
    if number <= 0 or not messages:
        return None
    return Part(messages, part.messages[max(0, number - 2) : number], part.through)


def _part(pieces: Sequence[tuple[Message, bool]], start: int, end: int, through: int | None, carried: int) -> Part:
    before = tuple(piece for piece, _ in pieces[max(0, start - carried) : start])
    return Part(tuple(piece for piece, _ in pieces[start:end]), before, through)


def _pieces(message: Message, tokens: int, count: Callable[[str], int]) -> Iterator[tuple[Message, bool]]:
    """A message that is too long for a part in pieces, each with whether it is the last."""
    text = message.content
    while count(text) + OVERHEAD > tokens:
        piece = _cut(text, tokens, count)
        yield replace(message, content=text[:piece]), False
        text = text[piece:]
    yield replace(message, content=text), True


def _cut(text: str, tokens: int, count: Callable[[str], int]) -> int:
    """Where to cut `text`: at a paragraph, a sentence or a word of its last third, or else in the middle of one."""
    # the longest beginning that fits, by bisection: each count costs as much as its text is long
    low, high = 1, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(text[:middle]) + OVERHEAD <= tokens else (low, middle - 1)
    ends = [match.end() for match in _BREAKS.finditer(text, low * 2 // 3, low)]
    return ends[-1] if ends else low
