"""A summary of two passages: what the user and the assistant said by themselves, and what they said of others' words.

Only the first one may stand in a system message. Both are stored as one text; a line divides them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.messages import Message

OF_OTHERS = "[From what others wrote:]"
"""The line above the second passage. Whatever follows its first occurrence counts as others' words."""


def joined(own: str | None, of_others: str | None) -> str:
    """Return two passages as one text."""
    return "\n\n".join([*([own] if own else []), *([f"{OF_OTHERS}\n{of_others}"] if of_others else [])])


def divided(summary: str | None, *, is_foreign: bool) -> tuple[str | None, str | None]:
    """Return the two passages of a summary. One without a dividing line is all of others if others went into it."""
    if not summary or not is_foreign:
        return summary or None, None
    own, line, of_others = summary.partition(OF_OTHERS)
    return (own.strip() or None, of_others.strip() or None) if line else (None, summary)


def by_origin(messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    """Divide messages: those of turns that no words of others went into, and those of the other turns."""
    foreign = {id(message) for message in messages if message.provenance is not None and message.provenance.is_foreign}
    turns = {message.turn_id for message in messages if id(message) in foreign and message.turn_id is not None}
    of_others = [message for message in messages if id(message) in foreign or message.turn_id in turns]
    numbers = {id(message) for message in of_others}
    return [message for message in messages if id(message) not in numbers], of_others
