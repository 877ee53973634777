"""The Telegram channel: from the sessions to the outbox, and what a chat shows meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import structlog
from telegram.constants import ChatAction
from telegram.error import TelegramError

from bot.telegram import CHANNEL
from bot.telegram.calls import SendFailed, chat_of, edit_chunk, send_part, thread_of
from bot.telegram.preview import Pace, Preview, Reactions
from bot.telegram.rendering import Chunk, captioned, laid_out, render
from config.texts import N_, _, use_language
from memory.errors import StoreError
from memory.store.button_rows import OutgoingReply
from pipeline.arrival import ReplyChannel, inbox_ids

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from telegram import Bot

    from bot.tasks import BackgroundTasks
    from bot.telegram.access import AccessControl
    from bot.telegram.outbox import OutboxSender
    from bot.telegram.rendering import Part
    from bot.telegram.speech import VoiceMessages
    from memory.buttons import Keyboard
    from memory.mail.mailbox import Mailbox
    from memory.messages import Document
    from pipeline.arrival import Arrival

log = structlog.get_logger(__name__)

TYPING_PAUSE = 4.5
"""Telegram shows a chat action for 5 seconds."""
TYPING_DELAY = 0.7
"""Seconds in which an answer may begin before the bot is shown as typing: a draft that moves shows that by itself."""

GOODBYE_PATIENCE = 3.0
"""Seconds that a stop waits until those whose answers it broke off have been told."""
_BROKEN_OFF = N_("I have to restart. Your message is safe: I'll answer it when I'm back.")


class TelegramChannel:
    """Gives replies to the outbox, and shows meanwhile what goes on."""

    def __init__(
        self,
        bot: Bot,
        mailbox: Mailbox,
        outbox: OutboxSender,
        door: AccessControl,
        voice: VoiceMessages,
        tasks: BackgroundTasks,
    ) -> None:
        self._bot = bot
        self._voice = voice
        self._tasks = tasks
        self._door = door
        self.mailbox = mailbox
        self.outbox = outbox
        self._previews: WeakValueDictionary[str, Preview] = WeakValueDictionary()
        self._pace = Pace()
        self._reactions = Reactions(bot, mailbox, self._pace, tasks)
        self._left: dict[str, str] = {}
        self.shown: set[int] = set()
        """Inbox ids whose answer was shown and could not be committed: they are only still to be marked as done."""

    async def start(self) -> None:
        """Learn of the previews that an earlier run left in the chats: its turns' new answers grow out of them."""
        self._left = await self.mailbox.previews()
        await self._reactions.start()

    def reply_channel(self, arrivals: list[Arrival]) -> ReplyChannel:
        arrival = arrivals[-1]
        session_id = arrival.address.session_id

        async def keep(message_id: str) -> None:
            # what can't be kept now only stands twice if the process is killed before the turn ends
            with contextlib.suppress(StoreError):
                await self.mailbox.keep_preview(session_id, message_id)

        # what was pressed to have it tried again, or what a kill left of the same answer, becomes the reply
        remaining = arrival.replaces or self._left.pop(session_id, None)
        preview = Preview(self._bot, arrival.address, self._pace, arrival.reply_to, keep, remaining)
        self._previews[session_id] = preview
        return _TelegramReply(self, arrivals, preview)

    async def say(self, arrival: Arrival, text: str, keyboard: Keyboard = (), document: Document | None = None) -> None:
        """Answer an arrival without a turn: through the outbox, or past it where that can't be written."""
        if not await self._put_out(arrival, text, keyboard, document, inbox_ids=inbox_ids([arrival])):
            parts = await laid_out(text) if document is None else await captioned(text, document)
            await self.show_uncommitted([arrival], parts, arrival.replaces)

    async def ask(self, arrival: Arrival, question: str, keyboard: Keyboard) -> bool:
        """Put a question beside the turn of an arrival; whether it could be kept to be sent."""
        return await self._put_out(replace(arrival, replaces=None), question, keyboard)

    async def _put_out(
        self,
        arrival: Arrival,
        text: str,
        keyboard: Keyboard,
        document: Document | None = None,
        inbox_ids: Sequence[int] = (),
    ) -> bool:
        """Have the outbox send a text that belongs to no turn; whether it could be written."""
        session_id = arrival.address.session_id
        try:
            await self.mailbox.answer(
                session_id,
                text,
                inbox_ids=inbox_ids,
                reply_to=arrival.reply_to,
                replaces=arrival.replaces,
                keyboard=keyboard,
                asker=arrival.asker,
                document=document,
            )
        except StoreError as error:
            log.warning("answer_not_kept", reason=error.loggable)
            return False
        self.outbox.hurry(session_id)
        return True

    async def may_manage(self, arrival: Arrival) -> bool:
        """In a group its administrators and the owner; in a private chat whoever it is with."""
        return await self._door.may_manage(arrival)

    async def is_owner(self, arrival: Arrival) -> bool:
        """Who has claimed the bot, or stands in TELEGRAM_ALLOWED_IDS."""
        return await self._door.is_owner(int(arrival.speaker_id or 0))

    def waits(self, arrival: Arrival) -> None:
        """Show that a message is seen which waits for its turn."""
        self._reactions.waits(arrival)

    def begins(self, arrival: Arrival) -> None:
        """That its turn begins, the typing shows."""
        self._reactions.begins(arrival)

    def speak(self, arrivals: list[Arrival], answer: str) -> None:
        """Send the answer to some arrivals as a voice message as well, where that is wanted."""
        if self._voice.wants(arrivals):
            self._tasks.start(self._voice.send(arrivals[-1], answer), "speech")

    async def count_attempt(self, arrivals: list[Arrival]) -> None:
        # what can't be counted, as on a full disk, is worked on all the same
        with contextlib.suppress(StoreError):
            await self.mailbox.count_attempt(inbox_ids(arrivals))

    async def hold(self, arrivals: list[Arrival]) -> None:
        await self.mailbox.hold(inbox_ids(arrivals))

    async def interrupted(self, arrivals: list[Arrival]) -> None:
        """Tell those whose messages the inbox still holds. Past the outbox: it is no news after the next start."""
        try:
            async with asyncio.timeout(GOODBYE_PATIENCE):
                waiting_ids = {item.id for item in await self.mailbox.waiting()}
                waiting = [a for a in arrivals if a.inbox_id in waiting_ids]
                await asyncio.gather(*map(self._break_off, waiting), return_exceptions=True)
        except (TimeoutError, StoreError) as error:
            log.warning("goodbye_not_said", reason=str(error) or "Telegram did not answer in time")

    async def _break_off(self, arrival: Arrival) -> None:
        with use_language(arrival.language):
            await send_part(self._bot, arrival.address, render(_(_BROKEN_OFF))[0], arrival.reply_to)

    @contextlib.asynccontextmanager
    async def busy(self, arrival: Arrival) -> AsyncIterator[None]:
        """Show that the bot types, while nothing else does."""
        if arrival.task is not None:  # nobody waits for it, and a draft would come with a sound
            yield
            return
        typing = asyncio.create_task(self._typing(arrival), name="typing")
        try:
            yield
        finally:
            typing.cancel()

    async def _typing(self, arrival: Arrival) -> None:
        await asyncio.sleep(TYPING_DELAY)
        while True:
            preview = self._previews.get(arrival.address.session_id)
            if (preview is None or not preview.shown_within(TYPING_PAUSE)) and self._pace.allows():
                with contextlib.suppress(TelegramError):
                    await self._bot.send_chat_action(
                        chat_of(arrival.address), ChatAction.TYPING, message_thread_id=thread_of(arrival.address)
                    )
            await asyncio.sleep(TYPING_PAUSE)

    async def show_uncommitted(self, arrivals: list[Arrival], parts: Sequence[Part], preview_id: str | None) -> bool:
        """Send a text past the outbox; once it is confirmed its arrivals are answered. Whether it is."""
        address, reply_to = arrivals[-1].address, arrivals[-1].reply_to
        try:
            for number, part in enumerate(parts):
                if number == 0 and preview_id is not None and isinstance(part, Chunk):
                    await edit_chunk(self._bot, address, preview_id, part)
                else:
                    await send_part(self._bot, address, part, reply_to if number == 0 else None)
        except SendFailed as failure:
            log.warning("reply_not_shown", reason=failure.reason)
            return False
        self.shown.update(inbox_ids(arrivals))
        return True


