"""Receives updates: stores those of admitted users in the inbox, and handles the others at once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog
from telegram import Update

from bot.commands.command import parse_command
from bot.commands.conversation import PRIVATE
from bot.monitoring import Safeguard
from bot.sessions import SessionRunner
from bot.telegram import CHANNEL
from bot.telegram.access import AccessControl
from bot.telegram.callbacks import CallbackHandler
from bot.telegram.channel import TelegramChannel
from bot.telegram.features import is_ephemeral
from bot.telegram.part import UpdateHandler
from bot.telegram.raw_updates import MAX_INTEGER, RawUpdate
from bot.telegram.topics import TopicNames
from bot.telegram.updates import IncomingMessage, UpdateParser, identify_sender
from config.texts import N_, _, use_language
from memory.clock import Clock
from memory.log.sessions import Address
from memory.mail.inbox import ReceivedUpdate
from memory.mail.mailbox import Mailbox
from memory.store.button_rows import OutgoingReply
from pipeline.arrival import Arrival

log = structlog.get_logger(__name__)

ALBUM_QUIET_TIME = timedelta(seconds=1)
"""An album is complete after this long without another update. Its updates arrive within tenths of a second."""
MAX_ALBUM_MESSAGES = 10
_MAX_REMEMBERED_ALBUMS = 200
MAX_MENTION_DELAY = timedelta(seconds=5)
"""Maximum time between a photo in a group and the caption in the same album that mentions the bot."""
_MAX_HELD_UPDATES = 200

# Errors that only the content of an update can cause. The update is skipped, so that it doesn't block those behind it.
# After other errors, as from the database or the disk, it isn't confirmed, and Telegram sends it again.
_OF_ITS_CONTENT = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError, MemoryError)
_UNREADABLE = N_(
    "I couldn't read your last message: Telegram sent a type that I don't know yet (update {number}). Please send it"
    " as text."
)


class Albums:
    """Tracks which albums are addressed to the bot and which are incomplete."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._addressed: deque[str] = deque(maxlen=_MAX_REMEMBERED_ALBUMS)
        self._held: deque[tuple[datetime, str, RawUpdate]] = deque(maxlen=_MAX_HELD_UPDATES)

    def __contains__(self, album: object) -> bool:
        """Return True if any message of the album is addressed to the bot. In groups only the caption mentions it."""
        return album in self._addressed

    def add(self, album: str | None) -> None:
        if album is not None and album not in self._addressed:
            self._addressed.append(album)

    def hold(self, album: str, update: RawUpdate) -> None:
        """Keep an update in memory for a moment, until another message of its album mentions the bot."""
        self._held.append((self.clock(), album, update))

    def take_held(self, album: str | None) -> list[RawUpdate]:
        self.drop_expired()
        updates = [update for _, album_of, update in self._held if album_of == album]
        self._held = deque((held for held in self._held if held[1] != album), maxlen=_MAX_HELD_UPDATES)
        return updates

    def drop_expired(self) -> None:
        """Drop updates after MAX_MENTION_DELAY, or if the clock was set back since."""
        now = self.clock()
        self._held = deque(
            (held for held in self._held if timedelta() <= now - held[0] < MAX_MENTION_DELAY), maxlen=_MAX_HELD_UPDATES
        )

    def count_unfinished(
        self, arrivals: Sequence[tuple[Arrival, datetime]], read_at: datetime
    ) -> tuple[int, timedelta]:
        """Return how many of the last arrivals may belong to an incomplete album, and when to check again.

        Any message behind an album shows that it is complete.

        Args:
            arrivals: those of one session, with the times when they were received.
            read_at: a time before they were read. Later ones could be missing in `arrivals`.
        """
        album = arrivals[-1][0].album if arrivals else None
        if album is None:
            return 0, timedelta()
        count = 0
        for arrival, _received in reversed(arrivals):
            if arrival.album != album:
                break
            count += 1
        age = read_at - arrivals[-1][1]
        # If the clock was set back, the album counts as complete
        if count >= MAX_ALBUM_MESSAGES or abs(age) >= ALBUM_QUIET_TIME:
            return 0, timedelta()
        return count, ALBUM_QUIET_TIME - max(age, timedelta())


