"""Removal of the hints at /undo from a message after a press of its Undo button."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from telegram import MessageEntity
from telegramify_markdown import utf16_len

from bot.telegram.rendering import Chunk

# Part of a parenthesis or all of it, as in "(/undo takes it back)" and "(was: tea; /undo takes it back)"
_HINT = re.compile(
    r"\s*(?:[(（][^()（）;；\n]*/undo\b[^()（）;；\n]*[)）]|[;；][^()（）;；\n]*/undo\b[^()（）;；\n]*(?=[)）]))"
)
_DETECTED = frozenset(
    {
        MessageEntity.BOT_COMMAND,
        MessageEntity.CASHTAG,
        MessageEntity.EMAIL,
        MessageEntity.HASHTAG,
        MessageEntity.MENTION,
        MessageEntity.PHONE_NUMBER,
        MessageEntity.URL,
    }
)
"""Entities that Telegram adds to texts on its side."""


def has_undo_hint(text: str) -> bool:
    return _HINT.search(text) is not None


def remove_undo_hints(chunk: Chunk, *, is_last: bool) -> Chunk | None:
    """Return a message without its hint at /undo, or None if it stays as it is.

    If it has several hints, they stay until no button is left, since the hint of a button is unknown.

    Args:
        is_last: whether no other button can be pressed below the message.
    """
    hints = list(_HINT.finditer(chunk.text))
    if not hints or (len(hints) > 1 and not is_last):
        return None
    entities = [entity for entity in chunk.entities if entity.type not in _DETECTED]
    text = chunk.text
    for hint in reversed(hints):
        begin, length = utf16_len(text[: hint.start()]), utf16_len(hint[0])
        entities = list(_close_gap(entities, begin, length))
        text = text[: hint.start()] + text[hint.end() :]
    return Chunk(text, tuple(entities))


def _close_gap(entities: Iterable[MessageEntity], begin: int, length: int) -> Iterator[MessageEntity]:
    """Move the entities behind a removed passage, and shorten those around it."""

    def move(position: int) -> int:
        return position if position <= begin else max(begin, position - length)

    for entity in entities:
        start, end = move(entity.offset), move(entity.offset + entity.length)
        if end > start:
            moved = entity.to_dict() | {"offset": start, "length": end - start}
            yield MessageEntity.de_json(moved, None)
