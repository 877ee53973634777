"""Sends what the outbox holds: in order for each chat, chats side by side, each chunk recorded once confirmed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog
from telegram.error import TelegramError

from bot.telegram.calls import (
    Markup,
    SendFailed,
    Trouble,
    asking,
    chat_of,
    edit_chunk,
    explained,
    markup_of,
    readable,
    send_part,
)
from bot.telegram.features import Feature, is_ephemeral
from bot.telegram.rendering import Chunk, captioned, laid_out
from bot.telegram.rich import SEND, Rich, as_rich, send_rich
from config.texts import N_, _, use_language
from config.waiting import Backoff
from memory.errors import StoreError
from memory.log.sessions import Address
from memory.turnstile import Turnstile

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from telegram import Bot

    from bot.jobs.replication import Replication
    from bot.languages import Languages
    from bot.telegram.features import ServerFeatures
    from bot.telegram.rendering import Part
    from memory.mail.mailbox import Mailbox, OutboxItem
    from memory.service.preferences import PreferenceStore

    Follow = Callable[[int, int], Awaitable[bool]]

AT_ONCE = 20
"""Replies on their way to Telegram at a time: less than it takes in a second."""
CLOSING_SECONDS = 5.0
"""How long the end of the program waits for what is being sent."""
UNKNOWN_MESSAGE = ""
"""The id of a message that has arrived, as far as anybody can tell, and whose number Telegram did not say."""
_FOR_NOBODY_ELSE = N_(
    "That answer was for you alone, and Telegram no longer lets me show it so: ask again from the menu of commands, or "
    "make me an administrator of this group."
)
STOPPED = "stopped by its reader"
"""Why the rest of a reply was not sent."""

log = structlog.get_logger(__name__)


class OutboxSender:
    """The only place from which final replies are sent, so that no reply is sent by two layers.

    replication: a reply is sent once the replica knows it, and that it was sent stands there at once, if that can be
    had: another machine that takes over knows what was said, and says it again only where this one burnt in between.
    """

    def __init__(
        self,
        bot: Bot,
        mailbox: Mailbox,
        languages: Languages,
        features: ServerFeatures,
        preferences: PreferenceStore,
        replication: Replication | None = None,
    ) -> None:
        self._bot = bot
        self._features = features
        self._preferences = preferences
        self._replication = replication
        self.mailbox = mailbox
        self._languages = languages
        self._follow: Follow | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()
        self._sending: dict[str, int] = {}
        self._stopped: set[int] = set()
        self.shown: dict[str, tuple[str, Part]] = {}
        """By session, the newest preview's message and what it shows: an edit that changes nothing is not sent."""
        # by reply, what Telegram has confirmed so far: a disk that can't be written must not have it sent again
        self._confirmed: dict[int, list[str]] = {}
        # the library's rate limiter takes calls in the order in which they come: with a thousand replies before it,
        # the answer to a /stop would wait for half a minute
        self._turnstile = Turnstile(AT_ONCE)

    async def start(self, follow: Follow) -> None:
        """Send what an earlier run left unsent. follow: goes on in a group under another id; whether that is so."""
        self._follow = follow
        for session_id in dict.fromkeys(item.session_id for item in await self.mailbox.unsent()):
            self.kick(session_id)

    def hurry(self, session_id: str) -> None:
        """Send what waits for a session before what waits for others: somebody has asked for the last of it."""
        self._turnstile.hurry(session_id)
        self.kick(session_id)

    def kick(self, session_id: str) -> None:
        """There is something new to send to a session."""
        if session_id in self._tasks:
            self._again.add(session_id)
            return
        self._tasks[session_id] = asyncio.create_task(self._drain(session_id), name=f"outbox {session_id}")

    def stop(self, session_id: str) -> None:
        """Send no further part of the reply that is being sent to a session: its reader has said /stop."""
        if session_id in self._sending:
            self._stopped.add(self._sending[session_id])

    async def close(self) -> None:
        """Give what is being sent CLOSING_SECONDS to finish; the rest waits for the next start."""
        tasks = list(self._tasks.values())
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSING_SECONDS)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _drain(self, session_id: str) -> None:
        backoff = Backoff()
        try:
            while True:
                self._again.discard(session_id)
                try:
                    for item in await self.mailbox.unsent(session_id):
                        self._sending[session_id] = item.id
                        await self._replicated()
                        if not await self._send(item, backoff):
                            return  # all of it waits in another session now
                        await self._replicated()
                except Exception as error:
                    # a full disk keeps the outbox from being read or written; what it holds is not lost
                    log.error("outbox_failed", session=session_id, exc_info=not isinstance(error, StoreError))
                    await backoff.wait()
                    continue
                if session_id not in self._again:
                    return
        finally:
            self._turnstile.calm(session_id)
            self._stopped.discard(self._sending.pop(session_id, 0))
            del self._tasks[session_id]

    async def _replicated(self) -> None:
        if self._replication is not None:
            await self._replication.synced()

    async def _send(self, item: OutboxItem, backoff: Backoff) -> bool:
        """Send a reply, or give it up; False where its group has another id and the reply waits there."""
        address = Address.of(item.session_id)
        sent = self._confirmed.setdefault(item.id, list(item.message_ids))
        if not sent and await self._sent_rich(item, address, sent, backoff):
            await self.mailbox.settle(item, tuple(sent))
            del self._confirmed[item.id]
            return True
        with use_language(await self._languages.of_chat(address.owner)):
            parts = await self._parts(item)
        for number in range(len(parts)):
            if number < len(sent):
                continue
            if number > 0 and item.id in self._stopped:
                await self.mailbox.settle(item, tuple(sent), failure=STOPPED)
                self._stopped.discard(item.id)
                break
            try:
                sent.append(await self._insist(item, address, parts, number, backoff))
            except SendFailed as failure:
                present = failure.moved_to
                if present is not None and self._follow is not None and await self._follow(chat_of(address), present):
                    del self._confirmed[item.id]
                    return False
                log.warning("reply_given_up", outbox=item.id, reason=failure.reason)
                await self.mailbox.settle(item, tuple(sent), failure=failure.reason, terminated=failure.blocked)
                break
            if number + 1 < len(parts):  # the last one is recorded with the end
                await self.mailbox.chunk_sent(item, tuple(sent))
        else:
            await self.mailbox.settle(item, tuple(sent))
        del self._confirmed[item.id]
        return True

    async def _sent_rich(self, item: OutboxItem, address: Address, sent: list[str], backoff: Backoff) -> bool:
        """Send a reply as a rich message where its chat wants that, and add its id; False where it is to be plain."""
        if not (await self._preferences.get(address.owner)).rich:
            return False
        if item.has_document or item.receiver is not None or item.asks is not None:
            return False
        rich = await asyncio.to_thread(as_rich, item.text)
        if rich is None or not await self._features.has_method(self._bot, Feature.RICH, SEND):
            return False
        try:
            sent.append(await self._insist(item, address, [rich], 0, backoff))
        except SendFailed as failure:
            log.info("rich_message_refused", outbox=item.id, reason=failure.reason)
            return False  # whatever it is, the plain one meets it too
        return True

    async def _parts(self, item: OutboxItem) -> list[Part]:
        document = await self.mailbox.document(item) if item.has_document else None
        return await laid_out(item.text) if document is None else await captioned(item.text, document)

    async def _insist(
        self, item: OutboxItem, address: Address, parts: Sequence[Part | Rich], number: int, backoff: Backoff
    ) -> str:
        """Send a chunk until it is confirmed, with growing pauses. Raises SendFailed when it never will be.

        Where Telegram's answer can't be read, it is said once more and not for ever: it has most likely arrived.
        """
        has_arrived_unread = False
        while True:
            try:
                async with self._turnstile.passed(item.session_id):
                    message_id = await self._once(item, address, parts, number)
            except SendFailed as failure:
                if failure.trouble is Trouble.NEVER:
                    raise
                log.warning("chunk_not_confirmed", outbox=item.id, chunk=number, trouble=str(failure.trouble))
                if failure.unreadable and has_arrived_unread:
                    return UNKNOWN_MESSAGE
                has_arrived_unread = has_arrived_unread or failure.unreadable
                await backoff.wait(at_least=failure.pause)
                if failure.trouble is Trouble.IN_DOUBT:
                    await self._reachable(backoff)
            else:
                backoff.reset()
                return message_id

    async def _reachable(self, backoff: Backoff) -> None:
        """Wait until Telegram answers. What is in doubt may show twice, so it is not said again into a dead line."""
        while True:
            try:
                with readable():
                    await self._bot.get_me()
            except TelegramError as error:
                await backoff.wait(at_least=explained(error).pause)
            else:
                return

    async def _once(self, item: OutboxItem, address: Address, parts: Sequence[Part | Rich], number: int) -> str:
        part = parts[number]
        is_last = number + 1 == len(parts)
        markup = markup_of(item.keyboard) if is_last else None
        if isinstance(part, Rich):
            reply_to, preview = item.reply_to, item.preview_id
            return await send_rich(self._bot, address, part, reply_to, markup, preview_id=preview, silent=item.silent)
        if number == 0 and item.preview_id and isinstance(part, Chunk):
            if markup is None and self.shown.pop(item.session_id, None) == (item.preview_id, part):
                return item.preview_id
            try:
                await edit_chunk(self._bot, address, item.preview_id, part, markup)
            except SendFailed as failure:
                if failure.trouble is not Trouble.NEVER:
                    raise
                log.info("preview_gone", reason=failure.reason)
            else:
                return item.preview_id
        under: Markup = asking(item.asks) if is_last and item.asks is not None else markup
        reply_to = item.reply_to if number == 0 else None
        if item.receiver is not None and (sent := await self._to_one(item, item.receiver, address, part, under)):
            return sent
        return await send_part(self._bot, address, part, reply_to, under, silent=item.silent)

    async def _to_one(
        self, item: OutboxItem, receiver: str, address: Address, part: Part, markup: Markup
    ) -> str | None:
        """Send a part so that one person sees it; None where that can't be had and all may see it. Raises SendFailed.

        Who was shown something alone, or this group anybody, is never answered before all: there it is not sent.
        """
        chat, user = chat_of(address), receiver.partition(" ")[0]
        shown = (item.reply_to, item.preview_id, *self._confirmed[item.id])
        is_closed = any(map(is_ephemeral, shown)) or await self._features.shows_alone(chat)
        # an administrator need not name what is answered; others have to, and within seconds
        unasked: tuple[str, str | None] = (user, None)
        ways = [unasked] if self._features.may_try_alone(chat) else []
        if receiver != user or is_ephemeral(item.reply_to):
            ways.insert(0, (receiver, item.reply_to))
        refusal = SendFailed(Trouble.NEVER, 0, "nobody else may see it")
        for way in ways:
            if not self._features.may_use(Feature.EPHEMERAL):
                break
            whom, cause = way
            try:
                sent = await send_part(self._bot, address, part, cause, markup, silent=item.silent, receiver=whom)
            except SendFailed as failure:
                if failure.trouble is not Trouble.NEVER or failure.blocked or failure.moved_to:
                    raise
                log.info("not_shown_to_one", outbox=item.id, reason=failure.reason)
                refusal = failure
                self._features.record_refused(chat, unasked=way == unasked)
            else:
                await self._features.record_sent(chat, alone=is_ephemeral(sent), unasked=way == unasked)
                return sent
        if is_closed:
            await self._refuse_to_all(item, address)
            raise refusal
        return None

    async def _refuse_to_all(self, item: OutboxItem, address: Address) -> None:
        """Say that an answer can't be shown; nobody waits for what was told beside one."""
        if item.reply_to is not None:
            with use_language(await self._languages.of_chat(address.owner)):
                await send_part(self._bot, address, Chunk(_(_FOR_NOBODY_ELSE)))
