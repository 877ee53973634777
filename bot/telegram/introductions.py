"""The bot's introduction to a group: which messages it stores and who can see them."""

from __future__ import annotations

import structlog

from bot.languages import Languages
from bot.telegram import CHANNEL
from bot.telegram.calls import PollingBot
from bot.telegram.outbox import OutboxSender
from bot.telegram.updates import IncomingMessage
from config.texts import N_, _, use_language
from memory.errors import StoreError
from memory.log.sessions import Address, SessionService
from memory.runtime.menu_cache import MenuCache
from memory.store.button_rows import OutgoingReply

log = structlog.get_logger(__name__)

_INTRODUCTION = N_(
    "Hello, I'm {name}. I answer when you mention me (@{username}) or reply to one of my messages.\n\n"
    "What I save: those messages with their authors and attachments, and my answers{memory}. I don't save anything"
    " else that is said here.\n\n"
    "Who can see it: everyone here, because I use it to answer all of you, and the people who run me; no other chat."
    " What you tell me in private never appears here. /memory, /forget and /undo are for this group's administrators"
    " and for my owner."
)
_MEMORY = N_(", and the facts and wishes that I learn from them")
_GIVEN = "given"


class Introductions:
    """Introduces the bot to groups, and remembers to which.

    Args:
        remembers: whether memory is on.
    """

    def __init__(
        self,
        bot: PollingBot,
        outbox: OutboxSender,
        published: MenuCache,
        sessions: SessionService,
        languages: Languages,
        *,
        remembers: bool,
    ) -> None:
        self._bot = bot
        self._outbox = outbox
        self._published = published
        self._sessions = sessions
        self._languages = languages
        self._remembers = remembers
        self._known: set[str] = set()

    async def introduce(self, address: Address) -> None:
        """Introduce the bot in the current language. Raises StoreError."""
        me = self._bot.bot
        memory = _(_MEMORY) if self._remembers else ""
        text = _(_INTRODUCTION, name=me.first_name, username=me.username, memory=memory)
        await self._outbox.mailbox.outbox.answer(address.session_id, OutgoingReply(CHANNEL, text))
        self._outbox.hurry(address.session_id)
        self._known.add(address.chat_id)
        await self._published.store(make_introduction_key(address.chat_id), _GIVEN)

    async def introduce_at_first_message(self, message: IncomingMessage) -> None:
        """Introduce the bot to a group that didn't admit it yet when it was added. Does nothing on a full disk."""
        address = message.arrival.address
        if message.private or message.press is not None or address.chat_id in self._known:
            return
        try:
            if not await self._is_known(address):
                with use_language(await self._languages.choose(message.arrival)):
                    await self.introduce(address)
        except StoreError as error:
            log.warning("introduction_not_sent", reason=error.loggable)
        else:
            self._known.add(address.chat_id)

    async def _is_known(self, address: Address) -> bool:
        # Earlier versions didn't store introductions, but a group with sessions has used the bot
        given = await self._published.has_any(make_introduction_key(address.chat_id))
        return given or await self._sessions.has_chat(address)


def make_introduction_key(chat_id: str) -> str:
    return f"introduction/{chat_id}"
