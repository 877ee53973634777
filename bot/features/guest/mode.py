"""Guest mode: the owner mentions the bot in a chat without it, and gets one message as an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import structlog
from telegram import Bot, InlineQueryResultArticle, InputTextMessageContent, LinkPreviewOptions, Update

from bot.commands.command import parse_command
from bot.sessions import SessionRunner
from bot.tasks import BackgroundTasks
from bot.telegram.access import AccessControl
from bot.telegram.calls import call_with_entities
from bot.telegram.failures import SendFailed, Trouble
from bot.telegram.rendering import MAX_TEXT_UNITS, Chunk, render
from bot.telegram.updates import IncomingMessage, UpdateParser, remove_mention
from config.texts import N_, _, use_language
from config.waiting import Backoff
from memory.buttons import Keyboard
from memory.errors import StoreError
from memory.log.sessions import GUEST, Address
from memory.messages import Document, Provenance
from memory.store.private import PrivateTalks
from pipeline.arrival import Arrival, Channel, ReplyChannel

log = structlog.get_logger(__name__)

MAX_ATTEMPTS = 3
"""Maximum number of attempts to send an answer that may not have arrived. Telegram accepts one per query."""
_CUT = "\n[...]"
_NO_COMMANDS = N_("Commands work only in chats where I'm a member: send them to me in private.")


class GuestMode:
    """Answers the owner's mentions in chats that the bot hasn't joined, with turns of the ordinary pipeline.

    Mentions by other users are ignored.

    Args:
        remembers: whether each such chat has its own memory, as a group has. Otherwise each query is a separate private
            talk, which exists in memory until it is answered, so that a crash loses it.
    """

    def __init__(
        self,
        bot: Bot,
        access: AccessControl,
        runner: SessionRunner,
        private: PrivateTalks,
        tasks: BackgroundTasks,
        *,
        remembers: bool,
    ) -> None:
        self._bot = bot
        self._channel = _GuestChannel(bot)
        self._access = access
        self._runner = runner
        self._private = private
        self._tasks = tasks
        self._remembers = remembers
        self._one_at_a_time = asyncio.Lock()

    @property
    def kinds(self) -> Sequence[str]:
        return (Update.GUEST_MESSAGE,)

    def handle(self, update: Update, parser: UpdateParser) -> bool:
        mention = update.guest_message
        if mention is None:
            return False
        message = parser.parse(Update(update.update_id, message=mention), kept=True)
        if message is not None:
            self._tasks.start(self._answer(message, mention.guest_query_id), "guest")
        return True

    async def _answer(self, message: IncomingMessage, query: str | None) -> None:
        """Answer a mention. The answer has to name its query, which replaces the id of the message."""
        text = message.arrival.text
        # Private chats are those of two users
        text = remove_mention(text, self._bot.bot) if message.private else text
        arrival = replace(message.arrival, text=text, speaker=None, message_id=query)
        is_typed = arrival.provenance is Provenance.TYPED and not message.anonymous
        if not is_typed or not await self._access.is_owner(message.user_id):
            log.info("guest_query_ignored", user=message.user_id)
            return
        chat_id = arrival.address.chat_id if self._remembers else str(message.user_id)
        arrival = replace(arrival, address=Address(GUEST, chat_id), channel=self._channel)
        if parse_command(arrival.text)[0]:
            with use_language(arrival.language):
                await self._channel.say(arrival, _(_NO_COMMANDS))
        elif self._remembers:
            await self._runner.submit(arrival)
        else:
            async with self._one_at_a_time:
                await self._answer_privately(arrival)

    async def _answer_privately(self, arrival: Arrival) -> None:
        session_id, sessions = arrival.address.session_id, self._runner.sessions
        try:
            await sessions.get_or_create(arrival.address)
            await self._private.end(session_id)  # In case a crash left one
            await self._private.begin(session_id)
            try:
                await self._runner.submit(arrival)
                await self._runner.wait_until_idle(session_id)
            finally:
                await self._private.end(session_id)
                await sessions.delete(session_id)
        except StoreError as error:  # Without a private talk the query would be stored, so it gets no answer
            log.warning("guest_query_failed", reason=error.loggable)


class _GuestChannel(Channel):
    """The channel of guest queries. One message answers each of them. Questions and previews are impossible."""

    def __init__(self, bot: Bot) -> None:
        self._bot = bot

    def reply_channel(self, arrivals: list[Arrival]) -> ReplyChannel:
        return _GuestReply(self._bot, arrivals[-1].message_id or "")

    async def say(self, arrival: Arrival, text: str, keyboard: Keyboard = (), document: Document | None = None) -> None:
        await self.reply_channel([arrival]).deliver(text)

    async def can_manage(self, arrival: Arrival) -> bool:
        """Return False, since commands don't run in guest mode."""
        return False

    async def is_owner(self, arrival: Arrival) -> bool:
        return False


class _GuestReply(ReplyChannel):
    """The reply to a guest query. It has no preview and bypasses the outbox, since queries expire."""

    def __init__(self, bot: Bot, query: str) -> None:
        self._bot = bot
        self._query = query

    async def deliver(self, text: str) -> None:
        chunks = await asyncio.to_thread(render, text, MAX_TEXT_UNITS - len(_CUT))
        if not chunks:
            return
        chunk = chunks[0] if len(chunks) == 1 else Chunk(chunks[0].text + _CUT, chunks[0].entities)
        backoff = Backoff()
        for _attempt in range(MAX_ATTEMPTS):
            try:
                await call_with_entities(self._answer, chunk)
            except SendFailed as failure:
                log.warning("guest_query_not_answered", reason=failure.reason)
                if failure.trouble is Trouble.NEVER:
                    return
                await backoff.wait(at_least=failure.pause)
            else:
                return

    async def _answer(self, chunk: Chunk) -> str:
        content = InputTextMessageContent(
            chunk.text, entities=chunk.entities, link_preview_options=LinkPreviewOptions(is_disabled=True)
        )
        result = InlineQueryResultArticle("answer", self._bot.first_name, content)
        return (await self._bot.answer_guest_query(self._query, result)).inline_message_id