class _TelegramReply(ReplyChannel):
    """The reply to one turn. What else is awaited before its first word, `busy` shows by typing."""

    def __init__(self, channel: TelegramChannel, arrivals: list[Arrival], preview: Preview) -> None:
        self._channel = channel
        self._arrivals = arrivals
        self._preview = preview

    async def show_text(self, text: str) -> None:
        """Show the answer so far, where somebody waits for it."""
        if self._arrivals[-1].task is None:
            self._preview.show(text)

    async def show_tool(self, name: str) -> None:
        if self._arrivals[-1].task is None:
            self._preview.show(f"_{name} …_")

    async def ask(self, question: str, keyboard: Keyboard) -> bool:
        """Ask below what is shown; a press or a command answers."""
        return await self._channel.ask(self._arrivals[-1], question, keyboard)

    async def outgoing(self, text: str, keyboard: Keyboard) -> OutgoingReply | None:
        """The reply for the outbox, if there is any. The preview ends here; what it leaves behind becomes the reply."""
        await self._preview.close()
        with contextlib.suppress(StoreError):
            # what could not be written when it came, before it is said to be answered
            await self._channel.mailbox.keep()
        if not text and self._preview.message_id is None:
            return None
        last = self._arrivals[-1]
        preview = self._preview
        if preview.message_id is not None and preview.shows is not None:  # the reply may say no more than that
            self._channel.outbox.shown[last.address.session_id] = preview.message_id, preview.shows
        return OutgoingReply(
            CHANNEL, text, last.reply_to, preview.message_id, keyboard, last.asker, silent=last.is_quiet
        )

    async def deliver_uncommitted(self, text: str) -> bool:
        """Send past the outbox, which can't be written."""
        await self._preview.close()
        return await self._channel.show_uncommitted(self._arrivals, await laid_out(text), self._preview.message_id)

    async def deliver(self, text: str) -> None:
        self._channel.mailbox.finished(inbox_ids(self._arrivals))
        self._channel.outbox.kick(self._arrivals[-1].address.session_id)

    async def speak(self, answer: str) -> None:
        self._channel.speak(self._arrivals, answer)
