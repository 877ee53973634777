"""The Telegram channel: from the inbox to the sessions, and from the sessions to the outbox."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import structlog
from telegram.constants import ChatAction
from telegram.error import TelegramError

from bot.telegram.calls import SendFailed, chat_of, send_chunk, thread_of
from bot.telegram.preview import Preview
from bot.telegram.rendering import render
from bot.telegram.updates import CHANNEL, letter_of, read_update, write_update
from memory.errors import StoreError
from memory.log.turn_log import OutgoingReply
from memory.service.mailbox import Received

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from telegram import Bot, Update, User

    from bot.chat.session_runner import SessionRunner
    from bot.telegram.door import Door
    from bot.telegram.outbox import OutboxSender
    from bot.telegram.updates import Letter
    from memory.service.mailbox import InboxItem, Mailbox
    from pipeline.arrival import Arrival, ReplyChannel

log = structlog.get_logger(__name__)

TYPING_PAUSE = 4.5
"""Telegram shows a chat action for 5 seconds."""
TYPING_DELAY = 0.7
"""Seconds in which an answer may begin before the bot is shown as typing: a draft that moves shows that by itself."""

GOODBYE_PATIENCE = 3.0
"""Seconds that a stop waits until those whose answers it broke off have been told."""
_BROKEN_OFF = "I have to stop for a moment. Your message is kept: I will answer it when I am back."


class TelegramChannel:
    """Takes updates in, past the door, and gives replies to the outbox."""

    def __init__(
        self, bot: Bot, me: User, mailbox: Mailbox, outbox: OutboxSender, door: Door, runner: SessionRunner
    ) -> None:
        self._bot = bot
        self._me = me
        self._mailbox = mailbox
        self._outbox = outbox
        self._door = door
        self._runner = runner
        self._previews: WeakValueDictionary[str, Preview] = WeakValueDictionary()

    async def replay(self) -> None:
        """Take up what an earlier run received and did not finish."""
        await self._take_all(await self._mailbox.waiting())

    async def receive(self, updates: Sequence[Update]) -> None:
        """Keep the updates of those who may come in, then take each that is new.

        When this returns they may be confirmed to Telegram. Of strangers, and of talk among others, nothing is kept.
        """
        kept = []
        for update in updates:
            letter = self._letter(update.update_id, update)
            if letter is None:
                await self._door.see_move(update)
                continue
            if await self._door.admits(letter):
                kept.append(Received(update.update_id, letter.arrival.address.session_id, write_update(update)))
            else:
                await self._door.turn_away(letter)
        await self._take_all(await self._mailbox.receive(kept))

    def reply_channel(self, arrival: Arrival) -> ReplyChannel:
        """Where a turn's reply goes."""
        preview = Preview(self._bot, arrival.address, private=arrival.speaker is None)
        self._previews[arrival.address.session_id] = preview
        return _TelegramReply(self._bot, self._outbox, arrival, preview)

    async def say(self, arrival: Arrival, text: str) -> None:
        """Answer an arrival without a turn, through the outbox."""
        done = [] if arrival.inbox_id is None else [arrival.inbox_id]
        await self._outbox.answer(arrival.address.session_id, text, inbox_ids=done, reply_to=arrival.reply_to)

    async def may_manage(self, arrival: Arrival) -> bool:
        """In a group its administrators and the owner; in a private chat whoever it is with."""
        return await self._door.may_manage(arrival)

    async def hold(self, arrivals: list[Arrival]) -> None:
        """Keep arrivals for the person's next message."""
        await self._mailbox.hold(a.inbox_id for a in arrivals if a.inbox_id is not None)

    async def interrupted(self, arrivals: list[Arrival]) -> None:
        """Tell those whose messages the inbox still holds. Past the outbox: it is no news after the next start."""
        try:
            async with asyncio.timeout(GOODBYE_PATIENCE):
                kept = {item.id for item in await self._mailbox.waiting()}
                told = [a for a in arrivals if a.inbox_id in kept]
                chunk = render(_BROKEN_OFF)[0]
                sent = [send_chunk(self._bot, a.address, chunk, a.reply_to) for a in told]
                await asyncio.gather(*sent, return_exceptions=True)
        except (TimeoutError, StoreError) as error:
            log.warning("goodbye_not_said", reason=str(error) or "Telegram did not answer in time")

    @contextlib.asynccontextmanager
    async def busy(self, arrival: Arrival) -> AsyncIterator[None]:
        """Show that the bot types, while nothing else does."""
        typing = asyncio.create_task(self._typing(arrival), name="typing")
        try:
            yield
        finally:
            typing.cancel()

    async def _typing(self, arrival: Arrival) -> None:
        await asyncio.sleep(TYPING_DELAY)
        while True:
            preview = self._previews.get(arrival.address.session_id)
            if preview is None or not preview.shown_within(TYPING_PAUSE):
                with contextlib.suppress(TelegramError):
                    await self._bot.send_chat_action(
                        chat_of(arrival.address), ChatAction.TYPING, message_thread_id=thread_of(arrival.address)
                    )
            await asyncio.sleep(TYPING_PAUSE)

    async def _take_all(self, items: Iterable[InboxItem]) -> None:
        """Take items; what came together for one session is submitted together, a long text in parts for one."""
        together: list[Arrival] = []
        for item in items:
            arrival = await self._take(item)
            if together and (arrival is None or arrival.address != together[0].address):
                await self._runner.submit(*together)
                together = []
            together += [arrival] if arrival is not None else []
        if together:
            await self._runner.submit(*together)

    async def _take(self, item: InboxItem) -> Arrival | None:
        """The arrival that an item makes, if it is for the sessions; everything else is dealt with here."""
        letter = self._letter(item.update_id, item.payload)
        # who was let in then may have been shut out since
        if letter is None or not await self._door.admits(letter):
            await self._mailbox.done([item.id])
            return None
        arrival = replace(letter.arrival, inbox_id=item.id, held=item.held)
        if arrival.quoted is not None and letter.quoted_reply is not None:
            made_of = await self._mailbox.provenance_of(item.session_id, letter.quoted_reply)
            arrival = replace(arrival, quoted=replace(arrival.quoted, provenance=made_of))
        if letter.edited:
            await self._correct(arrival, item)
            return None
        return arrival

    async def _correct(self, arrival: Arrival, item: InboxItem) -> None:
        if self._runner.lanes.replace_waiting(arrival):
            await self._mailbox.done([item.id])
        else:
            await self.say(arrival, "I had read that message before you edited it: send it anew if I should answer it.")

    def _letter(self, update_id: int, update: Update | str) -> Letter | None:
        """The letter in an update, or in the payload that was kept of one."""
        try:
            return letter_of(
                read_update(update, self._bot) if isinstance(update, str) else update,
                self._me,
                self,
                self._runner.commands,
            )
        except Exception:
            # one update that can't be read must not stop those behind it
            log.exception("update_unreadable", update=update_id)
            return None


