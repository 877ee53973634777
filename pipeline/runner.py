"""Runs a turn through the systems in the order of the table, and sees to it that there is always an answer."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import TYPE_CHECKING

import structlog

from config.texts import _, in_english
from memory.errors import MnemeError
from memory.log.turn_log import Outcome
from pipeline.models.model import DailyLimitReached
from pipeline.order import ORDER, OnFailure, Phase, Place
from pipeline.turn_limiter import TurnLimiter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from memory.log.turn_log import FinishedTurn
    from pipeline.turn import System, Turn

log = structlog.get_logger(__name__)


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
