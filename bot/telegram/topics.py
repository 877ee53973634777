"""Names of topics in private chats, which Telegram leaves to the bot if their creator didn't name them."""

from __future__ import annotations

from collections.abc import Sequence

import structlog
from telegram import Bot, Update
from telegram.constants import ChatType
from telegram.error import BadRequest, Forbidden, InvalidToken, TelegramError

from bot.telegram.calls import get_chat_id, get_thread_id
from bot.telegram.failures import describe_error, parsing_answer
from bot.telegram.features import Feature, ServerFeatures
from bot.telegram.rendering import render
from config.secrets import mask_secrets
from memory.errors import StoreError
from memory.log.sessions import Address
from memory.runtime.menu_cache import MenuCache
from pipeline.arrival import Arrival

log = structlog.get_logger(__name__)

MAX_NAME_CHARS = 36
"""Maximum length of a topic's name. Telegram allows 128, but the list of topics shows about this much."""
_UNNAMED, _NAMED = "unnamed", "named"


class TopicNames:
    """Names each topic once, after its first exchange. A name that a person gave stays.

    The service message about a new topic says if its creator left the name to the bot.
    """

    def __init__(self, bot: Bot, published: MenuCache, features: ServerFeatures) -> None:
        self._bot = bot
        self._published = published
        self._features = features

    async def track(self, update: Update) -> None:
        """Record a new topic without a name, or that a person has named one. Raises StoreError."""
        message = update.message
        if message is None or message.chat.type != ChatType.PRIVATE or message.message_thread_id is None:
            return
        topic = self._make_key(message.chat.id, message.message_thread_id)
        if message.forum_topic_created is not None and message.forum_topic_created.is_name_implicit:
            await self._published.store(topic, _UNNAMED)
        elif (edited := message.forum_topic_edited) is not None and edited.name and await self._is_unnamed(topic):
            await self._published.store(topic, _NAMED)

    async def name(self, arrivals: Sequence[Arrival], answer: str) -> None:
        """Name the topic of an exchange after its beginning, unless it has a name."""
        address = arrivals[0].address
        try:
            if address.thread_id is None or not await self._is_unnamed(self._make_key_for(address)):
                return
            asked = next((arrival.text for arrival in arrivals if arrival.text), answer)
            if name := make_topic_name(asked) or make_topic_name(answer):
                await self._rename(address, name)
        except StoreError as error:
            log.warning("topic_not_named", reason=error.loggable)

    async def _rename(self, address: Address, name: str) -> None:
        if not self._features.can_use(Feature.TOPICS):
            return
        try:
            with parsing_answer():
                await self._bot.edit_forum_topic(get_chat_id(address), get_thread_id(address) or 0, name)
        except InvalidToken:  # The library's error for an unknown method
            await self._features.record_missing(self._bot, Feature.TOPICS)
            return
        except (BadRequest, Forbidden) as error:
            log.info("topic_not_named", reason=describe_error(error))
        except TelegramError as error:
            log.info("topic_not_named", reason=describe_error(error))
            return  # The next exchange tries again
        await self._published.store(self._make_key_for(address), _NAMED)

    async def _is_unnamed(self, topic: str) -> bool:
        return await self._published.is_shown(topic, _UNNAMED)

    def _make_key_for(self, address: Address) -> str:
        return self._make_key(get_chat_id(address), get_thread_id(address) or 0)

    def _make_key(self, chat: int, thread: int) -> str:
        return f"{self._bot.id}/topic/{chat}/{thread}"


def make_topic_name(text: str) -> str:
    """Return a short name from the first line of a text, which ends with a whole word. Secrets are masked."""
    chunks = render(mask_secrets(text[:1_000]))
    line = next(
        (" ".join(line.split()) for line in (chunks[0].text if chunks else "").splitlines() if line.strip()), ""
    )
    if len(line) <= MAX_NAME_CHARS:
        return line.rstrip(" .,;:!")
    beginning, _space, _rest = line[:MAX_NAME_CHARS].rpartition(" ")
    return f"{(beginning or line[: MAX_NAME_CHARS - 1]).rstrip(' .,;:!?')}…"
