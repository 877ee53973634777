"""The inbox worker: reads stored updates and passes them to the sessions. An item stays until it is finished."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import structlog

from bot.commands.command import parse_command
from bot.commands.conversation import STOP
from bot.jobs.due import Due
from bot.sessions import SessionRunner
from bot.tasks import BackgroundTasks
from bot.telegram.access import AccessControl
from bot.telegram.bursts import choose_wait
from bot.telegram.callbacks import CallbackHandler
from bot.telegram.calls import get_chat_id
from bot.telegram.channel import TelegramChannel
from bot.telegram.raw_updates import convert_edit
from bot.telegram.receiving import Albums
from bot.telegram.updates import IncomingMessage, UpdateParser
from config.texts import N_, _, use_language
from config.waiting import wait_at_most
from memory.buttons import Button, Keyboard
from memory.errors import StoreError
from memory.ledger.entries import EntryStore
from memory.log.sessions import Address
from memory.log.speakers import Speakers
from memory.mail.inbox import InboxItem, is_scheduled
from memory.mail.mailbox import Mailbox
from memory.messages import Provenance
from memory.runtime.jobs import MAX_ATTEMPTS
from pipeline.arrival import Arrival, collect_inbox_ids, create_task_arrival, explain_given_up
from pipeline.models.endpoint import load_sdk

log = structlog.get_logger(__name__)

SWEEP_INTERVAL_SECONDS = 5.0
MAX_RETRY_PAUSE_SECONDS = 300.0
"""Maximum number of seconds before an unfinished item is tried again."""
_ANONYMOUS = N_(
    "You're writing as a group or a channel, so I can't tell who you are: write to me as yourself. If you're a group"
    ' administrator, turn off "Remain anonymous" first.'
)
_LOST = N_(
    "I was restarted while I was working on this, and nothing is saved in a private conversation: send it again."
)
_COMMANDS_ALONE = N_(
    "In a message that only you can see I accept only commands, because I remember what is said here for the whole"
    " group: write to me in private."
)
_TOO_LATE = N_("I read that message before you edited it: send it again to get an answer to the new version.")


@dataclass(slots=True)
class _Attempts:
    """Number of attempts at an item, and the earliest time of the next one (event loop time)."""

    count: int = 0
    not_before: float = 0


@dataclass(eq=False)
class InboxWorker:
    channel: TelegramChannel
    mailbox: Mailbox
    access: AccessControl
    runner: SessionRunner
    albums: Albums
    speakers: Speakers
    parser: UpdateParser
    callbacks: CallbackHandler
    due: Due
    entries: EntryStore
    arrived: asyncio.Event
    tasks: BackgroundTasks
    _seconds_to_sweep: float = field(default=SWEEP_INTERVAL_SECONDS, init=False)
    _attempts: dict[int, _Attempts] = field(default_factory=dict, init=False)
    _handovers: dict[asyncio.Task[None], tuple[str, set[int]]] = field(default_factory=dict, init=False)
    # When messages that may belong to a burst arrived, as event loop time
    _arrived: dict[int, float] = field(default_factory=dict, init=False)

    async def start(self) -> None:
        """Handle items that an earlier run left, then new ones in the background."""
        await self._sweep()
        self.tasks.start(self._work(), "inbox")

    async def close(self) -> None:
        """Write pending changes, after everything that receives has stopped."""
        with contextlib.suppress(StoreError):
            await self._write_pending()

    async def _work(self) -> None:
        while True:
            await wait_at_most(self.arrived, min(self._seconds_to_sweep, SWEEP_INTERVAL_SECONDS))
            self.arrived.clear()
            with self.runner.limiter.prioritized():
                await self._sweep()

    async def _sweep(self) -> None:
        """Handle all items that are not being handled yet. Failures are tried again later."""
        with contextlib.suppress(StoreError):  # A full disk must not keep anyone from an answer
            await self._write_pending()
        try:
            self.albums.drop_expired()
            # Before reading the inbox, so that items finished in between are excluded
            active = self.runner.list_active_inbox_ids() | self.callbacks.list_active_inbox_ids() | self.channel.shown
            active = active.union(*(ids for _, ids in self._handovers.values()))
            # Times before the list is read, since an update received meanwhile isn't in it
            read_at, loop_time = self.albums.clock(), asyncio.get_running_loop().time()
            waiting = await self.mailbox.inbox.list_waiting(but=active)
        except Exception:
            log.exception("inbox_unreadable")
            return
        known = active.union(item.id for item in waiting)
        self._attempts = {inbox_id: attempts for inbox_id, attempts in self._attempts.items() if inbox_id in known}
        free = [item for item in waiting if self._is_due(item)]
        by_session: dict[str, list[Arrival]] = {}
        for arrival in await self._read(free):
            by_session.setdefault(arrival.address.session_id, []).append(arrival)
        self._seconds_to_sweep = SWEEP_INTERVAL_SECONDS
        self._hold_incomplete_albums(by_session, {item.id: item.received_at for item in free}, read_at)
        self._hold_bursts(by_session, loop_time)
        if by_session:
            await load_sdk()  # Now and not in a turn, where a kill during the import would count as an attempt
        try:
            await self.runner.prepare([arrivals[-1] for arrivals in by_session.values()])
        except Exception:
            log.exception("sessions_not_opened")
        # Concurrently and in the background, so that /stop in one chat doesn't wait for the sessions of others
        for session_id, arrivals in by_session.items():
            task = self.tasks.start(self._hand_over(arrivals, self._list_running_handovers(session_id)), "arrivals")
            self._handovers[task] = session_id, set(collect_inbox_ids(arrivals))
            task.add_done_callback(self._handovers.pop)

    def _hold_incomplete_albums(
        self, by_session: dict[str, list[Arrival]], received: dict[int, datetime], read_at: datetime
    ) -> None:
        for session_id, arrivals in list(by_session.items()):
            with_times = [(arrival, received[arrival.inbox_id or 0]) for arrival in arrivals]
            count, remaining = self.albums.count_unfinished(with_times, read_at)
            if count:
                self._hold(by_session, session_id, count, remaining.total_seconds())

    def _hold_bursts(self, by_session: dict[str, list[Arrival]], now: float) -> None:
        """Hold the last messages of sessions without a turn while others may follow them."""
        ids = {arrival.inbox_id or 0 for arrivals in by_session.values() for arrival in arrivals}
        self._arrived = {inbox_id: self._arrived.get(inbox_id, now) for inbox_id in ids}
        for session_id, arrivals in list(by_session.items()):
            if not self.runner.queues.is_idle(session_id):
                continue
            burst = list(itertools.takewhile(_may_continue, reversed(arrivals)))[::-1]
            if not burst:
                continue
            wait = choose_wait(burst, [self._arrived[arrival.inbox_id or 0] for arrival in burst], now)
            if wait > 0:
                self._hold(by_session, session_id, len(burst), wait)

    def _hold(self, by_session: dict[str, list[Arrival]], session_id: str, count: int, seconds: float) -> None:
        """Leave the last arrivals of a session to a later sweep."""
        self._seconds_to_sweep = min(self._seconds_to_sweep, seconds)
        arrivals = by_session.pop(session_id)
        for arrival in arrivals[-count:]:
            del self._attempts[arrival.inbox_id or 0]
        if arrivals[:-count]:
            by_session[session_id] = arrivals[:-count]

    def _list_running_handovers(self, session_id: str) -> list[asyncio.Task[None]]:
        return [task for task, (session, _) in self._handovers.items() if session == session_id]

    async def _hand_over(self, arrivals: list[Arrival], before: list[asyncio.Task[None]]) -> None:
        """Submit the arrivals of one session in order. Consecutive messages are submitted together."""
        await asyncio.gather(*before, return_exceptions=True)
        if self.access.migrations.is_moving(get_chat_id(arrivals[0].address)):
            return
        try:
            for is_command, group in itertools.groupby(arrivals, lambda arrival: bool(parse_command(arrival.text)[0])):
                for batch in [[item] for item in group] if is_command else [list(group)]:
                    await self.runner.submit(*batch)
        except Exception:
            log.exception("arrivals_not_taken", session=arrivals[0].address.session_id)

    async def _write_pending(self) -> None:
        """Write received updates and answers that could not be written earlier, then mark their items as done."""
        await self.mailbox.inbox.store_waiting()
        await self.runner.write_pending()
        if visible := set(self.channel.shown):
            await self.mailbox.inbox.finish(visible)
            self.channel.shown -= visible

    def _is_due(self, item: InboxItem) -> bool:
        """Return True if an item may be tried now. The pause doubles with each attempt."""
        now = asyncio.get_running_loop().time()
        attempts = self._attempts.setdefault(item.id, _Attempts())
        if now < attempts.not_before:
            return False
        pause = min(SWEEP_INTERVAL_SECONDS * 2**attempts.count, MAX_RETRY_PAUSE_SECONDS)
        attempts.not_before = now + pause - SWEEP_INTERVAL_SECONDS
        attempts.count += 1
        return True

    async def _read(self, items: Sequence[InboxItem]) -> list[Arrival]:
        """Return the arrivals in items. A failure affects only its own item."""
        arrivals: dict[int, Arrival] = {}
        for item in items:
            try:
                if is_scheduled(item.payload):
                    await self._take_task(item, arrivals)
                    continue
                message = await self._route(item)
                if message is not None:
                    await self._take(item, message, arrivals)
            except Exception:
                log.exception("update_not_taken", update=item.update_id)
        return list(arrivals.values())

    async def _take_task(self, item: InboxItem, arrivals: dict[int, Arrival]) -> None:
        """Add a due task to the arrivals, if it still exists and its chat still has access."""
        run = await self.due.find_run(item.payload, item.received_at)
        if run is None or not await self.access.serves(run.session_id):
            await self.mailbox.inbox.finish([item.id])
        else:
            arrival = create_task_arrival(run, self.channel, item.id, item.attempts)
            arrivals[item.id] = replace(arrival, held=item.held)

    async def _route(self, item: InboxItem) -> IncomingMessage | None:
        """Return the message in an item if it is for the sessions. Handle other items here."""
        if item.is_lost:
            await self._tell_lost(item)
            return None
        message = self.parser.parse_stored(item.payload)
        message = self.access.migrations.redirect(message) if message is not None else None
        if message is not None and self.access.migrations.is_moving(get_chat_id(message.arrival.address)):
            del self._attempts[item.id]
            return None
        # Access may have been revoked since
        if message is None or not await self.access.is_allowed(message):
            await self.mailbox.inbox.finish([item.id])
        elif item.attempts >= MAX_ATTEMPTS and _starts_no_turn(message):
            await self._give_up(item, message)
        elif message.press is not None:
            self.callbacks.take(item, message)
        elif message.anonymous:
            await self._reject_anonymous(item, message)
        else:
            return message
        return None

    async def _tell_lost(self, item: InboxItem) -> None:
        arrival = Arrival(
            address=Address.parse(item.session_id),
            text="",
            provenance=Provenance.TYPED,
            received_at=item.received_at,
            channel=self.channel,
            inbox_id=item.id,
        )
        await self._tell(arrival, _LOST)

    async def _reject_anonymous(self, item: InboxItem, message: IncomingMessage) -> None:
        if message.edited:
            await self.mailbox.inbox.finish([item.id])
        else:
            await self._tell(replace(message.arrival, inbox_id=item.id), _ANONYMOUS)

    async def _tell(self, arrival: Arrival, text: str) -> None:
        with use_language(await self.runner.languages.choose(arrival)):
            await self.channel.say(arrival, _(text))

    async def _take(self, item: InboxItem, message: IncomingMessage, arrivals: dict[int, Arrival]) -> None:
        """Add the arrival in a message to the others if it should be submitted."""
        arrival = replace(message.arrival, inbox_id=item.id, held=item.held, attempts=item.attempts)
        for contact in message.contacts:
            await self.access.access.contacts.store(contact.number, contact.name, contact.username)
        if message.chosen is not None:
            chosen = await self.callbacks.resolve_choice(item, message.chosen, arrival)
            if chosen is not None:
                arrivals[item.id] = chosen
            return
        if arrival.speaker is not None and arrival.speaker_id is not None:
            # Within the group this name is unique
            name = await self.speakers.choose_name(arrival.address.owner, arrival.speaker_id, arrival.speaker)
            arrival = replace(arrival, speaker=name)
        if arrival.quoted is not None and message.quoted_reply is not None:
            made_of = await self.mailbox.outbox.find_provenance(item.session_id, message.quoted_reply)
            arrival = replace(arrival, quoted=replace(arrival.quoted, provenance=made_of))
        if parse_command(arrival.text)[0] == STOP and arrival.provenance is Provenance.TYPED:
            self.channel.outbox.stop(arrival.address.session_id)
        answering = await self.callbacks.resolve_answer(item, message, arrival)
        if answering.alone and not parse_command(answering.text)[0]:
            await self._tell(answering, _COMMANDS_ALONE)  # The log of the group is visible to all its members
            return
        handled = await self._handle_edit(item, arrival, answering, arrivals) if message.edited else answering
        if handled is not None and handled.inbox_id is not None:
            arrivals[handled.inbox_id] = handled

    async def _give_up(self, item: InboxItem, message: IncomingMessage) -> None:
        """Give up on an update that crashed the program repeatedly, and tell its sender."""
        log.error("update_given_up", update=item.update_id, killed=item.attempts)
        with use_language(await self.runner.languages.choose(message.arrival)):
            await self.channel.say(replace(message.arrival, inbox_id=item.id), explain_given_up([message.arrival]))

    async def _handle_edit(
        self, item: InboxItem, edit: Arrival, meaning: Arrival, pending: dict[int, Arrival]
    ) -> Arrival | None:
        """Apply an edit to its message if that waits, or tell the user that it is too late.

        Return an arrival if the edit has to be answered.

        Args:
            meaning: the edit, or if it answers a question of the bot, the resulting command.
        """
        # The update of a live location, or a message of a group that has another id now
        if (not edit.text and not edit.files) or edit.message_id is None:
            await self.mailbox.inbox.finish([item.id])
            return None
        await asyncio.gather(*self._list_running_handovers(item.session_id), return_exceptions=True)
        before = next(
            (a for a in pending.values() if (a.address, a.message_id) == (edit.address, edit.message_id)), None
        )
        waiting = before or self.runner.queues.replace_waiting(meaning)
        if waiting is not None and waiting.inbox_id is not None:
            await self.mailbox.inbox.correct(item, waiting.inbox_id, convert_edit(item.payload))
            return None if before is None else replace(before, text=meaning.text, files=meaning.files)
        former = await self.mailbox.inbox.find_earlier_payload(item, edit.message_id)
        if former is None:
            return meaning  # The former version was not addressed to the bot, so it was never read
        read = self._parse_former(former)
        if _has_same_content(edit, read):
            await self.mailbox.inbox.finish([item.id])  # For example, a link got its preview
        elif read is not None and await self._is_remembered(edit, read):
            return replace(meaning, corrects=read.text)  # The memory has to follow the edit, so it gets an answer
        else:
            with use_language(await self.runner.languages.choose(edit)):
                # For a private talk that has ended there is no button, since it would store the words
                await self.channel.say(edit, _(_TOO_LATE), _create_answer_button(edit) if read is not None else ())
        return None

    async def _is_remembered(self, edit: Arrival, read: Arrival) -> bool:
        """Return True if something was learned from the message, and the edit consists of typed words only."""
        is_typed = bool(edit.text) and not edit.files and edit.provenance is Provenance.TYPED
        return is_typed and bool(await self.entries.list_captured(edit.address.session_id, read.text))

    def _parse_former(self, payload: str) -> Arrival | None:
        """Return the message in an earlier update, or None if its payload was deleted."""
        with contextlib.suppress(Exception):
            message = self.parser.parse_stored(payload)
            return message.arrival if message is not None else None
        return None


def _create_answer_button(edit: Arrival) -> Keyboard:
    """Return a button that sends the edited text again, if it consists of typed words only."""
    if not edit.text or edit.files or edit.provenance is not Provenance.TYPED:
        return ()
    return ((Button(_("Answer it now"), edit.text),),)


def _has_same_content(arrival: Arrival, other: Arrival | None) -> bool:
    return other is not None and (arrival.text, _list_file_ids(arrival)) == (other.text, _list_file_ids(other))


def _list_file_ids(arrival: Arrival) -> set[str]:
    return {file.unique_id for file in arrival.files if not file.quoted}


def _may_continue(arrival: Arrival) -> bool:
    """Return True if an arrival is a message that may share its turn with the next one."""
    is_new = not arrival.held and arrival.attempts == 0 and arrival.corrects is None and arrival.pressed is None
    return is_new and arrival.task is None and not arrival.alone and not parse_command(arrival.text)[0]


def _starts_no_turn(message: IncomingMessage) -> bool:
    """Return True if a message starts no turn. Otherwise the turn records that it was given up."""
    return message.press is not None or message.edited or bool(parse_command(message.arrival.text)[0])
