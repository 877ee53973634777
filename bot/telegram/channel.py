"""The Telegram channel: passes replies to the outbox, and shows previews, typing and reactions."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from weakref import WeakValueDictionary

import structlog
from telegram import Bot
from telegram.constants import ChatAction
from telegram.error import TelegramError

from bot.commands.command import parse_command
from bot.tasks import BackgroundTasks
from bot.telegram import CHANNEL
from bot.telegram.access import AccessControl
from bot.telegram.calls import edit_chunk, get_chat_id, get_thread_id, send_part
from bot.telegram.failures import SendFailed
from bot.telegram.features import PEOPLE, PEOPLE_METHOD, ServerFeatures, is_ephemeral
from bot.telegram.outbox import OutboxSender
from bot.telegram.part import AnswerAttachment
from bot.telegram.preview import Pace, Preview, Reactions
from bot.telegram.rendering import Chunk, Part, render, split_reply, with_caption
from bot.telegram.topics import TopicNames
from config.texts import N_, _, use_language
from memory.buttons import Keyboard
from memory.errors import StoreError
from memory.mail.mailbox import Mailbox
from memory.messages import Document
from memory.store.button_rows import ClaimResult, OutgoingReply
from pipeline.arrival import Arrival, ReplyChannel, collect_inbox_ids

log = structlog.get_logger(__name__)

TYPING_INTERVAL_SECONDS = 4.5
"""Seconds between chat actions. Telegram shows each for 5 seconds."""
TYPING_DELAY_SECONDS = 0.7
"""Seconds before typing is shown, so that a fast answer can start first: its draft already shows progress."""

GOODBYE_TIMEOUT_SECONDS = 3.0
"""Timeout for telling users at shutdown that their answers were interrupted."""
_BROKEN_OFF = N_("I have to restart. Your message is safe: I'll answer it when I'm back.")


class TelegramChannel:
    def __init__(
        self,
        bot: Bot,
        mailbox: Mailbox,
        outbox: OutboxSender,
        access: AccessControl,
        features: ServerFeatures,
        attachments: Sequence[AnswerAttachment],
        topics: TopicNames,
        tasks: BackgroundTasks,
    ) -> None:
        self._bot = bot
        self._attachments = attachments
        self._topics = topics
        self._tasks = tasks
        self._access = access
        self.features = features
        self.mailbox = mailbox
        self.outbox = outbox
        self._previews: WeakValueDictionary[str, Preview] = WeakValueDictionary()
        self._progress: dict[tuple[str, str | None, str | None], Preview] = {}
        self._pace = Pace()
        self._reactions = Reactions(bot, mailbox, self._pace, tasks)
        self._leftover_previews: dict[str, str] = {}
        self.shown: set[int] = set()
        """Inbox ids of messages that were answered past the outbox. They still have to be marked as done."""

    async def start(self) -> None:
        """Load the previews that an earlier run left in the chats, so that new answers replace them."""
        self._leftover_previews = await self.mailbox.signs.list_previews()
        await self._reactions.start()

    def reply_channel(self, arrivals: list[Arrival]) -> ReplyChannel:
        return _TelegramReply(self, arrivals, self._create_preview(arrivals[-1]))

    def _create_preview(self, arrival: Arrival) -> Preview:
        session_id = arrival.address.session_id

        async def keep(message_id: str) -> None:
            # Without this record, a crash before the end of the turn leaves a second copy in the chat
            with contextlib.suppress(StoreError):
                await self.mailbox.signs.store_preview(session_id, message_id)

        # The reply replaces the message with the pressed button, or the preview of an interrupted run
        remaining = arrival.replaces or self._leftover_previews.pop(session_id, None)
        preview = Preview(self._bot, arrival.address, self._pace, self.features, arrival.reply_to, keep, remaining)
        self._previews[session_id] = preview
        return preview

    def show_progress(self, arrival: Arrival, text: str) -> None:
        """Show a preview of the answer, which `say` replaces."""
        if find_receiver(arrival) is None:
            key = _make_key(arrival)
            if key not in self._progress:
                self._progress[key] = self._create_preview(arrival)
            self._progress[key].show(text)

    async def say(self, arrival: Arrival, text: str, keyboard: Keyboard = (), document: Document | None = None) -> None:
        """Answer an arrival without a turn: through the outbox, or directly if that can't be written."""
        if (progress := self._progress.pop(_make_key(arrival), None)) is not None:
            await progress.close()
            arrival = replace(arrival, replaces=progress.message_id)
        if not await self._enqueue(arrival, text, keyboard, document, inbox_ids=collect_inbox_ids([arrival])):
            parts = await split_reply(text) if document is None else await with_caption(text, document)
            await self.show_uncommitted([arrival], parts, arrival.replaces)

    async def ask(self, arrival: Arrival, question: str, keyboard: Keyboard) -> bool:
        return await self._enqueue(replace(arrival, replaces=None), question, keyboard)

    async def _enqueue(
        self,
        arrival: Arrival,
        text: str,
        keyboard: Keyboard,
        document: Document | None = None,
        inbox_ids: Sequence[int] = (),
    ) -> bool:
        session_id = arrival.address.session_id
        try:
            reply = OutgoingReply(
                CHANNEL,
                text,
                arrival.reply_to,
                arrival.replaces,
                keyboard,
                arrival.asker,
                receiver=find_receiver(arrival),
                hides_keyboard=arrival.hides_keyboard,
            )
            await self.mailbox.outbox.answer(session_id, reply, inbox_ids, document=document)
        except StoreError as error:
            log.warning("answer_not_kept", reason=error.loggable)
            return False
        self.outbox.hurry(session_id)
        return True

    async def can_manage(self, arrival: Arrival) -> bool:
        return await self._access.can_manage(arrival)

    async def is_owner(self, arrival: Arrival) -> bool:
        # A scheduled task has no speaker. Its answer in a private chat is for the person there
        return await self._access.is_owner(int(arrival.speaker_id or 0) or get_chat_id(arrival.address))

    async def tell_owner(self, arrival: Arrival, text: Callable[[], str]) -> None:
        with contextlib.suppress(StoreError):
            await self._access.notify_of_trouble(arrival.address, text)

    async def take_offer(self, arrival: Arrival, name: str, argument: str) -> str | None:
        buttons, session_id = self.mailbox.buttons, arrival.address.session_id
        if arrival.asker is None or arrival.inbox_id is None:
            return None
        for button in await buttons.list_offers(session_id, arrival.asker, name, arrival.inbox_id):
            offered, of = parse_command(button.said)
            if offered != name or argument not in ("", of):
                continue
            if await buttons.press(button, arrival.inbox_id) is ClaimResult.NOW:
                return button.said
        return None

    async def can_choose_people(self, arrival: Arrival) -> bool:
        """Return True in a private chat, if the server supports it."""
        return arrival.speaker is None and await self.features.has_method(self._bot, PEOPLE, PEOPLE_METHOD)

    def on_queued(self, arrival: Arrival) -> None:
        self._reactions.show_waiting(arrival)

    def on_started(self, arrival: Arrival) -> None:
        """Remove the reaction. From now on typing shows progress."""
        self._reactions.hide_waiting(arrival)

    def attach(self, arrivals: list[Arrival], answer: str) -> None:
        """Send the attachments of a delivered answer and name its topic, in the background."""
        if arrivals[0].speaker is None and arrivals[0].address.thread_id is not None:
            self._tasks.start(self._topics.name(arrivals, answer), "topic")
        for attachment in self._attachments:
            self._tasks.start(self._attach(attachment, arrivals, answer), "attachment")

    async def _attach(self, attachment: AnswerAttachment, arrivals: list[Arrival], answer: str) -> None:
        document = await attachment.create(arrivals, answer)
        if document is None:
            return
        arrival = arrivals[-1]
        session_id = arrival.address.session_id
        try:
            await self.mailbox.outbox.answer(
                session_id, OutgoingReply(CHANNEL, "", arrival.reply_to), document=document
            )
        except StoreError as error:
            log.warning("attachment_not_kept", reason=error.loggable)
        else:
            self.outbox.kick(session_id)

    async def count_attempt(self, arrivals: list[Arrival]) -> None:
        # A full disk must not keep the message from being answered
        with contextlib.suppress(StoreError):
            await self.mailbox.inbox.count_attempt(collect_inbox_ids(arrivals))

    async def hold(self, arrivals: list[Arrival]) -> None:
        await self.mailbox.inbox.hold(collect_inbox_ids(arrivals))

    async def notify_interrupted(self, arrivals: list[Arrival]) -> None:
        """Notify users with messages in the inbox. This bypasses the outbox: after a restart the notice is outdated."""
        try:
            async with asyncio.timeout(GOODBYE_TIMEOUT_SECONDS):
                waiting_ids = {item.id for item in await self.mailbox.inbox.list_waiting()}
                waiting = [a for a in arrivals if a.inbox_id in waiting_ids]
                await asyncio.gather(*map(self._tell_interrupted, waiting), return_exceptions=True)
        except (TimeoutError, StoreError) as error:
            log.warning("goodbye_not_said", reason=str(error) or "Telegram did not answer in time")

    async def _tell_interrupted(self, arrival: Arrival) -> None:
        with use_language(arrival.language):
            await send_part(self._bot, arrival.address, render(_(_BROKEN_OFF))[0], arrival.reply_to)

    @contextlib.asynccontextmanager
    async def busy(self, arrival: Arrival) -> AsyncIterator[None]:
        """Show typing as long as no preview does."""
        if arrival.task is not None:  # No user is waiting, and a draft would make a sound
            yield
            return
        typing = asyncio.create_task(self._show_typing(arrival), name="typing")
        try:
            yield
        finally:
            typing.cancel()

    async def _show_typing(self, arrival: Arrival) -> None:
        await asyncio.sleep(TYPING_DELAY_SECONDS)
        while True:
            preview = self._previews.get(arrival.address.session_id)
            if (preview is None or not preview.was_shown_within(TYPING_INTERVAL_SECONDS)) and self._pace.allows():
                with contextlib.suppress(TelegramError):
                    await self._bot.send_chat_action(
                        get_chat_id(arrival.address),
                        ChatAction.TYPING,
                        message_thread_id=get_thread_id(arrival.address),
                    )
            await asyncio.sleep(TYPING_INTERVAL_SECONDS)

    async def show_uncommitted(self, arrivals: list[Arrival], parts: Sequence[Part], preview_id: str | None) -> bool:
        """Send a reply past the outbox, and remember its arrivals as answered. Return True if Telegram confirmed it."""
        last, address, reply_to = arrivals[-1], arrivals[-1].address, arrivals[-1].reply_to
        is_closed = is_ephemeral(last.message_id) or await self.features.accepts_ephemeral(get_chat_id(address))
        receiver = find_receiver(last) if is_closed else None  # Elsewhere an ephemeral message might fail
        try:
            for number, part in enumerate(parts):
                if number == 0 and preview_id is not None and isinstance(part, Chunk):
                    await edit_chunk(self._bot, address, preview_id, part)
                else:
                    await send_part(self._bot, address, part, reply_to if number == 0 else None, receiver=receiver)
        except SendFailed as failure:
            log.warning("reply_not_shown", reason=failure.reason)
            return False
        self.shown.update(collect_inbox_ids(arrivals))
        return True


