"""Previews: a reaction while a message waits, then drafts or an edited message until the answer is complete."""

from __future__ import annotations

import asyncio
import contextlib
import math
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import structlog
from telegram import Bot, ReactionTypeEmoji
from telegram.constants import ReactionEmoji
from telegram.error import BadRequest, InvalidToken, RetryAfter, TelegramError

from bot.tasks import BackgroundTasks
from bot.telegram.calls import edit_chunk, get_chat_id, get_thread_id, send_part
from bot.telegram.failures import SendFailed, is_doubtful, to_send_failure
from bot.telegram.features import Feature, ServerFeatures, is_ephemeral
from bot.telegram.rendering import MAX_TEXT_UNITS, Chunk, render, take_end
from config.waiting import wait_at_most
from memory.errors import StoreError
from memory.log.sessions import Address
from memory.mail.mailbox import Mailbox
from pipeline.arrival import Arrival

Keep = Callable[[str], Awaitable[None]]

log = structlog.get_logger(__name__)

MAX_PREVIEWS_PER_SECOND = 10
"""Maximum rate of previews and typing in all chats. Telegram accepts about 30 messages a second from a bot."""

DRAFT_INTERVAL_SECONDS = 0.7
MAX_DRAFT_CHARS = 3_000
"""Number of characters that a draft shows of the end of a long answer."""
EDIT_INTERVAL_SECONDS = 5.0
"""Interval of edits in a group, where Telegram allows 20 messages a minute, including replies."""
RETRY_SECONDS = 0.2
MIN_FIRST_EDIT_CHARS = 40
"""Minimum number of characters of the first message that will be edited."""

REACTION_DELAY_SECONDS = 1.0
"""Seconds before a waiting message gets a reaction. Most turns are over sooner."""
MAX_REACTIONS = 50
MAX_GROUP_REACTIONS_PER_SECOND = 1 / 20
"""Maximum rate of reactions in one group. The library counts them among the 20 messages a minute of the group."""


class Pace:
    """Rate limiter that spreads previews evenly. The caller drops or repeats what it doesn't allow."""

    def __init__(self, per_second: float = MAX_PREVIEWS_PER_SECOND, now: Callable[[], float] = time.monotonic) -> None:
        self._gap = 1 / per_second
        self._now = now
        self._next = now()

    def allows(self) -> bool:
        """Return True and count a preview if it is allowed now."""
        now = self._now()
        if now < self._next:
            return False
        self._next = max(self._next + self._gap, now)
        return True


