"""The Telegram channel: from the inbox to the sessions, and from the sessions to the outbox."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import structlog
from telegram.constants import ChatAction
from telegram.error import TelegramError

from bot.chat.arrivals import Arrival
from bot.chat.commands import parse_command
from bot.telegram.calls import SendFailed, chat_of, send_chunk, thread_of
from bot.telegram.preview import Preview
from bot.telegram.rendering import render
from bot.telegram.updates import CHANNEL, letter_of, read_update, write_update
from memory.errors import StoreError
from memory.log.turn_log import OutgoingReply
from memory.service.mailbox import Received
from pipeline.turn import Incoming

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from telegram import Bot, Update, User

    from bot.chat.session_runner import SessionRunner
    from bot.telegram.outbox import OutboxSender
    from bot.telegram.updates import Letter
    from memory.custody.access import AccessList
    from memory.service.mailbox import InboxItem, Mailbox
    from pipeline.turn import ReplyChannel

log = structlog.get_logger(__name__)

TYPING_PAUSE = 4.5
"""Telegram shows a chat action for 5 seconds."""
TYPING_DELAY = 0.7
"""Seconds in which an answer may begin before the bot is shown as typing: a draft that moves shows that by itself."""

GOODBYE_PATIENCE = 3.0
"""Seconds that a stop waits until those whose answers it broke off have been told."""
STRANGER_PATIENCE = 5.0
"""Seconds that telling a stranger may hold up everybody else's messages."""
_BROKEN_OFF = "I have to stop for a moment. Your message is kept: I will answer it when I am back."
_WELCOME = "Welcome: this bot is yours now, and nobody else can use that code. Write to me!"
_STRANGER = (
    "This bot is private. If it is yours, send /start followed by the code that `mneme setup` shows; "
    "otherwise ask its owner to add your id {user_id} to TELEGRAM_ALLOWED_IDS."
)


class TelegramChannel:
    """Takes updates in, lets in whom it should, and gives replies to the outbox."""

    def __init__(
        self,
        bot: Bot,
        me: User,
        mailbox: Mailbox,
        outbox: OutboxSender,
        access: AccessList,
        allowed: frozenset[int],
        runner: SessionRunner,
    ) -> None:
        self._bot = bot
        self._me = me
        self._mailbox = mailbox
        self._outbox = outbox
        self._access = access
        self._allowed = allowed
        self._runner = runner
        self._private: dict[str, bool] = {}
        self._turned_away: set[int] = set()
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
                continue
            if await self._admitted(letter):
                kept.append(Received(update.update_id, letter.address.session_id, write_update(update)))
            else:
                await self._turn_away(letter)
        await self._take_all(await self._mailbox.receive(kept))

    def reply_channel(self, arrival: Arrival) -> ReplyChannel:
        """Where a turn's reply goes."""
        preview = Preview(self._bot, arrival.address, private=self._is_private(arrival))
        self._previews[arrival.address.session_id] = preview
        return _TelegramReply(self._bot, self._outbox, arrival, preview)

    async def say(self, arrival: Arrival, text: str) -> None:
        """Answer an arrival without a turn, through the outbox."""
        inbox_id = arrival.incoming.inbox_id
        await self._mailbox.answer(
            arrival.address.session_id,
            text,
            inbox_ids=[] if inbox_id is None else [inbox_id],
            reply_to=arrival.incoming.reply_to,
        )
        self._outbox.kick(arrival.address.session_id)

    async def hold(self, arrivals: list[Arrival]) -> None:
        """Keep arrivals for the person's next message."""
        await self._mailbox.hold(a.incoming.inbox_id for a in arrivals if a.incoming.inbox_id is not None)

    async def interrupted(self, arrivals: list[Arrival]) -> None:
        """Tell those whose messages the inbox still holds. Past the outbox: it is no news after the next start."""
        try:
            async with asyncio.timeout(GOODBYE_PATIENCE):
                kept = {item.id for item in await self._mailbox.waiting()}
                told = [a for a in arrivals if a.incoming.inbox_id in kept]
                chunk = render(_BROKEN_OFF)[0]
                sent = [send_chunk(self._bot, a.address, chunk, a.incoming.reply_to) for a in told]
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
        if letter is None or not await self._admitted(letter):
            await self._mailbox.done([item.id])
        elif letter.edited:
            await self._correct(item, letter)
        else:
            self._private[letter.address.session_id] = letter.private
            return _arrival(item, letter, self)
        return None

    async def _admitted(self, letter: Letter) -> bool:
        """Exact ids only: an allowed or claimed user, or an allowed group; an empty list admits nobody."""
        if letter.user_id in self._allowed or chat_of(letter.address) in self._allowed:
            return letter.private or chat_of(letter.address) in self._allowed
        return letter.private and await self._access.is_member(letter.user_id)

    async def _correct(self, item: InboxItem, letter: Letter) -> None:
        arrival = _arrival(item, letter, self)
        if await self._runner.replace_waiting(arrival):
            await self._mailbox.done([item.id])
        else:
            await self.say(arrival, "I had read that message before you edited it: send it anew if I should answer it.")

    async def _turn_away(self, letter: Letter) -> None:
        """Answer a stranger, unless it was done; with the right code the bot becomes theirs."""
        name, code = parse_command(letter.text)
        if letter.private and name == "start" and code and await self._access.claim(letter.user_id, code):
            log.info("bot_claimed", user=letter.user_id)
            session_id = letter.address.session_id
            await self._mailbox.answer(session_id, _WELCOME)
            self._outbox.kick(session_id)
            return
        log.info("not_let_in", chat=chat_of(letter.address), user=letter.user_id)
        if letter.private and (letter.user_id not in self._turned_away or name == "start"):
            self._turned_away.add(letter.user_id)
            # past the outbox, which would keep something of a stranger
            with contextlib.suppress(SendFailed, TimeoutError):
                async with asyncio.timeout(STRANGER_PATIENCE):
                    text = render(_STRANGER.format(user_id=letter.user_id))[0]
                    await send_chunk(self._bot, letter.address, text)

    def _letter(self, update_id: int, update: Update | str) -> Letter | None:
        """The letter in an update, or in the payload that was kept of one."""
        try:
            return letter_of(read_update(update, self._bot) if isinstance(update, str) else update, self._me)
        except Exception:
            # one update that can't be read must not stop those behind it
            log.exception("update_unreadable", update=update_id)
            return None

    def _is_private(self, arrival: Arrival) -> bool:
        return self._private.get(arrival.address.session_id, False)


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
        return OutgoingReply(CHANNEL, text, self._arrival.incoming.reply_to, self._preview.message_id)

    async def deliver_uncommitted(self, text: str) -> None:
        """Send past the outbox, which can't be written. The message is still in the inbox and is taken up again."""
        await self._preview.close()
        with contextlib.suppress(SendFailed):
            for chunk in render(text):
                await send_chunk(self._bot, self._arrival.address, chunk, self._arrival.incoming.reply_to)

    async def deliver(self, text: str) -> None:
        """The reply is in the outbox by now; send it."""
        self._outbox.kick(self._arrival.address.session_id)


def _arrival(item: InboxItem, letter: Letter, channel: TelegramChannel) -> Arrival:
    incoming = Incoming(
        text=letter.text,
        provenance=letter.provenance,
        received_at=letter.sent_at,
        speaker=letter.speaker,
        inbox_id=item.id,
        reply_to=None if letter.private else str(letter.message_id),
    )
    return Arrival(letter.address, incoming, channel, message_id=str(letter.message_id), held=item.held)
