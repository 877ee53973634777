"""The one table that puts the systems in order. Gaps leave room for what comes later."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class OnFailure(StrEnum):
    ABORT = "abort"
    CONTINUE = "continue"


class Phase(StrEnum):
    """When a system runs. What comes before the reply ends where a system fails; what comes after needs an answer."""

    INPUT = "input"
    """At once: the message is stored, whatever happens then."""
    PREPARE = "prepare"
    """Only so many turns at a time."""
    ANSWER = "answer"
    REPLY = "reply"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class Place:
    order: int
    system: str
    on_failure: OnFailure
    phase: Phase


ORDER: tuple[Place, ...] = (
    Place(10, "InputSanitizing", OnFailure.ABORT, Phase.INPUT),
    Place(15, "AutoCapture", OnFailure.CONTINUE, Phase.PREPARE),
    Place(18, "AutoCompaction", OnFailure.CONTINUE, Phase.PREPARE),
    Place(20, "ContextBuilding", OnFailure.ABORT, Phase.PREPARE),
    Place(30, "ToolLoop", OnFailure.ABORT, Phase.ANSWER),
    Place(40, "ReplyDelivery", OnFailure.ABORT, Phase.REPLY),
    Place(50, "MemoryPersist", OnFailure.CONTINUE, Phase.AFTER),
    Place(55, "Indexing", OnFailure.CONTINUE, Phase.AFTER),
)