class _TelegramReply:
    """The reply to one turn."""

    def __init__(self, bot: Bot, outbox: OutboxSender, arrival: Arrival, preview: Preview) -> None:
        self._bot = bot
        self._outbox = outbox
        self._arrival = arrival
        self._preview = preview

    async def show_text(self, text: str) -> None:
        """Show the answer so far."""
        self._preview.show(text)

    async def show_tool(self, name: str) -> None:
        """Show that a tool runs."""
        self._preview.show(f"_{name} …_")

    async def show_waiting(self, what: str) -> None:
        """Show nothing more: `busy` shows that the bot types."""

    async def outgoing(self, text: str) -> OutgoingReply:
        """The reply for the outbox. The preview ends here, and what it leaves behind becomes the reply."""
        await self._preview.close()
        return OutgoingReply(CHANNEL, text, self._arrival.reply_to, self._preview.message_id)

    async def deliver_uncommitted(self, text: str) -> None:
        """Send past the outbox, which can't be written. The message is still in the inbox and is taken up again."""
        await self._preview.close()
        with contextlib.suppress(SendFailed):
            for chunk in render(text):
                await send_chunk(self._bot, self._arrival.address, chunk, self._arrival.reply_to)

    async def deliver(self, text: str) -> None:
        """The reply is in the outbox by now; send it."""
        self._outbox.kick(self._arrival.address.session_id)
