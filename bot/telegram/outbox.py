"""The outbox sender: in order within each chat, chats concurrently, and each part recorded once it is confirmed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

import structlog
from telegram import Bot
from telegram.error import TelegramError

from bot.languages import Languages
from bot.monitoring import Safeguard
from bot.telegram.calls import Markup, build_markup, choose_markup, edit_chunk, get_chat_id, send_part
from bot.telegram.failures import SendFailed, Trouble, parsing_answer, to_send_failure
from bot.telegram.features import Feature, ServerFeatures, is_ephemeral
from bot.telegram.part import AnswerFormat
from bot.telegram.reminder_times import HOUR, mark_times, send_with_times
from bot.telegram.rendering import Chunk, File, Part, split_reply, with_caption
from config.texts import N_, _, use_language
from config.waiting import Backoff, wait_at_most
from memory.errors import StoreError
from memory.log.sessions import Address
from memory.mail.mailbox import Mailbox
from memory.mail.outbox import OutboxItem
from memory.turnstile import Turnstile

Follow = Callable[[int, int], Awaitable[bool]]
TellForbidden = Callable[[Address], Awaitable[None]]

MAX_CONCURRENT_REPLIES = 20
"""Maximum number of replies that are sent at the same time, below Telegram's rate per second."""
CLOSING_SECONDS = 5.0
UNKNOWN_MESSAGE = ""
"""Id of a message that has probably arrived, although Telegram's answer was unreadable."""
_FOR_NOBODY_ELSE = N_(
    "That answer was only for you, and Telegram no longer lets me show it that way: ask again from the command menu,"
    " or make me an administrator of this group."
)
STOPPED = "stopped by its reader"
FIRST_ASKING_SECONDS, LAST_ASKING_SECONDS = 60.0, 3600.0
"""Seconds between attempts to write to a chat where the bot may not write now, doubled each time."""

log = structlog.get_logger(__name__)