@dataclass(eq=False)
class Preview:
    """The preview of one answer. It shows the newest text as often as the chat allows.

    Args:
        reply_to: in a group, the message that it answers. None in a private chat, where previews are drafts.
        keep: called with the id of the message that was sent as the preview.
        message_id: the message that shows the preview, possibly from an interrupted run.
        shows: the content of that message, or None if uncertain.
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
        self._drafts = self.reply_to is None and self.features.can_use(Feature.DRAFTS)

    def show(self, text: str) -> None:
        self._newest = text
        self._changed.set()
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="preview")

    def was_shown_within(self, seconds: float) -> bool:
        return asyncio.get_running_loop().time() - self._shown_at < seconds

    async def close(self) -> None:
        """End the preview. Afterwards `message_id` is the message to turn into the reply, if there is one."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        if self._first is not None and self.message_id is None:
            # It is being sent and will appear in the chat, so it must become the reply
            with contextlib.suppress(SendFailed):
                self.message_id = await self._first

    async def _run(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            pause = DRAFT_INTERVAL_SECONDS if self._drafts else EDIT_INTERVAL_SECONDS
            if self._newest != self._shown and not self.pace.allows():
                self._changed.set()
                pause = RETRY_SECONDS
            elif self._newest != self._shown:
                try:
                    await self._show_once(self._newest)
                except (TelegramError, SendFailed) as error:
                    if isinstance(error, SendFailed) and error.moved_to is not None:
                        return  # The turn starts again in the group's new chat
                    if self._first is not None and self.message_id is None and is_doubtful(error):
                        return  # It may have arrived, and a second preview would be worse than none
                    pause = max(pause, await self._pause_after(error))
            await asyncio.sleep(pause)

    async def _show_once(self, text: str) -> None:
        # A draft disappears, so it shows the end of the text. A message becomes the beginning of the answer
        visible = take_end(text, MAX_DRAFT_CHARS) if self._drafts else text[:MAX_TEXT_UNITS]
        chunks = await asyncio.to_thread(render, visible)
        if not chunks:
            return
        chunk = chunks[-1 if self._drafts else 0]
        if self._drafts:
            await self.bot.send_message_draft(
                get_chat_id(self.address),
                self._draft_id,
                chunk.text,
                entities=chunk.entities,
                message_thread_id=get_thread_id(self.address),
                # The text stays visible until the stopped answer replaces it. Older servers ignore both
                api_kwargs={"can_stop": True, "keep_on_stop": True},
            )
        elif self.message_id is not None:
            self.shows = None  # Uncertain if this is cancelled
            await edit_chunk(self.bot, self.address, self.message_id, chunk)
            self.shows = chunk
        elif len(chunk.text) >= MIN_FIRST_EDIT_CHARS:
            # In a separate task: if sending was cancelled, the id of the message would be lost
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
        """Return the pause after a failed preview. It is not repeated."""
        if isinstance(error, RetryAfter):
            return to_send_failure(error).pause
        log.debug("preview_failed", reason=str(error))
        if self._drafts and isinstance(error, TelegramError) and not isinstance(error, RetryAfter):
            # Older Bot API servers have no drafts
            self._drafts = "not found" not in str(error).lower()
            if isinstance(error, InvalidToken):  # The library's error for an unknown method
                await self.features.record_missing(self.bot, Feature.DRAFTS)
        return error.pause if isinstance(error, SendFailed) else 0


class Reactions:
    """Shows reactions on waiting messages. Failures are ignored, and reactions over the rate limit are dropped.

    Reactions are stored, so that the next start removes those that this run leaves.
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
        for session_id, message_id in await self._mailbox.signs.list_reactions():
            self._tasks.start(self._remove(session_id, message_id), "reaction")

    def show_waiting(self, arrival: Arrival) -> None:
        # A press is no message, and Telegram shows reactions only on the first message of an album
        if arrival.message_id is None or arrival.pressed or is_ephemeral(arrival.message_id):
            return
        key = _make_key(arrival)
        if key not in self._begun and len(self._begun) < MAX_REACTIONS:
            self._begun[key] = asyncio.Event()
            self._tasks.start(self._show(arrival.address.session_id, arrival.message_id, self._begun[key]), "reaction")

    def hide_waiting(self, arrival: Arrival) -> None:
        """Remove the reaction, since the turn of the message starts."""
        if (event := self._begun.pop(_make_key(arrival), None)) is not None:
            event.set()

    async def _show(self, session_id: str, message_id: str, event: asyncio.Event) -> None:
        await wait_at_most(event, REACTION_DELAY_SECONDS)
        chat = get_chat_id(Address.parse(session_id))
        if event.is_set() or chat in self._refusing:
            return
        if chat < 0 and not self._group_paces.setdefault(chat, Pace(MAX_GROUP_REACTIONS_PER_SECOND)).allows():
            return
        await self._wait_for_room()
        if event.is_set():
            return
        with contextlib.suppress(StoreError):
            # Store it first, so that a crash leaves no unknown reaction
            await self._mailbox.signs.store_reaction(session_id, message_id)
            if await self._react(chat, message_id, ReactionEmoji.EYES):
                await event.wait()
                await self._remove(session_id, message_id)
            else:
                await self._mailbox.signs.drop_reaction(session_id, message_id)

    async def _wait_for_room(self) -> None:
        while not self._pace.allows():  # noqa: ASYNC110  # No event signals that there is room
            await asyncio.sleep(RETRY_SECONDS)

    async def _remove(self, session_id: str, message_id: str) -> None:
        await self._wait_for_room()
        await self._react(get_chat_id(Address.parse(session_id)), message_id, None)
        with contextlib.suppress(StoreError):
            await self._mailbox.signs.drop_reaction(session_id, message_id)

    async def _react(self, chat: int, message_id: str, emoji: str | None) -> bool:
        """Set or remove a reaction. Return True if the message may show it now."""
        try:
            await self._bot.set_message_reaction(chat, int(message_id), ReactionTypeEmoji(emoji) if emoji else None)
        except TelegramError as error:
            log.debug("reaction_failed", reason=str(error))
            if isinstance(error, BadRequest) and emoji:  # The chat probably forbids reactions
                self._refusing.add(chat)
            return not isinstance(error, BadRequest | RetryAfter)
        return True


def _make_key(arrival: Arrival) -> tuple[str, str]:
    return arrival.address.session_id, f"album {arrival.album}" if arrival.album else arrival.message_id or ""
