"""Optional features of the Bot API server, and ephemeral messages, which only one member of a group sees.

An older server ignores parameters that it doesn't know and answers 404 to unknown methods. So each feature is tried
once, and the result is stored.
"""

from __future__ import annotations

import contextlib
from enum import StrEnum
from typing import Any

from telegram import Bot, Message
from telegram.error import BadRequest, EndPointNotFound, TelegramError

from memory.clock import Clock
from memory.errors import StoreError
from memory.runtime.menu_cache import MenuCache

_EPHEMERAL_PREFIX = "alone"


class Feature(StrEnum):
    """Features that older servers lack: ephemeral messages came with Bot API 10.3, topics of private chats with 9.3."""

    DRAFTS = "drafts"
    EPHEMERAL = "ephemeral"
    TIMES = "times"
    TOPICS = "topics"


PEOPLE = "people"
"""The feature of choosing people by name, from Bot API 7.2."""
PEOPLE_METHOD = "getBusinessConnection"
"""A method of the same version, which shows if the server knows the feature."""


class ServerFeatures:
    """Remembers which features the server supports. Missing ones are tried again every week, in case of an upgrade."""

    def __init__(self, published: MenuCache, bot_id: int, clock: Clock) -> None:
        self._published = published
        self._bot_id = bot_id
        self._clock = clock
        self._known: dict[str, bool] = {}
        self._doubted: set[Feature] = set()
        self._refusing_chats: set[int] = set()

    async def start(self) -> None:
        for feature in Feature:
            await self._load(feature)

    async def _load(self, feature: str) -> None:
        """Load the stored result of a trial, if there is one."""
        if await self._published.is_shown(self._make_key(feature), True):
            self._known[feature] = True
        elif await self._published.is_shown(self._make_key(feature), self._get_week()):
            self._known[feature] = False

    def supports(self, feature: Feature) -> bool | None:
        """Return whether the server supports a feature, or None if it wasn't tried."""
        return self._known.get(feature)

    def can_use(self, feature: Feature) -> bool:
        return self._known.get(feature) is not False and feature not in self._doubted

    async def record(self, feature: str, *, supported: bool) -> None:
        """Store the result of a trial. If the database can't be written, the result is known for this run only."""
        if self._known.get(feature) is supported:
            return
        self._known[feature] = supported
        self._doubted.discard(feature)
        await self._store(self._make_key(feature), supported or self._get_week())

    async def has_method(self, bot: Bot, feature: str, method: str) -> bool:
        """Return True if the server has a method. If that is unknown, find out by a call without a chat.

        Args:
            feature: the name under which the result is stored.
        """
        if feature not in self._known:
            await self._load(feature)
        if feature not in self._known:
            try:
                # Telegram ignores case, and the library warns of methods for which it has its own
                await bot.do_api_request(method.lower())
            except EndPointNotFound:
                await self.record_missing(bot, feature)
            except BadRequest:
                await self.record(feature, supported=True)
            except TelegramError:
                return False
        return self._known.get(feature) is True

    async def record_missing(self, bot: Bot, feature: str) -> None:
        """Record a missing method, unless `getMe` fails too: a proxy or a starting server answers 404 to everything."""
        with contextlib.suppress(TelegramError):
            await bot.get_me()
            await self.record(feature, supported=False)

    async def accepts_ephemeral(self, chat: int) -> bool:
        """Return True if a group ever accepted an ephemeral message that answered nothing or a public message.

        Groups accept those if the bot is an administrator. From then on, personal messages never go to the whole group.
        """
        return await self._published.has_any(self._make_key(Feature.EPHEMERAL, chat))

    def can_try_ephemeral(self, chat: int) -> bool:
        return self.can_use(Feature.EPHEMERAL) and chat not in self._refusing_chats

    async def record_sent(self, chat: int, *, alone: bool, unasked: bool) -> None:
        """Record that a personal message was sent.

        Args:
            alone: whether only its receiver sees it.
            unasked: whether it was sent without naming a message or button press that it answers.
        """
        await self.record(Feature.EPHEMERAL, supported=alone)
        if alone and unasked and not await self.accepts_ephemeral(chat):
            await self._store(self._make_key(Feature.EPHEMERAL, chat), True)

    def record_refused(self, chat: int, *, unasked: bool) -> None:
        """Remember a refusal in this run: the server is too old, or the bot lacks the right in this group."""
        if self._known.get(Feature.EPHEMERAL) is None:
            self._doubted.add(Feature.EPHEMERAL)
        elif unasked:
            self._refusing_chats.add(chat)

    async def _store(self, key: str, content: object) -> None:
        try:
            await self._published.store(key, content)
        except StoreError:
            return

    def _get_week(self) -> list[int]:
        return list(self._clock().isocalendar()[:2])

    def _make_key(self, *parts: object) -> str:
        return "/".join(map(str, (self._bot_id, *parts)))


def make_message_key(message: Message, user: int | None = None) -> str:
    """Return the stored id of a message: its number, or for an ephemeral message all ids needed to edit it."""
    number = message.api_kwargs.get("ephemeral_message_id")
    if not isinstance(number, int):
        return str(message.message_id)
    sender, receiver = message.from_user, message.api_kwargs.get("receiver_user")
    if user is None:  # The other side is always a bot
        is_ours = sender is None or sender.is_bot
        user = int(receiver["id"]) if is_ours and isinstance(receiver, dict) else 0 if sender is None else sender.id
    return f"{_EPHEMERAL_PREFIX} {user} {number}"


def is_ephemeral(key: str | None) -> bool:
    return key is not None and key.startswith(_EPHEMERAL_PREFIX)


async def edit_ephemeral(bot: Bot, what: str, chat: int, key: str, shown: dict[str, Any]) -> None:
    """Edit an ephemeral message, for which the library has no method yet. Raises TelegramError."""
    _alone, user, number = key.split()
    target = {"chat_id": chat, "receiver_user_id": int(user), "ephemeral_message_id": int(number)}
    content = {name: value for name, value in shown.items() if value}
    await bot.do_api_request(f"editEphemeralMessage{what}", api_kwargs=target | content)


def build_ephemeral_parameters(receiver: str, reply_to: str | None = None) -> dict[str, Any]:
    """Return the parameters that make a message ephemeral.

    A bot that is no administrator has to name what it answers: a button press or an ephemeral message.

    Args:
        receiver: the user's id and, after a space, the id of the button press that is answered, if there is one.
    """
    user, _space, query = receiver.partition(" ")
    parameters: dict[str, Any] = {"receiver_user_id": int(user)}
    if query:
        parameters["callback_query_id"] = query
    sent: dict[str, Any] = {"ephemeral_message_parameters": parameters}
    if not query and reply_to is not None and is_ephemeral(reply_to):
        sent["reply_parameters"] = {"ephemeral_message_id": int(reply_to.split()[-1])}
    return sent
