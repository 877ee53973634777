"""Updates as they come: those of people who may come in are kept, the others are dealt with on the spot."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from bot.commands.command import parse_command
from bot.commands.conversation import PRIVATE
from bot.telegram.features import is_ephemeral
from bot.telegram.updates import LARGEST, UpdateParser, sender_of
from config.texts import N_, _, use_language
from memory.mail.mailbox import Received

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from telegram import Update

    from bot.jobs.replication import Replication
    from bot.sessions import SessionRunner
    from bot.telegram.access import AccessControl
    from bot.telegram.callbacks import CallbackHandler
    from bot.telegram.channel import TelegramChannel
    from bot.telegram.guest import GuestMode
    from bot.telegram.updates import IncomingMessage, RawUpdate
    from memory.clock import Clock
    from memory.mail.mailbox import Mailbox
    from pipeline.arrival import Arrival

log = structlog.get_logger(__name__)

QUIET = timedelta(seconds=1)
"""An album is whole when nothing has come for so long; its updates come within some tenths of a second."""
MOST = 10
"""Messages that an album has at the most."""
_REMEMBERED = 200
NAMED_WITHIN = timedelta(seconds=5)
"""How long a group's photo may come before the one of its album whose caption names the bot."""
# Photos of groups that are held for so long.
_MOST_HELD = 200

# What only the content of an update can be the reason for: it is skipped, and nobody behind it has to wait.
# All else, as what the database or the disk has to say, is no fault of the update: it is not confirmed and comes again.
_OF_ITS_CONTENT = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError, MemoryError)
_UNREADABLE = N_(
    "I couldn't read your last message: Telegram sent a kind that I don't know yet (update "
    "{number}). Please say it in plain words."
)


