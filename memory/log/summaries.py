"""Summaries with two passages: the user's own conversation, and the turns with texts of others.

Only the first passage may be in a system message. Both are stored as one text with a dividing line.
"""

from __future__ import annotations

from collections.abc import Sequence

from memory.messages import Message

OF_OTHERS = "[From what others wrote:]"
"""The line above the second passage. Everything after its first occurrence is untrusted."""


def join_passages(own: str | None, of_others: str | None) -> str:
    return "\n\n".join([*([own] if own else []), *([f"{OF_OTHERS}\n{of_others}"] if of_others else [])])


def divide_summary(summary: str | None, *, is_foreign: bool) -> tuple[str | None, str | None]:
    """Split a summary into its passages. Without a dividing line, all of a foreign summary is the second one."""
    if not summary or not is_foreign:
        return summary or None, None
    own, line, of_others = summary.partition(OF_OTHERS)
    return (own.strip() or None, of_others.strip() or None) if line else (None, summary)


def divide_by_origin(messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    """Divide messages into those of the user's own turns and those of turns with texts of others."""
    foreign = {id(message) for message in messages if message.provenance is not None and message.provenance.is_foreign}
    turns = {message.turn_id for message in messages if id(message) in foreign and message.turn_id is not None}
    of_others = [message for message in messages if id(message) in foreign or message.turn_id in turns]
    numbers = {id(message) for message in of_others}
    return [message for message in messages if id(message) not in numbers], of_others
