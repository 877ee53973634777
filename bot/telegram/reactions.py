"""A message that waits behind a running turn shows that it was seen, by a reaction that goes when its turn begins."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import structlog
from telegram import ReactionTypeEmoji
from telegram.constants import ReactionEmoji
from telegram.error import BadRequest, RetryAfter, TelegramError

from bot.telegram.calls import chat_of
from bot.telegram.pace import Pace
from memory.errors import StoreError
from memory.log.sessions import Address

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from telegram import Bot

    from memory.service.mailbox import Mailbox
    from pipeline.arrival import Arrival

log = structlog.get_logger(__name__)

DELAY = 1.0
"""Seconds that a message waits before that is shown: most turns are over sooner."""
MOST_SHOWN = 50
"""Messages that show it at a time."""
GROUP_PACE = 1 / 20
"""How often a second it is shown in one group: the library counts it among the 20 messages a minute that a group may
see, which are for the replies."""
CROWDED_PAUSE = 0.5
"""Seconds until a reaction that there was no room to take away is tried again."""


class Reactions:
    """Reacts to messages that wait. Only for show: what goes wrong is ignored, and what there is no room for is left.

    What stands in a chat is kept in the store, so that the next start takes away what a kill left.
    """

    def __init__(self, bot: Bot, mailbox: Mailbox, pace: Pace) -> None:
        self._bot = bot
        self._mailbox = mailbox
        self._pace = pace
        self._group_paces: dict[int, Pace] = {}
        self._refusing: set[int] = set()
        self._begun: dict[tuple[str, str], asyncio.Event] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Take away what an earlier run left: its messages are taken up now."""
        for session_id, message_id in await self._mailbox.reactions():
            self._begin(self._take_away(session_id, message_id))

    def waits(self, arrival: Arrival) -> None:
        """A message begins to wait behind a turn."""
        # what is pressed is no message, and of an album Telegram shows the reaction to the first message only
        if arrival.message_id is None or arrival.pressed:
            return
        key = _key(arrival)
        if key not in self._begun and len(self._begun) < MOST_SHOWN:
            self._begun[key] = asyncio.Event()
            self._begin(self._show(arrival.address.session_id, arrival.message_id, self._begun[key]))

    def begins(self, arrival: Arrival) -> None:
        """The turn of a message begins, if it has waited for it."""
        if (begun := self._begun.pop(_key(arrival), None)) is not None:
            begun.set()

    async def close(self) -> None:
        """Show nothing more; what stands in the chats is taken away by the next start."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work, name="reaction")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _show(self, session_id: str, message_id: str, begun: asyncio.Event) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DELAY):
                await begun.wait()
        chat = chat_of(Address.of(session_id))
        if begun.is_set() or chat in self._refusing or not self._room_in(chat):
            return
        await self._turn_to_show()
        if begun.is_set():
            return
        with contextlib.suppress(StoreError):
            # first, so that a kill leaves nothing that nobody knows of
            await self._mailbox.keep_reaction(session_id, message_id)
            if await self._react(chat, message_id, ReactionEmoji.EYES):
                await begun.wait()
                await self._take_away(session_id, message_id)
            else:
                await self._mailbox.drop_reaction(session_id, message_id)

    def _room_in(self, chat: int) -> bool:
        """Whether a group may see one more reaction now; a private chat always."""
        return chat > 0 or self._group_paces.setdefault(chat, Pace(GROUP_PACE)).allows()

    async def _turn_to_show(self) -> None:
        """Wait for room among all that is for show."""
        while not self._pace.allows():  # noqa: ASYNC110  # nothing tells when there is room
            await asyncio.sleep(CROWDED_PAUSE)

    async def _take_away(self, session_id: str, message_id: str) -> None:
        await self._turn_to_show()
        await self._react(chat_of(Address.of(session_id)), message_id, None)
        with contextlib.suppress(StoreError):
            await self._mailbox.drop_reaction(session_id, message_id)

    async def _react(self, chat: int, message_id: str, emoji: str | None) -> bool:
        """Whether the reaction may stand there now."""
        try:
            await self._bot.set_message_reaction(chat, int(message_id), ReactionTypeEmoji(emoji) if emoji else None)
        except TelegramError as error:
            log.debug("reaction_failed", reason=str(error))
            if isinstance(error, BadRequest) and emoji:  # most likely the chat takes none: it is not asked again
                self._refusing.add(chat)
            return not isinstance(error, BadRequest | RetryAfter)
        return True


def _key(arrival: Arrival) -> tuple[str, str]:
    return arrival.address.session_id, f"album {arrival.album}" if arrival.album else arrival.message_id or ""
