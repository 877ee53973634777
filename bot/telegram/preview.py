"""What a person sees while an answer is written: a draft, or where there are none a message that is edited."""

from __future__ import annotations

import asyncio
import contextlib
import math
import secrets
from typing import TYPE_CHECKING

import structlog
from telegram.error import RetryAfter, TelegramError

from bot.telegram.calls import SendFailed, chat_of, edit_chunk, explained, in_doubt, send_chunk, thread_of
from bot.telegram.rendering import LONGEST_TEXT, ending, render

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from telegram import Bot

    from bot.telegram.pace import Pace
    from bot.telegram.rendering import Chunk
    from memory.log.sessions import Address

    Keep = Callable[[str], Awaitable[None]]

log = structlog.get_logger(__name__)

DRAFT_PAUSE = 0.7
"""Seconds between two drafts in a private chat."""
DRAFT_CHARACTERS = 3_000
"""So much of the end of a long answer is shown while it is written."""
EDIT_PAUSE = 5.0
"""Seconds between two edits in a group, which may see 20 messages a minute: some are left for the replies."""
CROWDED_PAUSE = 0.2
"""Seconds until a preview for which there was no room tries again."""
FIRST_EDIT_CHARACTERS = 40
"""A message that will be edited is sent once there is this much to read."""


class Preview:
    """The preview of one answer. It shows the newest text as often as the chat allows and drops the rest.

    reply_to: the message that it answers, in a group; None in a private chat, where it is a draft.
    keep: is told the id of the message that was sent for it. left: such a message of a run that was killed.
    """

    def __init__(
        self,
        bot: Bot,
        address: Address,
        pace: Pace,
        *,
        reply_to: str | None,
        keep: Keep | None = None,
        left: str | None = None,
    ) -> None:
        self._bot = bot
        self._address = address
        self._pace = pace
        self._reply_to = reply_to
        self._drafts = reply_to is None
        self._draft_id = secrets.randbelow(2**31 - 1) + 1
        self._newest = ""
        self._shown = ""
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._first: asyncio.Task[str] | None = None
        self._shown_at = -math.inf
        self._keep = keep
        self.message_id = left

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
            if self._newest != self._shown and not self._pace.allows():
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
                    pause = max(pause, self._pause_after(error))
            await asyncio.sleep(pause)

    async def _show_once(self, text: str) -> None:
        # a draft goes away, so it shows where the answer has got to; a message stays as the answer's beginning
        shown = ending(text, DRAFT_CHARACTERS) if self._drafts else text[:LONGEST_TEXT]
        chunks = await asyncio.to_thread(render, shown)
        if not chunks:
            return
        chunk = chunks[-1 if self._drafts else 0]
        if self._drafts:
            await self._bot.send_message_draft(
                chat_of(self._address),
                self._draft_id,
                chunk.text,
                entities=chunk.entities,
                message_thread_id=thread_of(self._address),
            )
        elif self.message_id is not None:
            await edit_chunk(self._bot, self._address, self.message_id, chunk)
        elif len(chunk.text) >= FIRST_EDIT_CHARACTERS:
            # a task of its own: were it cancelled on its way, nobody would know the message that must become the reply
            self._first = asyncio.create_task(self._send_first(chunk), name="first preview")
            self.message_id = await asyncio.shield(self._first)
        self._shown = text
        self._shown_at = asyncio.get_running_loop().time()

    async def _send_first(self, chunk: Chunk) -> str:
        message_id = await send_chunk(self._bot, self._address, chunk, self._reply_to)
        if self._keep is not None:
            await self._keep(message_id)
        return message_id

    def _pause_after(self, error: TelegramError | SendFailed) -> float:
        """How long to wait after a preview failed: previews are for show, so they are dropped, never insisted on."""
        if isinstance(error, RetryAfter):
            return explained(error).pause
        log.debug("preview_failed", reason=str(error))
        if self._drafts and isinstance(error, TelegramError) and not isinstance(error, RetryAfter):
            # an older Bot API server has no drafts
            self._drafts = "not found" not in str(error).lower()
        return error.pause if isinstance(error, SendFailed) else 0
