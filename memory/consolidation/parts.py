"""Division of a conversation into parts that fit into a model's window. All messages of the user are included."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from memory.facts.fact import is_typed, shorten
from memory.messages import Message, Role

MAX_AFFIRMATION_CHARS = 80
"""A typed message up to this length may affirm the assistant's message before it, which is then shown in full."""
MESSAGE_OVERHEAD_TOKENS = 8
"""Tokens of a message in addition to its text: number, name, line break."""
_BREAKS = re.compile(r"\n\s*\n|(?<=[.!?。！？])\s+|\n|\s")


@dataclass(frozen=True, slots=True)
class Part:
    """Messages that a model reads in one request."""

    messages: tuple[Message, ...]
    before: tuple[Message, ...]  # preceding messages, for context only
    through: int | None  # id of the last message that is complete with this part, if any

    @property
    def key(self) -> str:
        first, last = self.messages[0], self.messages[-1]
        return f"messages {first.id}-{last.id}" + ("" if self.through == last.id else f" ({len(last.content)})")


def divide_into_parts(
    messages: Sequence[Message], tokens: int, count: Callable[[str], int], carried: int = 4
) -> Iterator[Part]:
    """Divide messages into parts of at most `tokens` each.

    Args:
        carried: Number of preceding messages that are added to each part as context.
    """
    affirmed = {message.id for at, message in enumerate(messages) if can_be_affirmed(messages, at)}
    visible = [
        message
        if (message.role is Role.USER and not message.is_attachment) or message.id in affirmed
        else replace(message, content=shorten(message.content))
        for message in messages
    ]
    pieces = [(piece, is_last) for message in visible for piece, is_last in _split_message(message, tokens, count)]
    started, held, done = 0, 0, None
    for at, (piece, is_last) in enumerate(pieces):
        cost = count(piece.content) + MESSAGE_OVERHEAD_TOKENS
        # A "yes" stays in the same part as its question.
        if at > started and held + cost > tokens and pieces[at - 1][0].id not in affirmed:
            yield _build_part(pieces, started, at, done, carried)
            started, held = at, 0
        held += cost
        done = piece.id if is_last else done
    if pieces:
        yield _build_part(pieces, started, len(pieces), done, carried)


def can_be_affirmed(messages: Sequence[Message], at: int) -> bool:
    """Return True if the user's next message may affirm this message of the assistant."""
    if messages[at].role is not Role.ASSISTANT or at + 1 >= len(messages):
        return False
    return is_typed(messages[at + 1]) and len(messages[at + 1].content) <= MAX_AFFIRMATION_CHARS


def halve(part: Part) -> tuple[Part, ...]:
    """Divide a part into two if it has several messages."""
    middle = len(part.messages) // 2
    if middle == 0:
        return (part,)
    first, second = part.messages[:middle], part.messages[middle:]
    return Part(first, part.before, first[-1].id), Part(second, first[-2:], part.through)


def take_through(part: Part, number: int) -> Part:
    """Return the beginning of a part up to a message. Numbers start at 1."""
    messages = part.messages[:number]
    return Part(messages, part.before, messages[-1].id if number < len(part.messages) else part.through)


def drop_through(part: Part, number: int) -> Part | None:
    """Return the rest of a part behind a message, or None if it is empty or the number is 0."""
    messages = part.messages[number:]
    if number <= 0 or not messages:
        return None
    return Part(messages, part.messages[max(0, number - 2) : number], part.through)


def _build_part(
    pieces: Sequence[tuple[Message, bool]], start: int, end: int, through: int | None, carried: int
) -> Part:
    before = tuple(piece for piece, _ in pieces[max(0, start - carried) : start])
    return Part(tuple(piece for piece, _ in pieces[start:end]), before, through)


def _split_message(message: Message, tokens: int, count: Callable[[str], int]) -> Iterator[tuple[Message, bool]]:
    """Yield the pieces of a message that is too long for a part, each with whether it is the last."""
    text = message.content
    while count(text) + MESSAGE_OVERHEAD_TOKENS > tokens:
        piece = _find_cut(text, tokens, count)
        yield replace(message, content=text[:piece]), False
        text = text[piece:]
    yield replace(message, content=text), True


def _find_cut(text: str, tokens: int, count: Callable[[str], int]) -> int:
    """Return the index at which to cut a text, preferably at a paragraph, sentence or word."""
    # By bisection, since counting the tokens of a long text is slow.
    low, high = 1, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(text[:middle]) + MESSAGE_OVERHEAD_TOKENS <= tokens else (low, middle - 1)
    ends = [match.end() for match in _BREAKS.finditer(text, low * 2 // 3, low)]
    return ends[-1] if ends else low