class OutboxSender:
    """Sends all final replies. There is no other sender, so that no reply is sent twice.

    Args:
        safeguards: protect a reply before it is sent, and the record of its delivery at once. Another machine that
            takes over sends it again only if this one was lost in between.
    """

    def __init__(
        self,
        bot: Bot,
        mailbox: Mailbox,
        languages: Languages,
        features: ServerFeatures,
        safeguards: Sequence[Safeguard] = (),
    ) -> None:
        self._bot = bot
        self._features = features
        self._safeguards = safeguards
        self.mailbox = mailbox
        self._languages = languages
        self._follow: Follow | None = None
        self._tell_forbidden: TellForbidden | None = None
        # Sessions in which the bot may not write now. The event is set when that may have changed
        self._forbidden: dict[str, asyncio.Event] = {}
        self._formats: Sequence[AnswerFormat] = ()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._dirty: set[str] = set()
        self._sending: dict[str, int] = {}
        self._stopped: set[int] = set()
        self.shown: dict[str, tuple[str, Part]] = {}
        """Message and content of the newest preview of each session, to skip edits that change nothing."""
        # Ids of confirmed messages by reply, so that nothing is sent twice while the disk can't be written
        self._confirmed: dict[int, list[str]] = {}
        # The library's rate limiter serves calls in order: behind a thousand replies, an answer to /stop would take
        # half a minute
        self._turnstile = Turnstile(MAX_CONCURRENT_REPLIES)

    async def start(self, follow: Follow, tell_forbidden: TellForbidden, formats: Sequence[AnswerFormat]) -> None:
        """Send replies that an earlier run left.

        Args:
            follow: moves a group to its new id.
            tell_forbidden: tells the owner that the bot may not write in a chat now.
            formats: formats to try before text, in this order.
        """
        self._follow = follow
        self._tell_forbidden = tell_forbidden
        self._formats = formats
        for session_id in dict.fromkeys(item.session_id for item in await self.mailbox.outbox.list_unsent()):
            self.kick(session_id)

    def hurry(self, session_id: str) -> None:
        """Send the replies of a session before those of others, since its user waits for an answer."""
        self._turnstile.hurry(session_id)
        self.kick(session_id)

    def kick(self, session_id: str) -> None:
        if session_id in self._tasks:
            self._dirty.add(session_id)
            if session_id in self._forbidden:
                self._forbidden[session_id].set()
            return
        self._tasks[session_id] = asyncio.create_task(self._drain(session_id), name=f"outbox {session_id}")

    def retry_forbidden(self, chat_id: int) -> None:
        """Try again to write in a chat whose permissions have changed."""
        for session_id, event in self._forbidden.items():
            if get_chat_id(Address.parse(session_id)) == chat_id:
                event.set()

    def stop(self, session_id: str) -> None:
        """Stop sending the current reply of a session, because its reader sent /stop."""
        if session_id in self._sending:
            self._stopped.add(self._sending[session_id])

    async def close(self) -> None:
        """Wait up to CLOSING_SECONDS for the replies that are being sent. The next start sends the rest."""
        tasks = list(self._tasks.values())
        sending = [task for session_id, task in self._tasks.items() if session_id not in self._forbidden]
        if sending:
            await asyncio.wait(sending, timeout=CLOSING_SECONDS)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _drain(self, session_id: str) -> None:
        backoff = Backoff()
        try:
            while True:
                self._dirty.discard(session_id)
                try:
                    for item in await self.mailbox.outbox.list_unsent(session_id):
                        self._sending[session_id] = item.id
                        await self._wait_until_safe()
                        if not await self._send(item, backoff):
                            return  # Its replies now wait in another session
                        await self._wait_until_safe()
                except Exception as error:
                    # For example, the disk is full. Nothing is lost
                    log.error("outbox_failed", session=session_id, exc_info=not isinstance(error, StoreError))
                    await backoff.wait()
                    continue
                if session_id not in self._dirty:
                    return
        finally:
            self._turnstile.stop_hurrying(session_id)
            self._stopped.discard(self._sending.pop(session_id, 0))
            self._forbidden.pop(session_id, None)
            del self._tasks[session_id]

    async def _wait_until_safe(self) -> None:
        for safeguard in self._safeguards:
            await safeguard.wait_until_safe()

    async def _send(self, item: OutboxItem, backoff: Backoff) -> bool:
        """Send a reply or give it up. Return False if its group has a new id, under which it now waits."""
        address = Address.parse(item.session_id)
        sent = self._confirmed.setdefault(item.id, list(item.message_ids))
        if not sent and await self._send_formatted(item, address, sent, backoff):
            await self.mailbox.outbox.settle(item, tuple(sent))
            del self._confirmed[item.id]
            return True
        with use_language(await self._languages.get_for_chat(address.owner)):
            parts = await self._split_into_parts(item)
        for number in range(len(parts)):
            if number < len(sent):
                continue
            if number > 0 and item.id in self._stopped:
                await self.mailbox.outbox.settle(item, tuple(sent), failure=STOPPED)
                self._stopped.discard(item.id)
                break
            try:
                send = partial(self._send_part, item, address, parts, number)
                sent.append(await self._send_until_confirmed(item, send, number, backoff))
            except SendFailed as failure:
                present = failure.moved_to
                if (
                    present is not None
                    and self._follow is not None
                    and await self._follow(get_chat_id(address), present)
                ):
                    del self._confirmed[item.id]
                    return False
                if failure.topic_gone and address.thread_id is not None:
                    await self._leave_topic(item, address, sent)
                    return False
                log.warning("reply_given_up", outbox=item.id, reason=failure.reason)
                await self.mailbox.outbox.settle(item, tuple(sent), failure=failure.reason, terminated=failure.blocked)
                break
            if number + 1 < len(parts):
                await self.mailbox.outbox.record_sent_chunk(item, tuple(sent))
        else:
            await self.mailbox.outbox.settle(item, tuple(sent))
        del self._confirmed[item.id]
        return True

    async def _leave_topic(self, item: OutboxItem, address: Address, sent: Sequence[str]) -> None:
        """Go on in the group, since its topic was deleted."""
        log.info("topic_gone", session=item.session_id)
        await self.mailbox.outbox.record_sent_chunk(item, tuple(sent))
        chat = Address(address.channel, address.chat_id).session_id
        await self.mailbox.outbox.move_to_chat(item.session_id, chat)
        del self._confirmed[item.id]
        self.kick(chat)

    async def _wait_until_allowed(self, session_id: str, pauses: Backoff) -> None:
        """Wait until the bot may be allowed to write again, and tell the owner once."""
        if session_id not in self._forbidden:
            self._forbidden[session_id] = asyncio.Event()
            log.warning("may_not_write", session=session_id)
            if self._tell_forbidden is not None:
                await self._tell_forbidden(Address.parse(session_id))
        event = self._forbidden[session_id]
        await wait_at_most(event, pauses.next())
        event.clear()

    async def _send_formatted(self, item: OutboxItem, address: Address, sent: list[str], backoff: Backoff) -> bool:
        """Send a reply in another format if there is one for it. Return False if it has to be sent as text."""
        if item.has_document or item.receiver is not None or choose_markup(item, None) is not None:
            return False
        for answer_format in self._formats:
            if (answer := await answer_format.convert(address, item.text)) is None:
                continue
            send = partial(
                answer.send,
                self._bot,
                address,
                item.reply_to,
                build_markup(item.keyboard),
                preview_id=item.preview_id,
                silent=item.silent,
            )
            try:
                sent.append(await self._send_until_confirmed(item, send, 0, backoff))
            except SendFailed as failure:
                log.info("format_refused", outbox=item.id, reason=failure.reason)
                return False  # The text will meet the same failure
            return True
        return False

    async def _split_into_parts(self, item: OutboxItem) -> list[Part]:
        document = await self.mailbox.outbox.read_document(item) if item.has_document else None
        if document is not None:
            (part,) = await with_caption(item.text, document)
            # Only documents can be shown to a single person
            return [replace(part, is_photo=False) if isinstance(part, File) and item.receiver is not None else part]
        parts = await split_reply(item.text)
        if item.receiver is not None or HOUR.search(item.text) is None or not self._features.can_use(Feature.TIMES):
            return parts
        times = await self.mailbox.outbox.list_reminder_times(item.session_id)
        return [mark_times(part, times) if isinstance(part, Chunk) else part for part in parts]

    async def _send_until_confirmed(
        self, item: OutboxItem, send: Callable[[], Awaitable[str]], number: int, backoff: Backoff
    ) -> str:
        """Call `send` until the part is confirmed, with growing pauses. Raises SendFailed if that is impossible.

        After an unreadable answer it is sent only once more, since it has probably arrived.
        """
        has_arrived_unread = False
        pauses = Backoff(LAST_ASKING_SECONDS, FIRST_ASKING_SECONDS)
        while True:
            try:
                async with self._turnstile.pass_through(item.session_id):
                    message_id = await send()
            except SendFailed as failure:
                if failure.forbidden:
                    await self._wait_until_allowed(item.session_id, pauses)
                    continue
                if failure.trouble is Trouble.NEVER:
                    raise
                log.warning("chunk_not_confirmed", outbox=item.id, chunk=number, trouble=str(failure.trouble))
                if failure.unreadable and has_arrived_unread:
                    return UNKNOWN_MESSAGE
                has_arrived_unread = has_arrived_unread or failure.unreadable
                await backoff.wait(at_least=failure.pause)
                if failure.trouble is Trouble.IN_DOUBT:
                    await self._wait_until_reachable(backoff)
            else:
                backoff.reset()
                self._forbidden.pop(item.session_id, None)
                return message_id

    async def _wait_until_reachable(self, backoff: Backoff) -> None:
        """Wait until Telegram answers, since each attempt at a message in doubt may show it twice."""
        while True:
            try:
                with parsing_answer():
                    await self._bot.get_me()
            except TelegramError as error:
                await backoff.wait(at_least=to_send_failure(error).pause)
            else:
                return

    async def _send_part(self, item: OutboxItem, address: Address, parts: Sequence[Part], number: int) -> str:
        part = parts[number]
        is_last = number + 1 == len(parts)
        markup = build_markup(item.keyboard) if is_last else None
        if number == 0 and item.preview_id and isinstance(part, Chunk):
            if markup is None and self.shown.pop(item.session_id, None) == (item.preview_id, part):
                return item.preview_id
            preview_id = item.preview_id

            async def edit(what: Part) -> None:
                assert isinstance(what, Chunk), "a file is never edited"  # noqa: S101  # Checked above
                await edit_chunk(self._bot, address, preview_id, what, markup)

            try:
                await send_with_times(self._features, part, edit)
            except SendFailed as failure:
                if failure.trouble is not Trouble.NEVER:
                    raise
                log.info("preview_gone", reason=failure.reason)
            else:
                return item.preview_id
        part_markup = choose_markup(item, markup) if is_last else None
        reply_to = item.reply_to if number == 0 else None
        if item.receiver is not None:
            sent = await self._send_ephemeral(item, item.receiver, address, part, part_markup)
            if sent:
                return sent
        return await send_with_times(
            self._features,
            part,
            lambda what: send_part(self._bot, address, what, reply_to, part_markup, silent=item.silent),
        )

    async def _send_ephemeral(
        self, item: OutboxItem, receiver: str, address: Address, part: Part, markup: Markup
    ) -> str | None:
        """Send a part that only one user will see. Raises SendFailed.

        Return None if the group doesn't support that and all may see it. If the group supports it, or the question was
        ephemeral, an answer never becomes public.
        """
        chat, user = get_chat_id(address), receiver.partition(" ")[0]
        shown = (item.reply_to, item.preview_id, *self._confirmed[item.id])
        is_closed = any(map(is_ephemeral, shown)) or await self._features.accepts_ephemeral(chat)
        # Only administrators may send it without naming what it answers. Others have to, within seconds
        unasked: tuple[str, str | None] = (user, None)
        ways = [unasked] if self._features.can_try_ephemeral(chat) else []
        if receiver != user or is_ephemeral(item.reply_to):
            ways.insert(0, (receiver, item.reply_to))
        refusal = SendFailed(Trouble.NEVER, 0, "nobody else may see it")
        for way in ways:
            if not self._features.can_use(Feature.EPHEMERAL):
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
        """Tell the group that an answer can't be shown. Texts apart from an answer are dropped."""
        if item.reply_to is not None:
            with use_language(await self._languages.get_for_chat(address.owner)):
                await send_part(self._bot, address, Chunk(_(_FOR_NOBODY_ELSE)))
