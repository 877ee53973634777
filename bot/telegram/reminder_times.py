"""Times of reminders as Telegram's `date_time` entities, from which a person can open the time in their calendar."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from telegram import MessageEntity
from telegramify_markdown import utf16_len

from bot.telegram.failures import SendFailed
from bot.telegram.features import Feature, ServerFeatures
from bot.telegram.rendering import Chunk, Part
from config.texts import format_day_and_hour
from memory.mail.outbox import ReminderTime

_Sent = TypeVar("_Sent")
HOUR = re.compile(r"\b\d\d:\d\d\b")
"""Part of each time that a reply shows. Replies without it need no search for times."""


def mark_times(chunk: Chunk, times: Sequence[ReminderTime]) -> Chunk:
    """Add an entity for each time in a text, which the current language formats. The text stays the same."""
    found: dict[int, MessageEntity] = {}
    for time in times:
        shown = format_day_and_hour(time.at, time.zone)
        for match in re.finditer(re.escape(shown), chunk.text):
            offset = utf16_len(chunk.text[: match.start()])
            found.setdefault(
                offset, MessageEntity(MessageEntity.DATE_TIME, offset, utf16_len(shown), unix_time=time.at)
            )
    return replace(chunk, entities=(*chunk.entities, *found.values())) if found else chunk


def has_times(chunk: Chunk) -> bool:
    return any(entity.type == MessageEntity.DATE_TIME for entity in chunk.entities)


async def send_with_times(features: ServerFeatures, part: Part, send: Callable[[Part], Awaitable[_Sent]]) -> _Sent:
    """Send a part, without the entities of its times if the server refuses them. Raises SendFailed."""
    if not isinstance(part, Chunk) or not has_times(part):
        return await send(part)
    try:
        sent = await send(part)
    except SendFailed as failure:
        if not failure.entities_refused:
            raise
        await features.record(Feature.TIMES, supported=False)
        return await send(_without_times(part))
    await features.record(Feature.TIMES, supported=True)
    return sent


def _without_times(chunk: Chunk) -> Chunk:
    kept = tuple(entity for entity in chunk.entities if entity.type != MessageEntity.DATE_TIME)
    return replace(chunk, entities=kept)