def _make_key(arrival: Arrival) -> tuple[str, str | None, str | None]:
    return arrival.address.session_id, arrival.message_id, arrival.pressed


def find_receiver(arrival: Arrival) -> str | None:
    """Return the only user who may see the answer, with the press that it answers, or None for the whole chat.

    An ephemeral message is answered in the same way. An edit of a public message stays public.
    """
    if not arrival.alone or arrival.asker is None:
        return None
    if arrival.replaces is not None and not is_ephemeral(arrival.replaces):
        return None
    return f"{arrival.asker} {arrival.pressed}" if arrival.pressed else arrival.asker


class _TelegramReply(ReplyChannel):
    """The reply to one turn. Until its first word, `TelegramChannel.busy` shows typing."""

    def __init__(self, channel: TelegramChannel, arrivals: list[Arrival], preview: Preview) -> None:
        self._channel = channel
        self._arrivals = arrivals
        self._preview = preview

    async def show_text(self, text: str) -> None:
        """Preview the answer, except for scheduled tasks and ephemeral answers."""
        last = self._arrivals[-1]
        if last.task is None and find_receiver(last) is None:
            self._preview.show(text)

    async def show_tool(self, name: str) -> None:
        await self.show_text(f"_{name} …_")

    async def ask(self, question: str, keyboard: Keyboard) -> bool:
        return await self._channel.ask(self._arrivals[-1], question, keyboard)

    def can_send_files(self) -> bool:
        return True

    def prepare_file(self, caption: str) -> OutgoingReply:
        last = self._arrivals[-1]
        return OutgoingReply(CHANNEL, caption, last.reply_to, silent=True, receiver=find_receiver(last))

    async def prepare_private_reply(self, text: str, keyboard: Keyboard) -> OutgoingReply | None:
        """Return a message that only the asking user will see, or None if the group accepts no such messages."""
        last = self._arrivals[-1]
        if len({arrival.asker for arrival in self._arrivals}) > 1 or last.asker is None:
            return None
        if not await self._channel.features.accepts_ephemeral(get_chat_id(last.address)):
            return None
        return OutgoingReply(CHANNEL, text, keyboard=keyboard, asker=last.asker, receiver=last.asker)

    async def prepare_reply(self, text: str, keyboard: Keyboard) -> OutgoingReply | None:
        """End the preview and return the reply for the outbox, if any. A message of the preview becomes the reply."""
        await self._preview.close()
        with contextlib.suppress(StoreError):
            # Store received messages that could not be written earlier, before they are marked as answered
            await self._channel.mailbox.inbox.store_waiting()
        if not text and self._preview.message_id is None:
            return None
        last = self._arrivals[-1]
        preview = self._preview
        if preview.message_id is not None and preview.shows is not None:  # The reply may be identical
            self._channel.outbox.shown[last.address.session_id] = preview.message_id, preview.shows
        return OutgoingReply(
            CHANNEL,
            text,
            last.reply_to,
            preview.message_id,
            keyboard,
            last.asker,
            silent=last.is_quiet,
            receiver=find_receiver(last),
        )

    async def deliver_uncommitted(self, text: str) -> bool:
        await self._preview.close()
        return await self._channel.show_uncommitted(self._arrivals, await split_reply(text), self._preview.message_id)

    async def deliver(self, text: str) -> None:
        self._channel.mailbox.inbox.finish_in_memory(collect_inbox_ids(self._arrivals))
        self._channel.outbox.kick(self._arrivals[-1].address.session_id)

    async def on_delivered(self, answer: str) -> None:
        self._channel.attach(self._arrivals, answer)
