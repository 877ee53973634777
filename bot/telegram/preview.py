"""What a person sees until an answer is there: a reaction while it waits, then a draft, or a message that is edited."""

from __future__ import annotations

import asyncio
import contextlib
import math
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import structlog
from telegram import ReactionTypeEmoji
from telegram.constants import ReactionEmoji
from telegram.error import BadRequest, InvalidToken, RetryAfter, TelegramError

from bot.telegram.calls import SendFailed, chat_of, edit_chunk, explained, in_doubt, send_part, thread_of
from bot.telegram.features import Feature, is_ephemeral
from bot.telegram.rendering import LONGEST_TEXT, ending, render
from config.waiting import wait_at_most
from memory.errors import StoreError
from memory.log.sessions import Address

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from telegram import Bot

    from bot.tasks import BackgroundTasks
    from bot.telegram.features import ServerFeatures
    from bot.telegram.rendering import Chunk
    from memory.mail.mailbox import Mailbox
    from pipeline.arrival import Arrival

    Keep = Callable[[str], Awaitable[None]]

log = structlog.get_logger(__name__)

SHOWS_PER_SECOND = 10
"""Previews and typing of all chats together; Telegram takes some 30 messages a second from a bot."""

DRAFT_PAUSE = 0.7
"""Seconds between two drafts in a private chat."""
DRAFT_CHARACTERS = 3_000
"""So much of the end of a long answer is shown while it is written."""
EDIT_PAUSE = 5.0
"""Seconds between two edits in a group, which may see 20 messages a minute: some are left for the replies."""
CROWDED_PAUSE = 0.2
"""Seconds until what there was no room to show is tried again."""
FIRST_EDIT_CHARACTERS = 40
"""A message that will be edited is sent once there is this much to read."""

DELAY = 1.0
"""Seconds that a message waits before that is shown: most turns are over sooner."""
MOST_SHOWN = 50
"""Messages that show it at a time."""
GROUP_PACE = 1 / 20
"""How often a second it is shown in one group: the library counts it among the 20 messages a minute that a group may
see, which are for the replies."""


class Pace:
    """Allows so many shows a second, spread evenly. What it does not allow now is dropped, or asked for again later."""

    def __init__(self, per_second: float = SHOWS_PER_SECOND, now: Callable[[], float] = time.monotonic) -> None:
        self._gap = 1 / per_second
        self._now = now
        self._next = now()

    def allows(self) -> bool:
        """Whether something may be shown now; then it counts as shown."""
        now = self._now()
        if now < self._next:
            return False
        self._next = max(self._next + self._gap, now)
        return True


