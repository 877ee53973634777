"""One turn at a time for each session, sessions side by side; what arrives meanwhile waits and is merged."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import structlog

from bot.commands.command import Answer, RunAgain, parse_command
from config.texts import _, use_language
from memory.errors import MnemeError, StoreError
from memory.log.sessions import SessionState
from memory.messages import Provenance
from pipeline.arrival import inbox_ids
from pipeline.turn import Turn

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from bot.commands.command import Command, CommandRunner
    from bot.languages import Languages
    from memory.clock import Clock
    from memory.log.sessions import Session, SessionService
    from memory.log.turn_log import TurnLog
    from pipeline.arrival import Arrival
    from pipeline.runner import Pipeline, TurnLimiter

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class SessionQueue:
    """The arrivals of one session. working: those that the running step answers."""

    waiting: deque[Arrival] = field(default_factory=deque)
    worker: asyncio.Task[None] | None = None
    step: asyncio.Task[None] | None = None
    turn: Turn | None = None
    working: list[Arrival] = field(default_factory=list)
    stopping: bool = False

    @property
    def ready(self) -> int:
        """How many arrivals may run: what a /stop held waits until something new comes."""
        return sum(not arrival.held for arrival in self.waiting)


class SessionQueues:
    def __init__(self, sessions: SessionService) -> None:
        self._sessions = sessions
        self._lanes: dict[str, SessionQueue] = {}

    def of(self, session_id: str) -> SessionQueue:
        return self._lanes.setdefault(session_id, SessionQueue())

    def of_chat(self, chat: str) -> list[SessionQueue]:
        """The lanes of a chat (`Address.owner`) and of its topics."""
        return [lane for session, lane in self._lanes.items() if session == chat or session.startswith(f"{chat}:")]

    def all(self) -> list[SessionQueue]:
        return list(self._lanes.values())

    def waiting(self, session_id: str) -> int:
        return len(self.of(session_id).waiting)

    def is_idle(self, session_id: str) -> bool:
        lane = self._lanes.get(session_id)
        return lane is None or (lane.worker is None and not lane.waiting)

    def running(self, session_id: str) -> bool:
        return self.of(session_id).step is not None

    def load(self) -> tuple[int, int]:
        """How many sessions are at work, and how many arrivals wait in all."""
        lanes = self._lanes.values()
        return sum(lane.step is not None for lane in lanes), sum(len(lane.waiting) for lane in lanes)

    def replace_waiting(self, arrival: Arrival) -> Arrival | None:
        """Put an edited message in the place of its former text, if that has not been started; what waits now."""
        waiting = self.of(arrival.address.session_id).waiting
        for at, former in enumerate(waiting):
            if former.message_id is not None and former.message_id == arrival.message_id:
                waiting[at] = replace(former, text=arrival.text, files=arrival.files)
                return waiting[at]
        return None

    def drop_held(self, session_id: str, inbox_ids: Container[int]) -> None:
        """Have no turn answer what a /stop holds back of these, and what no inbox keeps."""
        lane = self.of(session_id)
        lane.waiting = deque(
            a for a in lane.waiting if not (a.held and (a.inbox_id is None or a.inbox_id in inbox_ids))
        )

    async def stop(self, session_id: str) -> tuple[bool, int]:
        """Cancel what runs in a session and hold what waits; whether anything ran, and how much waits."""
        lane = self.of(session_id)
        await asyncio.sleep(0)  # lets a step that was only just created begin, so that it can end itself
        # a turn with an outcome only tidies up: there is nothing left to stop
        answered = lane.turn is not None and lane.turn.outcome is not None and not lane.stopping
        if lane.step is None or answered:
            return False, len(lane.waiting)
        step = lane.step
        if not lane.stopping:  # a second /stop must not break into the end of what the first one stopped
            lane.stopping = True
            if lane.turn is not None:
                # before the cancel: by it the pipeline tells a /stop from the end of the program
                lane.turn.stop_requested = True
            step.cancel()
        held = [replace(arrival, held=True) for arrival in lane.waiting]
        lane.waiting = deque(held)
        for channel in {id(a.channel): a.channel for a in held}.values():
            await channel.hold([a for a in held if a.channel is channel])
        if held:
            await self._sessions.set_state(session_id, SessionState.PAUSED)
        # not `await step`, which would raise what the step ended with
        await asyncio.wait([step])
        return True, len(lane.waiting)


@dataclass(eq=False)
class SessionRunner:
    """Hands arrivals to the pipeline and to the commands, with a queue of its own for each session."""

    lanes: SessionQueues
    command_runner: CommandRunner
    pipeline: Pipeline
    sessions: SessionService
    languages: Languages
    turns: TurnLog
    clock: Clock
    _immediate: dict[asyncio.Task[None], Arrival] = field(default_factory=dict, init=False)
    # chats in which let_go has ended everything: nothing begins there before take_back
    _gone: set[str] = field(default_factory=set, init=False)

    @property
    def commands(self) -> Mapping[str, Command]:
        return self.command_runner.table

    @property
    def places(self) -> TurnLimiter:
        return self.pipeline.places

    async def submit(self, *arrivals: Arrival) -> None:
        """Take arrivals of one session, messages together in one turn; returns when each waits, runs or is answered."""
        queued = [arrival for arrival in arrivals if not self._run_at_once(arrival)]
        if not queued:
            return
        address = queued[0].address
        if address.owner in self._gone:
            return
        try:
            # for what it stores: the language to speak to this chat unasked
            await self.languages.of(queued[-1])
            # here, so that a /stop right behind an arrival finds its turn and not the wait for the store; and last,
            # since a command that runs meanwhile may change it
            session = await self.sessions.get_or_create(address)
            # a paused session resumes with a message that is not itself held
            resumes = any(not a.held and self._is_message(a) for a in queued)
            if session.state is not SessionState.ACTIVE and resumes:
                await self.sessions.set_state(session.id, SessionState.ACTIVE)
                session = await self.sessions.get_or_create(address)
        except MnemeError as error:
            for arrival in queued:
                await arrival.channel.say(arrival, str(error))
            return
        if address.owner in self._gone:  # let_go may have run during the waits above
            return
        lane = self.lanes.of(address.session_id)
        for arrival in queued:
            lane.waiting.append(arrival)
            if lane.turn is not None and not arrival.held and arrival.task is None:
                arrival.channel.waits(arrival)
        if lane.worker is None and lane.ready:
            lane.worker = asyncio.create_task(self._work(lane, session), name=f"session {address.session_id}")

    async def write_owed(self) -> None:
        """Write what was answered while it could not be written. Raises StoreError where it still can't be."""
        await self.turns.write_owed()

    async def expect(self, arrivals: Sequence[Arrival]) -> None:
        """Get ready for arrivals of many sessions at once, of each the newest one."""
        if len(arrivals) > 1:
            await self.sessions.open_all([arrival.address for arrival in arrivals])
            await self.languages.expect(arrivals)

    def in_hand(self) -> set[int]:
        """The inbox ids of all arrivals that wait here or are being answered."""
        lanes = self.lanes.all()
        held = [arrival for lane in lanes for arrival in (*lane.waiting, *lane.working)]
        return set(inbox_ids([*held, *self._immediate.values()]))

    def _is_message(self, arrival: Arrival) -> bool:
        """Whether an arrival may share a turn with others: it is neither a command nor a task."""
        return arrival.task is None and self.command_runner.called_by(arrival) is None

    def begins_at_once(self, arrival: Arrival) -> bool:
        """Whether work on an arrival begins as soon as it is handed over."""
        command = self.command_runner.called_by(arrival)
        return (command is not None and command.immediate) or self.lanes.is_idle(arrival.address.session_id)

    def _run_at_once(self, arrival: Arrival) -> bool:
        """Run a command that does not wait for its turn; whether it was one."""
        command = self.command_runner.called_by(arrival)
        if command is None or not command.immediate:
            return False
        task = asyncio.create_task(self._run_before_turns(arrival, command))
        self._immediate[task] = arrival
        task.add_done_callback(self._immediate_done)
        return True

    async def idle(self, session_id: str) -> None:
        lane = self.lanes.of(session_id)
        while lane.worker is not None:
            await asyncio.wait([lane.worker])
        while self._immediate:
            await asyncio.wait(self._immediate)

    async def let_go(self, chat: str) -> None:
        """End what runs in a chat uncommitted and refuse what comes for it: the inbox delivers it again later."""
        self._gone.add(chat)
        lanes = self.lanes.of_chat(chat)
        for lane in lanes:
            lane.waiting.clear()
        running = [lane.worker for lane in lanes if lane.worker is not None]
        running += [task for task, arrival in self._immediate.items() if arrival.address.owner == chat]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def take_back(self, chat: str) -> None:
        self._gone.discard(chat)

    async def close(self) -> None:
        """End everything at once. What was not committed is in the inbox and comes again; who waits is told so."""
        # before the cancel, which empties `working`
        interrupted = [lane.working[-1] for lane in self.lanes.all() if lane.working and lane.working[-1].task is None]
        workers = [lane.worker for lane in self.lanes.all() if lane.worker is not None]
        for task in (*workers, *self._immediate):
            task.cancel()
        await asyncio.gather(*workers, *self._immediate, return_exceptions=True)
        for channel in {id(a.channel): a.channel for a in interrupted}.values():
            await channel.interrupted([a for a in interrupted if a.channel is channel])

    def _immediate_done(self, task: asyncio.Task[None]) -> None:
        del self._immediate[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("command_failed", exc_info=error)

    async def _work(self, lane: SessionQueue, session: Session) -> None:
        try:
            while lane.ready:
                with contextlib.suppress(StoreError):  # what comes next may go on from it, or end its conversation
                    await self.write_owed()
                try:
                    session = await self._next_step(lane, session)
                except Exception:
                    log.exception("step_failed")  # those that wait behind it are still to be answered
        finally:
            lane.worker = None

    async def _next_step(self, lane: SessionQueue, session: Session) -> Session:
        """Run what comes next in a session; the session as it stands then."""
        merged = lane.working = self._next(lane)
        for arrival in merged:
            arrival.channel.begins(arrival)
        first = merged[0]
        command = self.command_runner.called_by(first)
        if command is not None:
            lane.step = asyncio.create_task(self._run_command(first, command, lane))
        else:
            language = await self.languages.of(merged[-1])  # now, since a command before it may have changed it
            lane.turn = self._turn(session, merged)
            with use_language(language):
                lane.step = asyncio.create_task(self._run_turn(lane.turn, merged[-1]))
        try:
            await asyncio.wait([lane.step])
        except asyncio.CancelledError:
            # a cancelled asyncio.wait leaves its tasks running
            lane.step.cancel()
            await asyncio.wait([lane.step])
            raise
        finally:
            if not lane.step.cancelled() and (error := lane.step.exception()) is not None:
                log.error("step_failed", exc_info=error)
            lane.step = lane.turn = None
            lane.working = []
            lane.stopping = False
        return session if command is None else await self._as_it_stands(session)

    async def _as_it_stands(self, session: Session) -> Session:
        try:
            return await self.sessions.get_or_create(session.address)
        except MnemeError:  # then rather too little is kept of what follows than too much
            return replace(session, private=True)

    def _next(self, lane: SessionQueue) -> list[Arrival]:
        """Take a command or a task, or all messages up to the next one. Held arrivals wait for a message."""
        at = next(i for i, arrival in enumerate(lane.waiting) if not arrival.held)
        if self._is_message(lane.waiting[at]):
            # with a new message come those that a /stop held before it
            at = 0
        arrivals = [lane.waiting[at]]
        del lane.waiting[at]
        if self._is_message(arrivals[0]):
            while lane.waiting and self._is_message(lane.waiting[0]):
                # what was in work when the program was killed runs apart from the rest: it may be the cause
                if lane.waiting[0].attempts != arrivals[0].attempts:
                    break
                arrivals.append(lane.waiting.popleft())
        return arrivals

    def _turn(self, session: Session, arrivals: list[Arrival], replaces: int | None = None) -> Turn:
        last = arrivals[-1]
        return Turn(
            id=secrets.token_hex(4),
            session=session,
            arrivals=arrivals,
            channel=last.channel.reply_channel(arrivals),
            started_at=self.clock(),
            replaces_turn=replaces,
        )

    async def _run_turn(self, turn: Turn, last: Arrival) -> None:
        # nothing suspends between the start of this task and the pipeline, which knows what a /stop means
        async with last.channel.busy(last):
            await self.pipeline.run(turn)

    async def _run_before_turns(self, arrival: Arrival, command: Command) -> None:
        with self.places.prioritized():
            await self._run_command(arrival, command)

    async def _run_command(self, arrival: Arrival, command: Command, lane: SessionQueue | None = None) -> None:
        arrival = replace(arrival, alone=arrival.alone or command.alone)
        try:
            await arrival.channel.count_attempt([arrival])
            result = await self.command_runner.run(arrival, command)
        except asyncio.CancelledError:
            # at the end of the program nothing is said: the inbox brings the command again
            if lane is not None and lane.stopping:
                name = parse_command(arrival.text)[0]
                with use_language(await self.languages.of(arrival)):
                    await arrival.channel.say(arrival, _("/{name} was stopped.", name=name))
            raise
        if isinstance(result, RunAgain):
            # each in the command's own arrival, which is finished with the turn that it starts
            again = [
                replace(
                    arrival,
                    text="" if message.media else message.content,
                    media=message.media,
                    files=(),  # of the command, which may answer a photo
                    origin=None,
                    provenance=message.provenance or Provenance.TYPED,
                    received_at=message.created_at,
                    speaker=message.speaker,
                )
                for message in result.messages
            ]
            language = await self.languages.of(arrival)
            turn = self._turn(result.session, again, result.turn_id)
            if lane is not None:
                lane.turn = turn
            with use_language(language):
                await self._run_turn(turn, arrival)
        elif isinstance(result, Answer):
            await arrival.channel.say(arrival, result.text, result.keyboard, result.document)
        else:
            await arrival.channel.say(arrival, result)
