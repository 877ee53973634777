"""What this bot's server of the Bot API takes of what is new in it, and messages that one person alone sees.

An older server passes over a parameter that it does not know, and says of a method that there is none. So each is
tried, and what comes of it is kept.
"""

from __future__ import annotations

import contextlib
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from telegram.error import BadRequest, EndPointNotFound, TelegramError

from memory.errors import StoreError

if TYPE_CHECKING:
    from telegram import Bot, Message

    from memory.clock import Clock
    from memory.service.menu_cache import MenuCache

_ALONE = "alone"


class Feature(StrEnum):
    """What not every server has: messages that one person of a group sees (Bot API 10.3), rich messages (10.1)."""

    DRAFTS = "drafts"
    EPHEMERAL = "ephemeral"
    RICH = "rich"


class ServerFeatures:
    """Knows what the server takes, and what it does not; that is tried again in another week, since it may be newer."""

    def __init__(self, published: MenuCache, bot_id: int, clock: Clock) -> None:
        self._published = published
        self._bot_id = bot_id
        self._clock = clock
        self._known: dict[Feature, bool] = {}
        self._doubted: set[Feature] = set()
        self._not_in: set[int] = set()

    async def start(self) -> None:
        """Learn what earlier runs have found out. Raises StoreError."""
        for feature in Feature:
            if await self._published.is_shown(self._key(feature), True):
                self._known[feature] = True
            elif await self._published.is_shown(self._key(feature), self._week()):
                self._known[feature] = False

    def supports(self, feature: Feature) -> bool | None:
        """Whether the server takes it; None: it was not tried."""
        return self._known.get(feature)

    def may_use(self, feature: Feature) -> bool:
        return self._known.get(feature) is not False and feature not in self._doubted

    async def record(self, feature: Feature, *, supported: bool) -> None:
        """Keep what came of trying it. What can't be written is known until the end of this run."""
        if self._known.get(feature) is supported:
            return
        self._known[feature] = supported
        self._doubted.discard(feature)
        await self._keep(self._key(feature), supported or self._week())

    async def has_method(self, bot: Bot, feature: Feature, method: str) -> bool:
        """Whether the server has a method. One of which nothing is known is asked by a call that names no chat."""
        if self._known.get(feature) is None:
            try:
                await bot.do_api_request(method)
            except EndPointNotFound:
                await self.record_missing(bot, feature)
            except BadRequest:
                await self.record(feature, supported=True)
            except TelegramError:
                return False
        return self._known.get(feature) is True

    async def record_missing(self, bot: Bot, feature: Feature) -> None:
        """Keep that there is no such method, unless all is missing: a server that starts, or a proxy, says that too."""
        with contextlib.suppress(TelegramError):
            await bot.get_me()
            await self.record(feature, supported=False)

    async def shows_alone(self, chat: int) -> bool:
        """Whether a group has ever taken a message for one person that answered nothing but what all could see.

        It does where the bot is an administrator. From then on what is for one person is for nobody else there.
        """
        return await self._published.is_any(self._key(Feature.EPHEMERAL, chat))

    def may_try_alone(self, chat: int) -> bool:
        """Whether that is worth trying in this run."""
        return self.may_use(Feature.EPHEMERAL) and chat not in self._not_in

    async def record_sent(self, chat: int, *, alone: bool, unasked: bool) -> None:
        """Keep what came of a message for one person. unasked: it named nothing that it answers."""
        await self.record(Feature.EPHEMERAL, supported=alone)
        if alone and unasked and not await self.shows_alone(chat):
            await self._keep(self._key(Feature.EPHEMERAL, chat), True)

    def record_refused(self, chat: int, *, unasked: bool) -> None:
        """Know in this run that it was refused: by a server that was never asked, or where the bot may not."""
        if self._known.get(Feature.EPHEMERAL) is None:
            self._doubted.add(Feature.EPHEMERAL)
        elif unasked:
            self._not_in.add(chat)

    async def _keep(self, what: str, content: object) -> None:
        try:
            await self._published.keep(what, content)
        except StoreError:
            return

    def _week(self) -> list[int]:
        return list(self._clock().isocalendar()[:2])

    def _key(self, *parts: object) -> str:
        return "/".join(map(str, (self._bot_id, *parts)))


def message_key(message: Message, user: int | None = None) -> str:
    """How a message is called here: by its number, or, where only `user` sees it, by what edits of it name."""
    number = message.api_kwargs.get("ephemeral_message_id")
    if not isinstance(number, int):
        return str(message.message_id)
    sender, receiver = message.from_user, message.api_kwargs.get("receiver_user")
    if user is None:  # whoever of the two is no bot
        is_ours = sender is None or sender.is_bot
        user = int(receiver["id"]) if is_ours and isinstance(receiver, dict) else 0 if sender is None else sender.id
    return f"{_ALONE} {user} {number}"


def is_ephemeral(key: str | None) -> bool:
    return key is not None and key.startswith(_ALONE)


async def edit_ephemeral(bot: Bot, what: str, chat: int, key: str, shown: dict[str, Any]) -> None:
    """Edit a message that one person sees; the library has no method for it yet. Raises TelegramError."""
    _alone, user, number = key.split()
    target = {"chat_id": chat, "receiver_user_id": int(user), "ephemeral_message_id": int(number)}
    content = {name: value for name, value in shown.items() if value}
    await bot.do_api_request(f"editEphemeralMessage{what}", api_kwargs=target | content)


def for_one(receiver: str, reply_to: str | None = None) -> dict[str, Any]:
    """The parameters that have only one person see a message. receiver: their number, and what they pressed, if any.

    A bot that is no administrator has to name what it answers: the press, or a message that nobody else sees.
    """
    user, _space, query = receiver.partition(" ")
    parameters: dict[str, Any] = {"receiver_user_id": int(user)}
    if query:
        parameters["callback_query_id"] = query
    sent: dict[str, Any] = {"ephemeral_message_parameters": parameters}
    if not query and reply_to is not None and is_ephemeral(reply_to):
        sent["reply_parameters"] = {"ephemeral_message_id": int(reply_to.split()[-1])}
    return sent
