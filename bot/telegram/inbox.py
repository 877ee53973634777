"""From the inbox to the sessions: it is where work comes from, so nothing in it is ever forgotten."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import structlog

from bot.commands.command import parse_command
from bot.commands.conversation import STOP
from bot.telegram.calls import chat_of
from bot.telegram.updates import UpdateParser, as_new
from config.texts import N_, _, use_language
from config.waiting import wait_at_most
from memory.buttons import Button
from memory.errors import StoreError
from memory.log.sessions import Address
from memory.messages import Provenance
from memory.reminders.delivery import is_task
from memory.service.jobs import MOST_ATTEMPTS
from pipeline.arrival import Arrival, given_up, inbox_ids, task_arrival
from pipeline.models.client import load_sdk

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from bot.sessions import SessionRunner
    from bot.tasks import BackgroundTasks
    from bot.telegram.access import AccessControl
    from bot.telegram.callbacks import CallbackHandler
    from bot.telegram.channel import TelegramChannel
    from bot.telegram.receiving import Albums
    from bot.telegram.updates import IncomingMessage
    from memory.buttons import Keyboard
    from memory.facts.corrections import Corrections
    from memory.log.speakers import Speakers
    from memory.mail.mailbox import InboxItem, Mailbox
    from memory.reminders.delivery import Tasks

log = structlog.get_logger(__name__)

SWEEP_PAUSE = 5.0
"""Seconds after which the inbox is looked through again, for what could not be worked on, or not finished."""
LONGEST_REST = 300.0
"""Seconds at most before something is taken again that was taken before and did not come to its end."""
_NOBODY = N_(
    "You write in the name of a group or a channel, so I can't know who you are: write to me as yourself. An "
    'administrator of a group can do so with "Remain anonymous" switched off.'
)
_LOST = N_("I was restarted while I worked on this, and of a private talk nothing is kept: send it again.")
_COMMANDS_ALONE = N_(
    "In a message that nobody else here sees I take commands only, since what is said here is remembered for the whole "
    "group: write to me in private."
)
_TOO_LATE = N_("I had read that message before you edited it: send it again to have the new version answered.")


@dataclass(slots=True)
class _Tries:
    """How often an item was taken, and when it may be taken again (in the event loop's time)."""

    count: int = 0
    not_before: float = 0


@dataclass(eq=False)
class InboxWorker:
    """Takes what the inbox holds to the sessions."""

    channel: TelegramChannel
    mailbox: Mailbox
    door: AccessControl
    runner: SessionRunner
    albums: Albums
    speakers: Speakers
    letters: UpdateParser
    presses: CallbackHandler
    scheduled: Tasks
    corrections: Corrections
    arrived: asyncio.Event
    tasks: BackgroundTasks
    _next_look: float = field(default=SWEEP_PAUSE, init=False)
    _tries: dict[int, _Tries] = field(default_factory=dict, init=False)
    _handing: dict[asyncio.Task[None], tuple[str, set[int]]] = field(default_factory=dict, init=False)

    async def start(self) -> None:
        """Take up what an earlier run received and did not finish, and from now on whatever comes."""
        await self._sweep()
        self.tasks.start(self._work(), "inbox")

    async def close(self) -> None:
        """Write what is still to be written, once nothing is taken any more."""
        with contextlib.suppress(StoreError):
            await self._write_what_is_owed()

    async def _work(self) -> None:
        while True:
            await wait_at_most(self.arrived, min(self._next_look, SWEEP_PAUSE))
            self.arrived.clear()
            with self.runner.places.prioritized():
                await self._sweep()

    async def _sweep(self) -> None:
        """Take whatever waits in the inbox and is in nobody's hands. What goes wrong here is tried again."""
        with contextlib.suppress(StoreError):  # what can't be written yet keeps nobody from an answer
            await self._write_what_is_owed()
        try:
            self.albums.let_go()
            # asked before the inbox is read: what is finished in between is then in neither
            in_hand = self.runner.in_hand() | self.presses.in_hand() | self.channel.shown
            in_hand = in_hand.union(*(ids for _, ids in self._handing.values()))
            waiting = await self.mailbox.waiting(but=in_hand)
        except Exception:
            log.exception("inbox_unreadable")
            return
        in_work = in_hand.union(item.id for item in waiting)
        self._tries = {inbox_id: tries for inbox_id, tries in self._tries.items() if inbox_id in in_work}
        free = [item for item in waiting if self._may_be_taken(item)]
        by_session: dict[str, list[Arrival]] = {}
        for arrival in await self._read(free):
            by_session.setdefault(arrival.address.session_id, []).append(arrival)
        self._keep_back(by_session, {item.id: item.received_at for item in free})
        if by_session:
            await load_sdk()  # now and not in a turn: what is killed while it loads counts as no attempt at the message
        try:
            await self.runner.expect([arrivals[-1] for arrivals in by_session.values()])
        except Exception:
            log.exception("sessions_not_opened")  # each is opened, or found not to open, by itself
        # side by side, and not waited for, so that nobody's /stop waits until everybody else's session was looked up
        for session_id, arrivals in by_session.items():
            task = self.tasks.start(self._hand_over(arrivals, self._handing_over(session_id)), "arrivals")
            self._handing[task] = session_id, set(inbox_ids(arrivals))
            task.add_done_callback(self._handing.pop)

    def _keep_back(self, by_session: dict[str, list[Arrival]], received: dict[int, datetime]) -> None:
        """Leave in the inbox what belongs to an album that has not arrived whole yet."""
        self._next_look = SWEEP_PAUSE
        for session_id, arrivals in list(by_session.items()):
            count, rest = self.albums.unfinished([(a, received[a.inbox_id or 0]) for a in arrivals])
            if count:
                self._next_look = min(self._next_look, rest.total_seconds())
                for arrival in arrivals[-count:]:
                    del self._tries[arrival.inbox_id or 0]
                by_session[session_id] = arrivals[:-count]
            if not by_session[session_id]:
                del by_session[session_id]

    def _handing_over(self, session_id: str) -> list[asyncio.Task[None]]:
        """What hands arrivals of a session over just now."""
        return [task for task, (session, _) in self._handing.items() if session == session_id]

    async def _hand_over(self, arrivals: list[Arrival], before: list[asyncio.Task[None]]) -> None:
        """Submit the arrivals of one session in their order: messages together, a long text in parts for one."""
        await asyncio.gather(*before, return_exceptions=True)
        if self.door.moves.is_on_the_way(chat_of(arrivals[0].address)):
            return
        try:
            for is_command, some in itertools.groupby(arrivals, lambda arrival: bool(parse_command(arrival.text)[0])):
                for together in [[item] for item in some] if is_command else [list(some)]:
                    await self.runner.submit(*together)
        except Exception:
            log.exception("arrivals_not_taken", session=arrivals[0].address.session_id)

    async def _write_what_is_owed(self) -> None:
        """Write what was received, said and answered while it could not be; what is finished is so last of all."""
        await self.mailbox.keep()
        await self.runner.write_owed()
        if visible := set(self.channel.shown):
            await self.mailbox.done(visible)
            self.channel.shown -= visible

    def _may_be_taken(self, item: InboxItem) -> bool:
        """Whether it is time; what comes to no end again and again is taken ever more rarely."""
        now = asyncio.get_running_loop().time()
        tries = self._tries.setdefault(item.id, _Tries())
        if now < tries.not_before:
            return False
        tries.not_before = now + min(SWEEP_PAUSE * 2**tries.count, LONGEST_REST) - SWEEP_PAUSE
        tries.count += 1
        return True

    async def _read(self, items: Sequence[InboxItem]) -> list[Arrival]:
        """The arrivals in items, each read alone."""
        arrivals: dict[int, Arrival] = {}
        for item in items:
            try:
                if is_task(item.payload):
                    await self._take_task(item, arrivals)
                    continue
                letter = await self._for_sessions(item)
                if letter is not None:
                    await self._take(item, letter, arrivals)
            except Exception:
                log.exception("update_not_taken", update=item.update_id)
        return list(arrivals.values())

    async def _take_task(self, item: InboxItem, arrivals: dict[int, Arrival]) -> None:
        """Put a task whose hour has come beside the arrivals, where it is still to be done and its chat served."""
        run = await self.scheduled.run_of(item.payload, item.received_at)
        if run is None or not await self.door.serves(run.reminder.session_id):
            await self.mailbox.done([item.id])
        else:
            arrival = task_arrival(run, self.channel, item.id, item.attempts)
            arrivals[item.id] = replace(arrival, held=item.held)

    async def _for_sessions(self, item: InboxItem) -> IncomingMessage | None:
        """The letter in an item; what is not for the sessions, or not yet, is dealt with here."""
        if item.is_lost:
            await self._tell_lost(item)
            return None
        letter = self.letters.kept(item.payload)
        letter = self.door.moves.sent_on(letter) if letter is not None else None
        if letter is not None and self.door.moves.is_on_the_way(chat_of(letter.arrival.address)):
            del self._tries[item.id]
            return None
        # who was let in then may have been shut out since
        if letter is None or not await self.door.is_allowed(letter):
            await self.mailbox.done([item.id])
        elif item.attempts >= MOST_ATTEMPTS and _is_no_turn(letter):
            await self._give_up(item, letter)
        elif letter.press is not None:
            self.presses.take(item, letter)
        elif letter.anonymous:
            await self._tell_nobody(item, letter)
        else:
            return letter
        return None

    async def _tell_lost(self, item: InboxItem) -> None:
        """Say that a restart has lost what was sent in a private talk, so that nobody waits for an answer."""
        arrival = Arrival(
            address=Address.of(item.session_id),
            text="",
            provenance=Provenance.TYPED,
            received_at=item.received_at,
            channel=self.channel,
            inbox_id=item.id,
        )
        await self._tell(arrival, _LOST)

    async def _tell_nobody(self, item: InboxItem, letter: IncomingMessage) -> None:
        """Say why who writes in the name of a group or a channel is not answered."""
        if letter.edited:
            await self.mailbox.done([item.id])
        else:
            await self._tell(replace(letter.arrival, inbox_id=item.id), _NOBODY)

    async def _tell(self, arrival: Arrival, text: str) -> None:
        with use_language(await self.runner.languages.of(arrival)):
            await self.channel.say(arrival, _(text))

    async def _take(self, item: InboxItem, letter: IncomingMessage, arrivals: dict[int, Arrival]) -> None:
        """Put the arrival in a message beside the others, if it is to be handed over."""
        arrival = replace(letter.arrival, inbox_id=item.id, held=item.held, attempts=item.attempts)
        if arrival.speaker is not None and arrival.speaker_id is not None:
            # in the group that name is theirs alone
            name = await self.speakers.name_of(arrival.address.owner, arrival.speaker_id, arrival.speaker)
            arrival = replace(arrival, speaker=name)
        if arrival.quoted is not None and letter.quoted_reply is not None:
            made_of = await self.mailbox.provenance_of(item.session_id, letter.quoted_reply)
            arrival = replace(arrival, quoted=replace(arrival.quoted, provenance=made_of))
        if parse_command(arrival.text)[0] == STOP and arrival.provenance is Provenance.TYPED:
            self.channel.outbox.stop(arrival.address.session_id)
        answering = await self.presses.answering(item, letter, arrival)
        if answering.alone and not parse_command(answering.text)[0]:
            await self._tell(answering, _COMMANDS_ALONE)  # in the group's log it would come before everybody
            return
        handled = await self._edited(item, arrival, answering, arrivals) if letter.edited else answering
        if handled is not None and handled.inbox_id is not None:
            arrivals[handled.inbox_id] = handled

    async def _give_up(self, item: InboxItem, letter: IncomingMessage) -> None:
        """Leave an update that the program was killed over again and again, and tell its sender."""
        log.error("update_given_up", update=item.update_id, killed=item.attempts)
        with use_language(await self.runner.languages.of(letter.arrival)):
            await self.channel.say(replace(letter.arrival, inbox_id=item.id), given_up([letter.arrival]))

    async def _edited(
        self, item: InboxItem, edit: Arrival, says: Arrival, untaken: dict[int, Arrival]
    ) -> Arrival | None:
        """What an edit leads to: what waits says its text, or its sender is told; what is still to be taken, if any.

        says: what it means, where it answers a question of ours.
        """
        # a live location that moved, or a message of a group that has another id now
        if (not edit.text and not edit.files) or edit.message_id is None:
            await self.mailbox.done([item.id])
            return None
        await asyncio.gather(*self._handing_over(item.session_id), return_exceptions=True)
        before = next(
            (a for a in untaken.values() if (a.address, a.message_id) == (edit.address, edit.message_id)), None
        )
        waiting = before or self.runner.lanes.replace_waiting(says)
        if waiting is not None and waiting.inbox_id is not None:
            await self.mailbox.correct(item, waiting.inbox_id, as_new(item.payload))
            return None if before is None else replace(before, text=says.text, files=says.files)
        former = await self.mailbox.said_before(item, edit.message_id)
        if former is None:
            return says  # what it was edited from was not meant for us, so nobody has read it
        read = self._arrival_of(former)
        if _same_content(edit, read):
            await self.mailbox.done([item.id])  # a link that got its picture
        elif read is not None and await self._is_remembered(edit, read):
            return replace(says, corrects=read.text)  # memory has to follow the edit, so it is answered as well
        else:
            with use_language(await self.runner.languages.of(edit)):
                # of what is gone, as a private talk is, a button would keep the words
                await self.channel.say(edit, _(_TOO_LATE), _to_answer(edit) if read is not None else ())
        return None

    async def _is_remembered(self, edit: Arrival, read: Arrival) -> bool:
        """Return True if a memory was captured of what an edit corrects, and the edit is in typed words alone."""
        is_typed = bool(edit.text) and not edit.files and edit.provenance is Provenance.TYPED
        return is_typed and bool(await self.corrections.from_message(edit.address.session_id, read.text))

    def _arrival_of(self, payload: str) -> Arrival | None:
        """What an earlier update said; None for one that was emptied since."""
        with contextlib.suppress(Exception):
            letter = self.letters.kept(payload)
            return letter.arrival if letter is not None else None
        return None


def _to_answer(edit: Arrival) -> Keyboard:
    """A button that says an edited message as it is now, where it is somebody's own words and only words."""
    if not edit.text or edit.files or edit.provenance is not Provenance.TYPED:
        return ()
    return ((Button(_("Answer it now"), edit.text),),)


def _same_content(arrival: Arrival, other: Arrival | None) -> bool:
    return other is not None and (arrival.text, _sent(arrival)) == (other.text, _sent(other))


def _sent(arrival: Arrival) -> set[str]:
    return {file.unique_id for file in arrival.files if not file.quoted}


def _is_no_turn(letter: IncomingMessage) -> bool:
    """Whether no turn is made of a letter, which would record that it was given up."""
    return letter.press is not None or letter.edited or bool(parse_command(letter.arrival.text)[0])
