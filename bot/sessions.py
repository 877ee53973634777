"""Session queues: one turn at a time for each session, sessions concurrently. Waiting messages share the next turn."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections import deque
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace

import structlog

from bot.commands.command import Answer, Command, CommandRunner, RunAgain, parse_command
from bot.languages import Languages
from config.texts import _, use_language, use_reader
from memory.clock import Clock
from memory.errors import MnemeError, StoreError
from memory.log.sessions import Session, SessionService, SessionState
from memory.log.turn_log import Outcome, TurnLog
from memory.messages import Provenance
from pipeline.arrival import Arrival, collect_inbox_ids, is_read_by_owner
from pipeline.runner import Pipeline, TurnLimiter
from pipeline.turn import Turn

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class SessionQueue:
    """The arrivals of one session.

    Attributes:
        working: the arrivals that the running step answers.
    """

    waiting: deque[Arrival] = field(default_factory=deque)
    worker: asyncio.Task[None] | None = None
    step: asyncio.Task[None] | None = None
    turn: Turn | None = None
    working: list[Arrival] = field(default_factory=list)
    stopping: bool = False

    @property
    def count_ready(self) -> int:
        """Return how many arrivals may run. Those held by a /stop wait for a new message."""
        return sum(not arrival.held for arrival in self.waiting)


class SessionQueues:
    def __init__(self, sessions: SessionService) -> None:
        self._sessions = sessions
        self._queues: dict[str, SessionQueue] = {}

    def get(self, session_id: str) -> SessionQueue:
        return self._queues.setdefault(session_id, SessionQueue())

    def list_of_chat(self, chat: str) -> list[SessionQueue]:
        return [queue for session, queue in self._queues.items() if session == chat or session.startswith(f"{chat}:")]

    def list_all(self) -> list[SessionQueue]:
        return list(self._queues.values())

    def count_waiting(self, session_id: str) -> int:
        return len(self.get(session_id).waiting)

    def is_idle(self, session_id: str) -> bool:
        queue = self._queues.get(session_id)
        return queue is None or (queue.worker is None and not queue.waiting)

    def is_running(self, session_id: str) -> bool:
        return self.get(session_id).step is not None

    def measure_load(self) -> tuple[int, int]:
        """Return the number of busy sessions and the total number of waiting arrivals."""
        queues = self._queues.values()
        return sum(queue.step is not None for queue in queues), sum(len(queue.waiting) for queue in queues)

    def replace_waiting(self, arrival: Arrival) -> Arrival | None:
        """Replace the text of a waiting message after an edit. Return the arrival, or None if none is waiting."""
        waiting = self.get(arrival.address.session_id).waiting
        for at, former in enumerate(waiting):
            if former.message_id is not None and former.message_id == arrival.message_id:
                waiting[at] = replace(former, text=arrival.text, files=arrival.files)
                return waiting[at]
        return None

    def drop_held(self, session_id: str, inbox_ids: Container[int]) -> None:
        """Drop held arrivals that are among the given inbox ids or in no inbox, so that no turn answers them."""
        queue = self.get(session_id)
        queue.waiting = deque(
            a for a in queue.waiting if not (a.held and (a.inbox_id is None or a.inbox_id in inbox_ids))
        )

    async def stop(self, session_id: str) -> tuple[bool, int]:
        """Cancel the running step and hold waiting arrivals. Return whether a step ran and how many arrivals wait."""
        queue = self.get(session_id)
        await asyncio.sleep(0)  # Let a new step start first, so that it can handle its cancellation
        # A turn with an outcome only has to clean up, so there is nothing left to stop
        answered = queue.turn is not None and queue.turn.outcome is not None and not queue.stopping
        if queue.step is None or answered:
            return False, len(queue.waiting)
        step = queue.step
        if not queue.stopping:  # A second /stop must not interrupt the cleanup after the first one
            queue.stopping = True
            if queue.turn is not None:
                # Before the cancel: the pipeline uses it to tell a /stop from a shutdown
                queue.turn.stop_requested = True
            step.cancel()
        held_arrivals = [replace(arrival, held=True) for arrival in queue.waiting]
        queue.waiting = deque(held_arrivals)
        for channel in {id(a.channel): a.channel for a in held_arrivals}.values():
            await channel.hold([a for a in held_arrivals if a.channel is channel])
        if held_arrivals:
            await self._sessions.set_state(session_id, SessionState.PAUSED)
        # `await step` would raise the exception of the step
        await asyncio.wait([step])
        return True, len(queue.waiting)


@dataclass(eq=False)
class SessionRunner:
    queues: SessionQueues
    command_runner: CommandRunner
    pipeline: Pipeline
    sessions: SessionService
    languages: Languages
    turns: TurnLog
    clock: Clock
    _immediate: dict[asyncio.Task[None], Arrival] = field(default_factory=dict, init=False)
    # Suspended chats, in which nothing starts
    _suspended: set[str] = field(default_factory=set, init=False)

    @property
    def commands(self) -> Mapping[str, Command]:
        return self.command_runner.table

    @property
    def limiter(self) -> TurnLimiter:
        return self.pipeline.limiter

    async def submit(self, *arrivals: Arrival) -> None:
        """Queue arrivals of one session, or run immediate commands. Messages may share a turn."""
        queued = [arrival for arrival in arrivals if not self._run_immediately(arrival)]
        if not queued:
            return
        address = queued[0].address
        if address.owner in self._suspended:
            return
        try:
            # Stores the language for later messages to this chat
            await self.languages.choose(queued[-1])
            # Before queueing, so that a /stop right behind the arrival finds its turn. After all else, since a command
            # that runs now may change the session
            session = await self.sessions.get_or_create(address)
            # A new message resumes a paused session
            resumes = any(not a.held and self._is_message(a) for a in queued)
            if session.state is not SessionState.ACTIVE and resumes:
                await self.sessions.set_state(session.id, SessionState.ACTIVE)
                session = await self.sessions.get_or_create(address)
        except MnemeError as error:
            for arrival in queued:
                await arrival.channel.say(arrival, str(error))
            return
        if address.owner in self._suspended:  # The chat may have been suspended while this waited
            return
        queue = self.queues.get(address.session_id)
        for arrival in queued:
            queue.waiting.append(arrival)
            if queue.turn is not None and not arrival.held and arrival.task is None:
                arrival.channel.on_queued(arrival)
        if queue.worker is None and queue.count_ready:
            queue.worker = asyncio.create_task(self._work(queue, session), name=f"session {address.session_id}")

    async def write_pending(self) -> None:
        await self.turns.commit_deferred()

    async def prepare(self, arrivals: Sequence[Arrival]) -> None:
        """Prepare the arrivals of many sessions at once, given the newest one of each."""
        if len(arrivals) > 1:
            await self.sessions.open_all([arrival.address for arrival in arrivals])
            await self.languages.store(arrivals)

    def list_active_inbox_ids(self) -> set[int]:
        queues = self.queues.list_all()
        arrivals = [arrival for queue in queues for arrival in (*queue.waiting, *queue.working)]
        return set(collect_inbox_ids([*arrivals, *self._immediate.values()]))

    def _is_message(self, arrival: Arrival) -> bool:
        """Return True if an arrival may share a turn: it is neither a command nor a task."""
        return arrival.task is None and self.command_runner.find_command(arrival) is None

    def starts_immediately(self, arrival: Arrival) -> bool:
        command = self.command_runner.find_command(arrival)
        return (command is not None and command.immediate) or self.queues.is_idle(arrival.address.session_id)

    def _run_immediately(self, arrival: Arrival) -> bool:
        """Run the command now if it is immediate. Return True if it was."""
        command = self.command_runner.find_command(arrival)
        if command is None or not command.immediate:
            return False
        task = asyncio.create_task(self._run_before_turns(arrival, command))
        self._immediate[task] = arrival
        task.add_done_callback(self._on_immediate_done)
        return True

    async def wait_until_idle(self, session_id: str) -> None:
        queue = self.queues.get(session_id)
        while queue.worker is not None:
            await asyncio.wait([queue.worker])
        while self._immediate:
            await asyncio.wait(self._immediate)

    async def suspend_chat(self, chat: str) -> None:
        """Cancel turns and commands of a chat without a commit, and accept no more. The inbox repeats them later."""
        self._suspended.add(chat)
        queues = self.queues.list_of_chat(chat)
        for queue in queues:
            queue.waiting.clear()
        running = [queue.worker for queue in queues if queue.worker is not None]
        running += [task for task, arrival in self._immediate.items() if arrival.address.owner == chat]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def resume_chat(self, chat: str) -> None:
        self._suspended.discard(chat)

    async def close(self) -> None:
        """Cancel everything, and notify the users. The next start repeats uncommitted arrivals from the inbox."""
        # Before the cancel, which empties `working`
        queues = self.queues.list_all()
        interrupted = [queue.working[-1] for queue in queues if queue.working and queue.working[-1].task is None]
        workers = [queue.worker for queue in queues if queue.worker is not None]
        for task in (*workers, *self._immediate):
            task.cancel()
        await asyncio.gather(*workers, *self._immediate, return_exceptions=True)
        for channel in {id(a.channel): a.channel for a in interrupted}.values():
            await channel.notify_interrupted([a for a in interrupted if a.channel is channel])

    def _on_immediate_done(self, task: asyncio.Task[None]) -> None:
        del self._immediate[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("command_failed", exc_info=error)

    async def _work(self, queue: SessionQueue, session: Session) -> None:
        try:
            while queue.count_ready:
                with contextlib.suppress(StoreError):  # The next step may depend on it
                    await self.write_pending()
                try:
                    session = await self._next_step(queue, session)
                except Exception:
                    log.exception("step_failed")
        finally:
            queue.worker = None

    async def _next_step(self, queue: SessionQueue, session: Session) -> Session:
        """Run the next step of a session. Return the session, which a command may have changed."""
        merged = queue.working = self._take_next(queue)
        for arrival in merged:
            arrival.channel.on_started(arrival)
        first = merged[0]
        command = self.command_runner.find_command(first)
        withheld: list[Callable[[], str]] = []
        if command is not None:
            queue.step = asyncio.create_task(self._run_command(first, command, queue))
        else:
            language = await self.languages.choose(
                merged[-1]
            )  # Only now, since a command before it may have changed it
            is_owner = await is_read_by_owner(merged[-1])
            queue.turn = self._create_turn(session, merged)
            with use_language(language), use_reader(is_owner=is_owner) as withheld:
                queue.step = asyncio.create_task(self._run_turn(queue.turn, merged[-1]))
        try:
            await asyncio.wait([queue.step])
            if withheld and queue.turn is not None and queue.turn.outcome is Outcome.FAILED:
                await merged[-1].channel.tell_owner(merged[-1], withheld[-1])
        except asyncio.CancelledError:
            # A cancelled asyncio.wait doesn't cancel its tasks
            queue.step.cancel()
            await asyncio.wait([queue.step])
            raise
        finally:
            if not queue.step.cancelled() and (error := queue.step.exception()) is not None:
                log.error("step_failed", exc_info=error)
            queue.step = queue.turn = None
            queue.working = []
            queue.stopping = False
        return session if command is None else await self._reload(session)

    async def _reload(self, session: Session) -> Session:
        try:
            return await self.sessions.get_or_create(session.address)
        except MnemeError:  # If it may have become private, storing too little is safer than too much
            return replace(session, private=True)

    def _take_next(self, queue: SessionQueue) -> list[Arrival]:
        """Take a command, a task, or all messages up to the next of these. Held arrivals wait for a message."""
        at = next(i for i, arrival in enumerate(queue.waiting) if not arrival.held)
        if self._is_message(queue.waiting[at]):
            # A new message takes the held ones before it along
            at = 0
        arrivals = [queue.waiting[at]]
        del queue.waiting[at]
        if self._is_message(arrivals[0]):
            while queue.waiting and self._is_message(queue.waiting[0]):
                # Arrivals that were being answered during a crash run apart, since they may have caused it
                if queue.waiting[0].attempts != arrivals[0].attempts:
                    break
                arrivals.append(queue.waiting.popleft())
        return arrivals

    def _create_turn(self, session: Session, arrivals: list[Arrival], replaces: int | None = None) -> Turn:
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
        # Nothing suspends between the start of this task and the pipeline, which handles a /stop
        async with last.channel.busy(last):
            await self.pipeline.run(turn)

    async def _run_before_turns(self, arrival: Arrival, command: Command) -> None:
        with self.limiter.prioritized():
            await self._run_command(arrival, command)

    async def _run_command(self, arrival: Arrival, command: Command, queue: SessionQueue | None = None) -> None:
        arrival = replace(arrival, alone=arrival.alone or command.alone)
        try:
            await arrival.channel.count_attempt([arrival])
            result = await self.command_runner.run(arrival, command)
        except asyncio.CancelledError:
            # At shutdown the user isn't notified, since the next start repeats the command
            if queue is not None and queue.stopping:
                name = parse_command(arrival.text)[0]
                with use_language(await self.languages.choose(arrival)):
                    await arrival.channel.say(arrival, _("/{name} was stopped.", name=name))
            raise
        if isinstance(result, RunAgain):
            # Each with the data of the command's own arrival, which the new turn finishes
            arrivals = [
                replace(
                    arrival,
                    text="" if message.media else message.content,
                    media=message.media,
                    files=(),  # The command's own files are not part of the message
                    origin=None,
                    provenance=message.provenance or Provenance.TYPED,
                    received_at=message.created_at,
                    speaker=message.speaker,
                )
                for message in result.messages
            ]
            language, is_owner = await self.languages.choose(arrival), await is_read_by_owner(arrival)
            turn = self._create_turn(result.session, arrivals, result.turn_id)
            if queue is not None:
                queue.turn = turn
            with use_language(language), use_reader(is_owner=is_owner):
                await self._run_turn(turn, arrival)
        elif isinstance(result, Answer):
            await arrival.channel.say(arrival, result.text, result.keyboard, result.document)
        else:
            await arrival.channel.say(arrival, result)
