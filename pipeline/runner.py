"""Runs a turn through the systems in the order of the table, and sees to it that there is always an answer.

Only so many turns are prepared at a time, so that nobody's message or /stop waits for all of a crowd.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import structlog

from config.texts import _, in_english
from config.waiting import Gate
from memory.errors import MnemeError
from memory.log.turn_log import Outcome
from pipeline.models.model import DailyLimitReached
from pipeline.order import ORDER, OnFailure, Phase, Place

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Sequence
    from contextlib import AbstractContextManager

    from memory.log.turn_log import FinishedTurn
    from pipeline.turn import System, Turn

log = structlog.get_logger(__name__)

PLACES = 4
LONGEST = 1.0
"""Seconds that anybody waits for what goes before and for the loop to be calm, and after which a place is free again
whose turn is not ready: it waits for something outside."""
CALM = 0.01
"""Seconds in which the event loop gets round to everything that can go on, when it has not too much to do."""


class TurnLimiter:
    """Places for what keeps the processor and the database busy. Who waits for a model needs none.

    Of five hundred turns that are prepared at once none is ready before the last, and every step of whatever comes
    meanwhile waits for a step of each. So they begin one after the other, and only when the loop has time for more:
    what arrives, what is stopped and what is answered goes before.

    longest: as LONGEST, in seconds.
    """

    def __init__(self, count: int = PLACES, longest: float = LONGEST) -> None:
        self._free = asyncio.Semaphore(count)
        self._clear = Gate()
        self._ready = Gate()
        self.longest = longest

    def prioritized(self) -> AbstractContextManager[None]:
        """Let what is done in the block go before whoever has no place yet, for at most `longest` seconds."""
        # a /stop takes a dozen steps of the database, and at each would wait for those of the turns in preparation
        return self._clear.shut()

    def closed(self) -> AbstractContextManager[None]:
        """Let nobody in until the end of the block, however long it takes: they need what it makes ready."""
        return self._ready.shut()

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Wait for a place, first come first served, and hold it until the end of the block, or so many seconds."""
        await self._free.acquire()
        # the place is given back once, by the timer or at the end
        held = True

        def leave() -> None:
            nonlocal held
            if held:
                held = False
                self._free.release()

        try:
            await self._ready.passed()
            with suppress(TimeoutError):
                async with asyncio.timeout(self.longest):
                    await self._calm()
            timer = asyncio.get_running_loop().call_later(self.longest, leave)
            try:
                yield
            finally:
                timer.cancel()
        finally:
            leave()

    async def _calm(self) -> None:
        """Wait until nothing goes before, and the event loop gets round to everything quickly."""
        loop = asyncio.get_running_loop()
        while True:
            await self._clear.passed()
            began = loop.time()
            await asyncio.sleep(0)
            if self._clear.is_open and loop.time() - began < CALM:
                return


class PipelineError(Exception):
    """The systems do not make a pipeline."""


class Pipeline:
    """The systems, each at its place. observe: is shown each turn when it has ended.

    owe: takes a turn that was answered and could not be committed.
    """

    def __init__(
        self,
        systems: Iterable[System],
        order: Sequence[Place] = ORDER,
        observe: Callable[[Turn], None] | None = None,
        owe: Callable[[FinishedTurn], None] | None = None,
    ) -> None:
        self._owe = owe
        self._chain = _arranged(list(systems), order)
        self._observe = observe
        self.places = TurnLimiter()
        log.info("pipeline", systems=" -> ".join(f"{place.order} {place.system}" for place, _ in self._chain))

    async def run(self, turn: Turn) -> None:
        """Run a turn to its end. It ends answered, stopped or failed, and the user hears which.

        Raises CancelledError only when the process shuts down; then nothing of the turn is committed.
        """
        with structlog.contextvars.bound_contextvars(turn=turn.id, session=turn.session.id):
            async with turn.resources:
                await self._until_answer(turn)
                # from here on the turn can't be stopped: it is committed whole
                await self._reply(turn)
                if turn.outcome is Outcome.ANSWERED and turn.committed_as is not None:
                    await self._run_phase(turn, Phase.AFTER)
            timings = {system: round(seconds * 1000, 1) for system, seconds in turn.timings.items()}
            log.info("turn_finished", outcome=str(turn.outcome), failure=turn.failure_logged, ms=timings)
            if self._observe is not None:
                self._observe(turn)

    async def _until_answer(self, turn: Turn) -> None:
        try:
            await self._run_phase(turn, Phase.INPUT)
            async with self.places.one():
                await self._run_phase(turn, Phase.PREPARE)
            await self._run_phase(turn, Phase.ANSWER)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not turn.stop_requested or task is None:
                raise
            # the cancellation is over: what follows must be able to wait
            task.uncancel()
            turn.outcome = Outcome.STOPPED
        if turn.outcome is None:
            turn.outcome = Outcome.ANSWERED

    async def _reply(self, turn: Turn) -> None:
        await self._run_phase(turn, Phase.REPLY)
        if turn.committed_as is None:
            # a full disk, for one: the answer is still worth showing
            why = turn.failure or _unexpected(turn)
            texts = [turn.reply, _("I can't keep this yet: {reason}", reason=why) if turn.reply else why]
            is_delivered = await turn.channel.deliver_uncommitted("\n\n".join(part for part in texts if part))
            # of a private talk nothing is written once it may be over
            if is_delivered and turn.finished is not None and not turn.session.private and self._owe is not None:
                self._owe(turn.finished)

    async def _run_phase(self, turn: Turn, phase: Phase) -> None:
        for place, system in self._chain:
            if place.phase is not phase:
                continue
            if turn.outcome is Outcome.FAILED and phase in (Phase.INPUT, Phase.PREPARE, Phase.ANSWER):
                return
            await self._step(turn, place, system)

    async def _step(self, turn: Turn, place: Place, system: System) -> None:
        started = time.perf_counter()
        try:
            await system.process(turn)
        except Exception as error:  # the order table decides what a failure means
            if isinstance(error, MnemeError):
                text, loggable = str(error), error.loggable
                log.warning("system_failed", system=place.system, error=loggable)
            else:
                text = _unexpected(turn)
                loggable = in_english(text)
                log.exception("system_failed", system=place.system)
            if place.on_failure is OnFailure.ABORT:
                turn.outcome = Outcome.FAILED
                turn.failure, turn.failure_logged = text, loggable
                turn.is_over_limit = isinstance(error, DailyLimitReached)
        finally:
            turn.timings[place.system] = time.perf_counter() - started


def _unexpected(turn: Turn) -> str:
    return _("Something went wrong on my side: send /retry, or look for turn {id} in the log.", id=turn.id)


def _arranged(systems: list[System], order: Sequence[Place]) -> list[tuple[Place, System]]:
    orders = Counter(place.order for place in order)
    doubled = [place for place in order if orders[place.order] > 1]
    if doubled:
        named = ", ".join(f"{place.order} {place.system}" for place in doubled)
        raise PipelineError(f"Two systems have the same order: {named}.")
    by_name = {system.name: system for system in systems}
    expected, actual = sorted(place.system for place in order), sorted(system.name for system in systems)
    if expected != actual:
        raise PipelineError(f"The pipeline needs each of {expected} once, and got {actual}.")
    return [(place, by_name[place.system]) for place in sorted(order, key=lambda p: p.order)]