class Albums:
    """Tells which albums are meant for us, and which have not arrived whole yet."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._meant: deque[str] = deque(maxlen=_REMEMBERED)
        self._held: deque[tuple[datetime, str, RawUpdate]] = deque(maxlen=_MOST_HELD)

    def __contains__(self, album: object) -> bool:
        """Whether one of its messages was meant for us: in a group only the one with the caption names the bot."""
        return album in self._meant

    def add(self, album: str | None) -> None:
        """A message of it is meant for us."""
        if album is not None and album not in self._meant:
            self._meant.append(album)

    def hold(self, album: str, update: RawUpdate) -> None:
        """Hold an update of an album that nothing says is meant for us so far: in memory, and for a moment only."""
        self._held.append((self._clock(), album, update))

    def take_held(self, album: str | None) -> list[RawUpdate]:
        """What was held of an album that turns out to be meant for us, in the order it came."""
        self.let_go()
        updates = [update for _, of, update in self._held if of == album]
        self._held = deque((held for held in self._held if held[1] != album), maxlen=_MOST_HELD)
        return updates

    def let_go(self) -> None:
        """Forget what was held for long enough. A clock that was set back must not keep it for ever."""
        now = self._clock()
        self._held = deque(
            (held for held in self._held if timedelta() <= now - held[0] < NAMED_WITHIN), maxlen=_MOST_HELD
        )

    def unfinished(self, arrivals: Sequence[tuple[Arrival, datetime]]) -> tuple[int, timedelta]:
        """Of one session's arrivals and when they were received: how many at the end may still be joined by others.

        And after what time to look again. Whatever comes behind an album shows that it is whole.
        """
        album = arrivals[-1][0].album if arrivals else None
        if album is None:
            return 0, timedelta()
        count = 0
        for arrival, _received in reversed(arrivals):
            if arrival.album != album:
                break
            count += 1
        age = self._clock() - arrivals[-1][1]
        # a clock that was set back must not keep it for ever
        if count >= MOST or not timedelta() <= age < QUIET:
            return 0, timedelta()
        return count, QUIET - age


@dataclass(eq=False)
class Receiver:
    """Keeps the updates of those who may come in. arrived: something is in the inbox that was not looked at.

    replication: what is kept stands in the replica too before it is confirmed to Telegram, if that can be had.
    """

    bot_id: int
    channel: TelegramChannel
    mailbox: Mailbox
    door: AccessControl
    runner: SessionRunner
    albums: Albums
    letters: UpdateParser
    presses: CallbackHandler
    guests: GuestMode
    replication: Replication | None = None
    arrived: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    async def receive(self, updates: Sequence[RawUpdate]) -> None:
        """Keep the updates of those who may come in. When this returns they may be confirmed to Telegram.

        Raises StoreError where they can't be kept: they are worked on, and have to come again until they are.
        Of strangers, and of talk among others, nothing is kept.
        """
        accepted = []
        for update, read, alone in await self._read_all(updates):
            try:
                received = await self._admitted(update, read, alone)
            except _OF_ITS_CONTENT as error:
                await self._set_aside(update, error)
                continue
            if received is not None:
                accepted.append((update, received))
        try:
            with self.runner.places.prioritized():
                await self._keep(accepted)
        finally:
            self.arrived.set()  # what can't be kept waits in memory
        if accepted and self.replication is not None:
            await self.replication.synced()  # else a machine that burns now takes along what nobody sends again

    async def _admitted(self, update: RawUpdate, read: Update, alone: IncomingMessage | None) -> Received | None:
        """What is to be kept of an update; the others are dealt with here."""
        if read.guest_message is not None:
            if alone is not None:
                self.guests.take(alone)
            return None
        letter = alone or self._of_album(read)
        letter = self.door.moves.sent_on(letter) if letter is not None else None
        if letter is None:
            await self.door.see_group(read)
            await self._hold_of_album(update, read)
        elif await self.door.is_allowed(letter):
            arrival = letter.arrival
            session_id, new = arrival.address.session_id, self._new_message(letter)
            begins = letter.press is not None or self.runner.begins_at_once(arrival)
            makes_private = parse_command(arrival.text)[0] == PRIVATE
            payload, message_id = update.payload, arrival.message_id
            return Received(update.id, session_id, payload, message_id, new, begins=begins, makes_private=makes_private)
        elif letter.press is not None:
            self.presses.reject(letter)
        else:
            await self.door.reject(letter)
        return None

    def _new_message(self, letter: IncomingMessage) -> str | None:
        """The name of the message that a letter brings; another bot on the same data counts from one again."""
        number = letter.arrival.message_id
        if letter.edited or letter.press is not None or number is None or is_ephemeral(number):
            return None  # a number of those may come again once its message has gone
        return f"{self.bot_id}/{letter.arrival.address.chat_id}/{number}"

    async def _keep(self, updates: Sequence[tuple[RawUpdate, Received]]) -> None:
        """Put what was received into the inbox: all of it, or each alone where one is something that it can't hold."""
        try:
            await self.mailbox.receive([received for _, received in updates])
        except _OF_ITS_CONTENT as error:
            if len(updates) == 1:
                await self._set_aside(updates[0][0], error)
                return
            for update in updates:
                await self._keep([update])

    async def _read_all(self, updates: Sequence[RawUpdate]) -> list[tuple[RawUpdate, Update, IncomingMessage | None]]:
        """Each update alone, with the letter in it; those that can't be read are set aside."""
        readable = []
        for update in updates:
            try:
                read, letter = self.letters.read(update)
            except Exception as error:  # noqa: BLE001  # whatever the library makes of what it does not know
                await self._set_aside(update, error)
                continue
            if letter is not None and not letter.private:
                self.albums.add(letter.arrival.album)
                readable += [(held, *self.letters.read(held)) for held in self.albums.take_held(letter.arrival.album)]
            readable.append((update, read, letter))
        return readable

    async def _hold_of_album(self, update: RawUpdate, read: Update) -> None:
        """Hold a photo of an album in a group: the one whose caption names the bot may come with the next poll."""
        letter = self.letters.parse(read, kept=True)
        if letter is None or letter.private or letter.edited or letter.arrival.album is None:
            return
        if await self.door.is_allowed(letter):
            self.albums.hold(letter.arrival.album, update)

    def _of_album(self, read: Update) -> IncomingMessage | None:
        """What belongs to an album that is meant for us: in a group the message that names the bot may come last."""
        message = read.message or read.edited_message
        if message is None or message.media_group_id not in self.albums:
            return None
        return self.letters.parse(read)

    async def _set_aside(self, update: RawUpdate, error: Exception) -> None:
        """Tell who sent what can't be read that it can't, and keep it apart, where that is possible."""
        # not the error's own words: they may quote the message
        log.error("update_unreadable", update=update.id, error=type(error).__name__)
        sender = sender_of(update, self.channel)
        if sender is None:
            return
        admitted = await self.door.is_allowed(sender)
        if sender.press is not None:  # nothing of it is lost: it is pressed again, or typed
            self.presses.refuse_unread(sender, admitted=admitted)
        elif sender.private and admitted:
            session_id = sender.arrival.address.session_id
            with use_language(await self.runner.languages.of_chat(sender.arrival.address.owner)):
                sentence = _(_UNREADABLE, number=update.id)
            if update.id > LARGEST:  # no number that the database holds
                await self.mailbox.answer(session_id, sentence)
            else:
                await self.mailbox.set_aside(Received(update.id, session_id, update.payload), sentence)
            self.channel.outbox.kick(session_id)