@dataclass(eq=False)
class Preview:
    """The preview of one answer. It shows the newest text as often as the chat allows and drops the rest.

    reply_to: the message that it answers, in a group; None in a private chat, where it is a draft.
    keep: is told the id of the message that was sent for it. message_id: that one's, or that of a run that was killed.
    shows: what stands there, as far as that is certain.
    """

    bot: Bot
    address: Address
    pace: Pace
    features: ServerFeatures
    reply_to: str | None
    keep: Keep | None = None
    message_id: str | None = None
    shows: Chunk | None = None
    _draft_id: int = field(default_factory=lambda: secrets.randbelow(2**31 - 1) + 1, init=False)
    _newest: str = field(default="", init=False)
    _shown: str = field(default="", init=False)
    _shown_at: float = field(default=-math.inf, init=False)
    _changed: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _task: asyncio.Task[None] | None = field(default=None, init=False)
    _first: asyncio.Task[str] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._drafts = self.reply_to is None and self.features.may_use(Feature.DRAFTS)

    def show(self, text: str) -> None:
        """Show `text` as soon as the pace allows."""
        self._newest = text
        self._changed.set()
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="preview")

    def shown_within(self, seconds: float) -> bool:
        """Whether anything was shown in the last so many seconds."""
        return asyncio.get_running_loop().time() - self._shown_at < seconds

    async def close(self) -> None:
        """Show nothing more. Afterwards `message_id` names the message to turn into the reply, if there is one."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        if self._first is not None and self.message_id is None:
            # on its way when the preview ended: it will stand in the chat, so it must become the reply
            with contextlib.suppress(SendFailed):
                self.message_id = await self._first

    async def _run(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            pause = DRAFT_PAUSE if self._drafts else EDIT_PAUSE
            if self._newest != self._shown and not self.pace.allows():
                self._changed.set()  # with what is newest then
                pause = CROWDED_PAUSE
            elif self._newest != self._shown:
                try:
                    await self._show_once(self._newest)
                except (TelegramError, SendFailed) as error:
                    if isinstance(error, SendFailed) and error.moved_to is not None:
                        return  # the turn begins anew where its group is now
                    if self._first is not None and self.message_id is None and in_doubt(error):
                        return  # it may stand in the chat: a second one beside it would be worse than none
                    pause = max(pause, await self._pause_after(error))
            await asyncio.sleep(pause)

    async def _show_once(self, text: str) -> None:
        # a draft goes away, so it shows where the answer has got to; a message stays as the answer's beginning
        visible = ending(text, DRAFT_CHARACTERS) if self._drafts else text[:LONGEST_TEXT]
        chunks = await asyncio.to_thread(render, visible)
        if not chunks:
            return
        chunk = chunks[-1 if self._drafts else 0]
        if self._drafts:
            await self.bot.send_message_draft(
                chat_of(self.address),
                self._draft_id,
                chunk.text,
                entities=chunk.entities,
                message_thread_id=thread_of(self.address),
                # what is read stays until the stopped answer takes its place; older servers pass over both
                api_kwargs={"can_stop": True, "keep_on_stop": True},
            )
        elif self.message_id is not None:
            self.shows = None  # nobody knows, where this is cancelled on its way
            await edit_chunk(self.bot, self.address, self.message_id, chunk)
            self.shows = chunk
        elif len(chunk.text) >= FIRST_EDIT_CHARACTERS:
            # a task of its own: were it cancelled on its way, nobody would know the message that must become the reply
            self._first = asyncio.create_task(self._send_first(chunk), name="first preview")
            self.message_id = await asyncio.shield(self._first)
            self.shows = chunk
        self._shown = text
        self._shown_at = asyncio.get_running_loop().time()

    async def _send_first(self, chunk: Chunk) -> str:
        message_id = await send_part(self.bot, self.address, chunk, self.reply_to)
        if self.keep is not None:
            await self.keep(message_id)
        return message_id

    async def _pause_after(self, error: TelegramError | SendFailed) -> float:
        """How long to wait after a preview failed: previews are for show, so they are dropped, never insisted on."""
        if isinstance(error, RetryAfter):
            return explained(error).pause
        log.debug("preview_failed", reason=str(error))
        if self._drafts and isinstance(error, TelegramError) and not isinstance(error, RetryAfter):
            # an older Bot API server has no drafts
            self._drafts = "not found" not in str(error).lower()
            if isinstance(error, InvalidToken):  # what is said of a method that there is none of
                await self.features.record_missing(self.bot, Feature.DRAFTS)
        return error.pause if isinstance(error, SendFailed) else 0


class Reactions:
    """Reacts to messages that wait. Only for show: what goes wrong is ignored, and what there is no room for is left.

    What stands in a chat is kept in the store, so that the next start takes away what is left when this one ends.
    """

    def __init__(self, bot: Bot, mailbox: Mailbox, pace: Pace, tasks: BackgroundTasks) -> None:
        self._bot = bot
        self._mailbox = mailbox
        self._pace = pace
        self._group_paces: dict[int, Pace] = {}
        self._refusing: set[int] = set()
        self._begun: dict[tuple[str, str], asyncio.Event] = {}
        self._tasks = tasks

    async def start(self) -> None:
        """Take away what an earlier run left: its messages are taken up now."""
        for session_id, message_id in await self._mailbox.reactions():
            self._tasks.start(self._take_away(session_id, message_id), "reaction")

    def waits(self, arrival: Arrival) -> None:
        # what is pressed is no message, and of an album Telegram shows the reaction to the first message only
        if arrival.message_id is None or arrival.pressed or is_ephemeral(arrival.message_id):
            return
        key = _key(arrival)
        if key not in self._begun and len(self._begun) < MOST_SHOWN:
            self._begun[key] = asyncio.Event()
            self._tasks.start(self._show(arrival.address.session_id, arrival.message_id, self._begun[key]), "reaction")

    def begins(self, arrival: Arrival) -> None:
        """The turn of a message begins, if it has waited for it."""
        if (event := self._begun.pop(_key(arrival), None)) is not None:
            event.set()

    async def _show(self, session_id: str, message_id: str, event: asyncio.Event) -> None:
        await wait_at_most(event, DELAY)
        chat = chat_of(Address.of(session_id))
        if event.is_set() or chat in self._refusing:
            return
        if chat < 0 and not self._group_paces.setdefault(chat, Pace(GROUP_PACE)).allows():  # a private chat has room
            return
        await self._turn_to_show()
        if event.is_set():
            return
        with contextlib.suppress(StoreError):
            # first, so that a kill leaves nothing that nobody knows of
            await self._mailbox.keep_reaction(session_id, message_id)
            if await self._react(chat, message_id, ReactionEmoji.EYES):
                await event.wait()
                await self._take_away(session_id, message_id)
            else:
                await self._mailbox.drop_reaction(session_id, message_id)

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
