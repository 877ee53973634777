"""The runner: takes a turn through the systems in table order and makes sure that it ends with a reply.

It limits how many turns build their prompts at the same time, so that a burst of messages can't delay `/stop`.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, suppress

import structlog

from config.texts import _, in_english
from config.waiting import Gate
from memory.errors import MnemeError
from memory.log.turn_log import FinishedTurn, Outcome
from pipeline.models.model import DailyLimitReached
from pipeline.order import ORDER, OnFailure, Phase, Step
from pipeline.turn import System, Turn

log = structlog.get_logger(__name__)

MAX_PREPARING_TURNS = 4
MAX_SLOT_SECONDS = 1.0
"""Limit both for waiting for a calm event loop and for holding a slot: a slower turn waits for something external."""
MAX_LOOP_LAG_SECONDS = 0.01
"""The event loop counts as calm if one round through its ready tasks takes less than this."""


class TurnLimiter:
    """Limits how many turns use the processor and the database at the same time. Waiting for a model needs no slot.

    If five hundred turns were prepared at once, none would be ready before the last, and every other task would wait
    for a step of each. So turns start one after the other, and only while the event loop is calm: receiving, stopping
    and replying take priority.
    """

    def __init__(self, count: int = MAX_PREPARING_TURNS, max_seconds: float = MAX_SLOT_SECONDS) -> None:
        self._free = asyncio.Semaphore(count)
        self._clear = Gate()
        self._ready = Gate()
        self.max_seconds = max_seconds

    def prioritized(self) -> AbstractContextManager[None]:
        """Hold back waiting turns while the block runs, but for no longer than `max_seconds`."""
        # A /stop makes a dozen database calls, each of which would queue behind those of the turns in preparation.
        return self._clear.shut()

    def closed(self) -> AbstractContextManager[None]:
        """Hold back waiting turns until the block ends, since they need what it loads."""
        return self._ready.shut()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a slot, first come first served, and hold it until the block ends or `max_seconds` have passed."""
        await self._free.acquire()
        # Either the timer or the end of the block releases the slot, but never both.
        held = True

        def leave() -> None:
            nonlocal held
            if held:
                held = False
                self._free.release()

        try:
            await self._ready.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(self.max_seconds):
                    await self._wait_for_calm()
            timer = asyncio.get_running_loop().call_later(self.max_seconds, leave)
            try:
                yield
            finally:
                timer.cancel()
        finally:
            leave()

    async def _wait_for_calm(self) -> None:
        """Wait until no prioritized block runs and the event loop is calm."""
        loop = asyncio.get_running_loop()
        while True:
            await self._clear.wait()
            began = loop.time()
            await asyncio.sleep(0)
            if self._clear.is_open and loop.time() - began < MAX_LOOP_LAG_SECONDS:
                return


class PipelineError(Exception):
    """Raised if the systems don't match the order table."""


class Pipeline:
    """The systems in the order of the table.

    Args:
        observers: Called with each finished turn.
        owe: Called with a turn that was answered but could not be committed, so that it is written later.
    """

    def __init__(
        self,
        systems: Iterable[System],
        order: Sequence[Step] = ORDER,
        observers: Sequence[Callable[[Turn], None]] = (),
        owe: Callable[[FinishedTurn], None] | None = None,
    ) -> None:
        self._owe = owe
        self._chain = _arrange(list(systems), order)
        self._observers = observers
        self.limiter = TurnLimiter()
        log.info("pipeline", systems=" -> ".join(f"{step.order} {step.system}" for step, _ in self._chain))

    async def run(self, turn: Turn) -> None:
        """Run a turn until it is answered, stopped or failed. The reply tells the user which.

        Raises CancelledError only when the process shuts down; then nothing of the turn is committed.
        """
        with structlog.contextvars.bound_contextvars(turn=turn.id, session=turn.session.id):
            async with turn.resources:
                await self._run_until_answer(turn)
                # From here on /stop has no effect: the turn is committed as a whole.
                await self._reply(turn)
                if turn.outcome is Outcome.ANSWERED and turn.committed_as is not None:
                    await self._run_phase(turn, Phase.AFTER)
            timings = {system: round(seconds * 1000, 1) for system, seconds in turn.timings.items()}
            log.info("turn_finished", outcome=str(turn.outcome), failure=turn.loggable_failure, ms=timings)
            for observe in self._observers:
                observe(turn)

    async def _run_until_answer(self, turn: Turn) -> None:
        try:
            await self._run_phase(turn, Phase.INPUT)
            async with self.limiter.slot():
                await self._run_phase(turn, Phase.PREPARE)
            await self._run_phase(turn, Phase.ANSWER)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not turn.stop_requested or task is None:
                raise
            # Without this, the next await would raise CancelledError again.
            task.uncancel()
            turn.outcome = Outcome.STOPPED
        if turn.outcome is None:
            turn.outcome = Outcome.ANSWERED

    async def _reply(self, turn: Turn) -> None:
        await self._run_phase(turn, Phase.REPLY)
        if turn.committed_as is None:
            # The disk may be full, for example. Show the answer anyway.
            why = turn.failure or _explain_unexpected(turn)
            texts = [turn.reply, _("I can't save this yet: {reason}", reason=why) if turn.reply else why]
            is_delivered = await turn.channel.deliver_uncommitted("\n\n".join(part for part in texts if part))
            # A private talk may be over by the time of a later write, so it is never written late.
            if is_delivered and turn.finished is not None and not turn.session.private and self._owe is not None:
                self._owe(turn.finished)

    async def _run_phase(self, turn: Turn, phase: Phase) -> None:
        for step, system in self._chain:
            if step.phase is not phase:
                continue
            if turn.outcome is Outcome.FAILED and phase in (Phase.INPUT, Phase.PREPARE, Phase.ANSWER):
                return
            await self._run_step(turn, step, system)

    async def _run_step(self, turn: Turn, step: Step, system: System) -> None:
        started = time.perf_counter()
        try:
            await system.process(turn)
        except Exception as error:  # The order table decides what a failure means.
            if isinstance(error, MnemeError):
                text, loggable = str(error), error.loggable
                log.warning("system_failed", system=step.system, error=loggable)
            else:
                text = _explain_unexpected(turn)
                loggable = in_english(text)
                log.exception("system_failed", system=step.system)
            if step.on_failure is OnFailure.ABORT:
                turn.outcome = Outcome.FAILED
                turn.failure, turn.loggable_failure = text, loggable
                turn.can_retry = not isinstance(error, MnemeError) or error.can_retry
                turn.is_over_limit = isinstance(error, DailyLimitReached)
        finally:
            turn.timings[step.system] = time.perf_counter() - started


def _explain_unexpected(turn: Turn) -> str:
    return _("Something went wrong: send /retry, or look for turn {id} in the log.", id=turn.id)


def _arrange(systems: list[System], order: Sequence[Step]) -> list[tuple[Step, System]]:
    orders = Counter(step.order for step in order)
    duplicates = [step for step in order if orders[step.order] > 1]
    if duplicates:
        listed = ", ".join(f"{step.order} {step.system}" for step in duplicates)
        raise PipelineError(f"Two systems have the same order: {listed}.")
    by_name = {system.name: system for system in systems}
    expected, actual = sorted(step.system for step in order), sorted(system.name for system in systems)
    if expected != actual:
        raise PipelineError(f"The pipeline needs each of {expected} once, and got {actual}.")
    return [(step, by_name[step.system]) for step in sorted(order, key=lambda step: step.order)]
