"""The order table of the pipeline. Its numbers have gaps, so that a system can be inserted later."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class OnFailure(StrEnum):
    ABORT = "abort"
    CONTINUE = "continue"


class Phase(StrEnum):
    """A stage of a turn. The stages before REPLY are skipped once the turn has failed."""

    INPUT = "input"
    """Runs at once, so that the message is stored even if a later step fails."""
    PREPARE = "prepare"
    """Runs for a limited number of turns at a time (see `TurnLimiter`)."""
    ANSWER = "answer"
    REPLY = "reply"
    AFTER = "after"
    """Runs only for turns that were answered and committed."""


@dataclass(frozen=True, slots=True)
class Step:
    order: int
    system: str
    on_failure: OnFailure
    phase: Phase


ORDER: tuple[Step, ...] = (
    Step(10, "InputSanitizing", OnFailure.ABORT, Phase.INPUT),
    Step(18, "AutoCompaction", OnFailure.CONTINUE, Phase.PREPARE),
    Step(20, "ContextBuilding", OnFailure.ABORT, Phase.PREPARE),
    Step(30, "ToolLoop", OnFailure.ABORT, Phase.ANSWER),
    Step(40, "ReplyDelivery", OnFailure.ABORT, Phase.REPLY),
    Step(50, "MemoryPersist", OnFailure.CONTINUE, Phase.AFTER),
)
