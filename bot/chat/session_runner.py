"""One turn at a time for each session, sessions side by side; what arrives meanwhile waits and is merged."""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import structlog

from bot.chat.commands import CommandCall, RunAgain, parse_command
from memory.errors import MnemeError
from memory.log.sessions import SessionState
from memory.messages import Provenance
from pipeline.turn import Incoming, Turn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.chat.arrivals import Arrival
    from bot.chat.commands import Command
    from memory.clock import Clock
    from memory.log.sessions import Session, SessionService
    from pipeline.runner import Pipeline

log = structlog.get_logger(__name__)

QUEUE_LIMIT = 20
"""Arrivals of one session that may wait; a further one is refused, and the person is told."""


@dataclass(slots=True)
class _Lane:
    """What goes on in one session."""

    waiting: deque[Arrival] = field(default_factory=deque)
    worker: asyncio.Task[None] | None = None
    step: asyncio.Task[None] | None = None
    turn: Turn | None = None
    current: Arrival | None = None
    stopping: bool = False

    @property
    def ready(self) -> int:
        """How many arrivals may run: what a /stop held waits until something new comes."""
        return sum(not arrival.held for arrival in self.waiting)


class SessionRunner:
    """Brings arrivals to the pipeline and to the commands."""

    def __init__(self, pipeline: Pipeline, sessions: SessionService, clock: Clock) -> None:
        self._pipeline = pipeline
        self._sessions = sessions
        self._clock = clock
        self._commands: Mapping[str, Command] = {}
        self._lanes: dict[str, _Lane] = {}
        self._immediate: set[asyncio.Task[None]] = set()

    def use_commands(self, commands: Mapping[str, Command]) -> None:
        """Set the command table; some commands work on this runner, so it comes first."""
        self._commands = commands

    async def submit(self, *arrivals: Arrival) -> None:
        """Take arrivals of one session; messages that are given together go into one turn.

        Returns when each waits, runs, or has been answered.
        """
        queued = [arrival for arrival in arrivals if not self._run_at_once(arrival)]
        if not queued:
            return
        address = queued[0].address
        try:
            # here, so that a /stop right behind an arrival finds its turn and not the wait for the store
            session = await self._sessions.get_or_create(address)
            if session.state is not SessionState.ACTIVE and any(self._resumes(arrival) for arrival in queued):
                await self._sessions.set_state(session.id, SessionState.ACTIVE)
        except MnemeError as error:
            for arrival in queued:
                await arrival.channel.say(arrival, str(error))
            return
        lane = self._lanes.setdefault(address.session_id, _Lane())
        room = max(0, QUEUE_LIMIT - lane.ready)
        lane.waiting.extend(queued[:room])
        if lane.worker is None and lane.ready:
            lane.worker = asyncio.create_task(self._work(lane), name=f"session {address.session_id}")
        for refused in queued[room:]:
            await refused.channel.say(
                refused, f"{QUEUE_LIMIT} messages are waiting already: wait for an answer, or send /stop."
            )

    def _resumes(self, arrival: Arrival) -> bool:
        """Whether a session goes on with an arrival: a message that is not itself held."""
        return not arrival.held and self._command_of(arrival) is None

    def _run_at_once(self, arrival: Arrival) -> bool:
        """Run a command that does not wait for its turn; whether it was one."""
        command = self._command_of(arrival)
        if command is None or not command.immediate:
            return False
        task = asyncio.create_task(self._run_command(arrival, command))
        self._immediate.add(task)
        task.add_done_callback(self._immediate_done)
        return True

    async def replace_waiting(self, arrival: Arrival) -> bool:
        """Put an edited message in the place of its former text, if that has not been started."""
        lane = self._lanes.get(arrival.address.session_id)
        for at, waiting in enumerate(lane.waiting if lane else ()):
            if lane and waiting.message_id is not None and waiting.message_id == arrival.message_id:
                lane.waiting[at] = replace(waiting, incoming=replace(waiting.incoming, text=arrival.incoming.text))
                return True
        return False

    async def stop(self, session_id: str) -> tuple[bool, int]:
        """Cancel what runs in a session and hold what waits; whether anything ran, and how much waits."""
        lane = self._lanes.get(session_id)
        if lane is None:
            return False, 0
        await asyncio.sleep(0)  # lets a step that was only just created begin, so that it can end itself
        answered = lane.turn is not None and lane.turn.outcome is not None and not lane.stopping
        if lane.step is None or answered:
            return False, len(lane.waiting)
        step = lane.step
        if not lane.stopping:  # a second /stop must not break into the end of what the first one stopped
            lane.stopping = True
            if lane.turn is not None:
                lane.turn.stop_requested = True
            step.cancel()
        held = [replace(arrival, held=True) for arrival in lane.waiting]
        lane.waiting = deque(held)
        for channel in {id(a.channel): a.channel for a in held}.values():
            await channel.hold([a for a in held if a.channel is channel])
        if held:
            await self._sessions.set_state(session_id, SessionState.PAUSED)
        await asyncio.wait([step])
        return True, len(lane.waiting)

    def waiting(self, session_id: str) -> int:
        """How many arrivals of a session wait."""
        lane = self._lanes.get(session_id)
        return len(lane.waiting) if lane else 0

    def running(self, session_id: str) -> bool:
        """Whether a turn or a command of a session runs."""
        lane = self._lanes.get(session_id)
        return lane is not None and lane.step is not None

    async def idle(self, session_id: str) -> None:
        """Wait until a session has nothing left to run."""
        lane = self._lanes.get(session_id)
        while lane is not None and lane.worker is not None:
            await asyncio.wait([lane.worker])
        while self._immediate:
            await asyncio.wait(self._immediate)

    def load(self) -> tuple[int, int]:
        """How many sessions are at work, and how many arrivals wait in all."""
        lanes = self._lanes.values()
        return sum(lane.step is not None for lane in lanes), sum(len(lane.waiting) for lane in lanes)

    async def close(self) -> None:
        """End everything at once. What was not committed is in the inbox and comes again; who waits is told so."""
        interrupted = [lane.current for lane in self._lanes.values() if lane.current is not None]
        workers = [lane.worker for lane in self._lanes.values() if lane.worker is not None]
        for task in (*workers, *self._immediate):
            task.cancel()
        await asyncio.gather(*workers, *self._immediate, return_exceptions=True)
        for channel in {id(a.channel): a.channel for a in interrupted}.values():
            await channel.interrupted([a for a in interrupted if a.channel is channel])

    def _immediate_done(self, task: asyncio.Task[None]) -> None:
        self._immediate.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("command_failed", exc_info=error)

    def _command_of(self, arrival: Arrival) -> Command | None:
        if arrival.incoming.provenance is not Provenance.TYPED:
            return None  # what others wrote is read, never obeyed
        name = parse_command(arrival.incoming.text)[0]
        return self._commands.get(name, self._commands.get("help")) if name else None

    async def _work(self, lane: _Lane) -> None:
        try:
            while lane.ready:
                try:
                    await self._next_step(lane)
                except Exception:
                    log.exception("step_failed")  # those that wait behind it are still to be answered
        finally:
            lane.worker = None

    async def _next_step(self, lane: _Lane) -> None:
        merged = self._next(lane)
        first, lane.current = merged[0], merged[-1]
        command = self._command_of(first)
        if command is not None:
            lane.step = asyncio.create_task(self._run_command(first, command, lane))
        else:
            session = await self._sessions.get_or_create(first.address)
            lane.turn = self._turn(session, merged[-1], [arrival.incoming for arrival in merged])
            lane.step = asyncio.create_task(self._run_turn(lane.turn, merged[-1]))
        try:
            await asyncio.wait([lane.step])
        except asyncio.CancelledError:
            lane.step.cancel()
            await asyncio.wait([lane.step])
            raise
        finally:
            if not lane.step.cancelled() and (error := lane.step.exception()) is not None:
                log.error("step_failed", exc_info=error)
            lane.step = lane.turn = lane.current = None
            lane.stopping = False

    def _next(self, lane: _Lane) -> list[Arrival]:
        """Take a command, or all messages up to the next one. What a /stop held waits for a message, not a command."""
        at = next(i for i, arrival in enumerate(lane.waiting) if not arrival.held)
        if self._command_of(lane.waiting[at]) is None:
            at = 0
        taken = [lane.waiting[at]]
        del lane.waiting[at]
        if self._command_of(taken[0]) is None:
            while lane.waiting and self._command_of(lane.waiting[0]) is None:
                taken.append(lane.waiting.popleft())
        return taken

    def _turn(self, session: Session, last: Arrival, incoming: list[Incoming], replaces: int | None = None) -> Turn:
        return Turn(
            id=secrets.token_hex(4),
            session=session,
            incoming=incoming,
            channel=last.channel.reply_channel(last),
            started_at=self._clock(),
            replaces_turn=replaces,
        )

    async def _run_turn(self, turn: Turn, last: Arrival) -> None:
        # nothing suspends between the start of this task and the pipeline, which knows what a /stop means
        async with last.channel.busy(last):
            await self._pipeline.run(turn)

    async def _run_command(self, arrival: Arrival, command: Command, lane: _Lane | None = None) -> None:
        name, argument = parse_command(arrival.incoming.text)
        try:
            session = await self._sessions.get_or_create(arrival.address)
            if session.state is SessionState.TERMINATED:  # whoever blocked the bot is back
                await self._sessions.set_state(session.id, SessionState.ACTIVE)
            async with arrival.channel.busy(arrival):
                result = await command.run(CommandCall(session, name, argument))
        except MnemeError as error:
            result = str(error)
        except asyncio.CancelledError:
            if lane is not None and lane.stopping:
                await arrival.channel.say(arrival, f"/{name} was stopped.")
            raise
        except Exception:
            log.exception("command_failed", command=name)
            result = f"/{name} failed on my side: try again, or look into the log."
        if isinstance(result, RunAgain):
            messages = result.messages
            # the command's own arrival is finished with the turn that it starts
            again = [Incoming(m.content, m.provenance or Provenance.TYPED, m.created_at, m.speaker) for m in messages]
            again[-1] = replace(again[-1], inbox_id=arrival.incoming.inbox_id, reply_to=arrival.incoming.reply_to)
            turn = self._turn(session, arrival, again, result.turn_id)
            if lane is not None:
                lane.turn = turn
            await self._run_turn(turn, arrival)
        else:
            await arrival.channel.say(arrival, result)