@dataclass(eq=False)
class Receiver:
    """Stores the updates of admitted users.

    Args:
        arrived: set when the inbox has new items.
        handlers: handle certain updates instead of the inbox.
        safeguards: protect stored updates before Telegram gets its confirmation, after which it never sends them again.
    """

    bot_id: int
    channel: TelegramChannel
    mailbox: Mailbox
    access: AccessControl
    runner: SessionRunner
    albums: Albums
    parser: UpdateParser
    callbacks: CallbackHandler
    handlers: Sequence[UpdateHandler]
    topics: TopicNames
    safeguards: Sequence[Safeguard] = ()
    arrived: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    async def receive(self, updates: Sequence[RawUpdate]) -> None:
        """Store the updates of admitted users, after which they may be confirmed to Telegram.

        Updates of strangers and conversations among others are not stored. Raises StoreError if the inbox can't be
        written. The updates are handled anyway, and Telegram has to send them again until they are stored.
        """
        accepted = []
        for update, read, parsed in await self._read_all(updates):
            try:
                received = await self._handle_update(update, read, parsed)
            except _OF_ITS_CONTENT as error:
                await self._set_aside(update, error)
                continue
            if received is not None:
                accepted.append((update, received))
        try:
            with self.runner.limiter.prioritized():
                await self._store(accepted)
        finally:
            self.arrived.set()  # Updates that can't be stored wait in memory
        for safeguard in self.safeguards if accepted else ():
            await safeguard.wait_until_safe()

    async def _handle_update(
        self, update: RawUpdate, read: Update, parsed: IncomingMessage | None
    ) -> ReceivedUpdate | None:
        """Return what to store of an update. Other updates are handled here."""
        if any(handler.handle(read, self.parser) for handler in self.handlers):
            return None
        message = parsed or self._read_album_message(read)
        message = self.access.migrations.redirect(message) if message is not None else None
        if message is None:
            await self.access.handle_group_update(read)
            await self._track_topic(read)
            await self._hold_album_photo(update, read)
        elif await self.access.is_allowed(message):
            arrival = message.arrival
            session_id, new = arrival.address.session_id, self._make_message_key(message)
            if message.press is not None and update.pressed is not None:
                self.callbacks.keep_text(message.press, update.pressed)
            begins = message.press is not None or self.runner.starts_immediately(arrival)
            makes_private = parse_command(arrival.text)[0] == PRIVATE
            payload, message_id = update.payload, arrival.message_id
            return ReceivedUpdate(
                update.id, session_id, payload, message_id, new, begins=begins, makes_private=makes_private
            )
        elif message.press is not None:
            self.callbacks.reject(message)
        else:
            await self.access.reject(message)
        return None

    async def _track_topic(self, read: Update) -> None:
        message = read.message
        if message is not None and await self.access.serves(Address(CHANNEL, str(message.chat.id)).session_id):
            await self.topics.track(read)

    def _make_message_key(self, message: IncomingMessage) -> str | None:
        """Return a unique key of a new message, including the bot: another bot may use the same numbers."""
        number = message.arrival.message_id
        if message.edited or message.press is not None or number is None or is_ephemeral(number):
            return None  # The number of an ephemeral message may be used again after that is deleted
        return f"{self.bot_id}/{message.arrival.address.chat_id}/{number}"

    async def _store(self, updates: Sequence[tuple[RawUpdate, ReceivedUpdate]]) -> None:
        """Write updates into the inbox, separately if writing them together fails because of their content."""
        try:
            await self.mailbox.inbox.receive([received for _, received in updates])
        except _OF_ITS_CONTENT as error:
            if len(updates) == 1:
                await self._set_aside(updates[0][0], error)
                return
            for update in updates:
                await self._store([update])

    async def _read_all(self, updates: Sequence[RawUpdate]) -> list[tuple[RawUpdate, Update, IncomingMessage | None]]:
        """Parse each update on its own, and set unreadable ones aside."""
        readable = []
        for update in updates:
            try:
                read, message = self.parser.read(update)
            except Exception as error:  # noqa: BLE001  # The library raises many types for unknown content
                await self._set_aside(update, error)
                continue
            if message is not None and not message.private:
                self.albums.add(message.arrival.album)
                readable += [(held, *self.parser.read(held)) for held in self.albums.take_held(message.arrival.album)]
            readable.append((update, read, message))
        return readable

    async def _hold_album_photo(self, update: RawUpdate, read: Update) -> None:
        """Hold a photo of a group's album: the caption that mentions the bot may arrive with the next poll."""
        message = self.parser.parse(read, kept=True)
        if message is None or message.private or message.edited or message.arrival.album is None:
            return
        if await self.access.is_allowed(message):
            self.albums.hold(message.arrival.album, update)

    def _read_album_message(self, read: Update) -> IncomingMessage | None:
        """Return the message if its album is addressed to the bot. The message with the mention may come last."""
        message = read.message or read.edited_message
        if message is None or message.media_group_id not in self.albums:
            return None
        return self.parser.parse(read)

    async def _set_aside(self, update: RawUpdate, error: Exception) -> None:
        # Not the text of the error, which may quote the message
        log.error("update_unreadable", update=update.id, error=type(error).__name__)
        sender = identify_sender(update, self.channel)
        if sender is None:
            return
        admitted = await self.access.is_allowed(sender)
        if sender.press is not None:  # Not set aside, since the user can press again
            self.callbacks.refuse_unread(sender, admitted=admitted)
        elif sender.private and admitted:
            session_id = sender.arrival.address.session_id
            with use_language(await self.runner.languages.get_for_chat(sender.arrival.address.owner)):
                sentence = _(_UNREADABLE, number=update.id)
            if update.id > MAX_INTEGER:  # Too large for the database
                await self.mailbox.outbox.answer(session_id, OutgoingReply(CHANNEL, sentence))
            else:
                await self.mailbox.inbox.set_aside(ReceivedUpdate(update.id, session_id, update.payload), sentence)
            self.channel.outbox.kick(session_id)
