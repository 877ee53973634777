"""A turn: one incoming message, or several merged ones, on its way through the systems."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from memory.messages import Provenance, worst

if TYPE_CHECKING:
    from datetime import datetime

    from memory.buttons import QuietLine
    from memory.log.sessions import Session, Transcript
    from memory.log.turn_log import FinishedTurn, Outcome
    from memory.messages import Message
    from memory.retrieval.activation import Activated
    from pipeline.arrival import Arrival, ReplyChannel
    from pipeline.models.model import ChatModel
    from pipeline.prompt.budget import Budget


@dataclass(slots=True)
class Turn:
    """What the systems read and write. A field is written by the one system named beside it."""

    id: str
    session: Session
    arrivals: list[Arrival]
    channel: ReplyChannel
    started_at: datetime
    replaces_turn: int | None = None
    stop_requested: bool = False

    user_messages: list[Message] = field(default_factory=list)  # InputSanitizing
    model: ChatModel | None = None  # InputSanitizing
    transcript: Transcript | None = None  # AutoCompaction; where that failed, ContextBuilding
    context: list[Message] = field(default_factory=list)  # ContextBuilding
    budget: Budget | None = None  # ContextBuilding
    activated: tuple[Activated, ...] = ()  # ContextBuilding
    written_entries: list[int] = field(default_factory=list)  # ToolLoop
    recalled_entries: set[int] = field(default_factory=set)  # ToolLoop
    produced: list[Message] = field(default_factory=list)  # ToolLoop
    partial: str = ""  # ToolLoop, while the answer streams
    notices: list[QuietLine] = field(default_factory=list)  # any: under the reply
    outcome: Outcome | None = None  # ToolLoop, the runner
    failure: str | None = None  # the runner
    failure_logged: str | None = None  # the runner: the same, without what a person has sent
    reply: str = ""  # ReplyDelivery
    finished: FinishedTurn | None = None  # ReplyDelivery
    committed_as: int | None = None  # ReplyDelivery
    timings: dict[str, float] = field(default_factory=dict)  # the runner: seconds by system

    @property
    def talking(self) -> ChatModel:
        """The model that talks in this turn."""
        assert self.model is not None, "InputSanitizing gives it"  # noqa: S101  # or ends the turn: the order table
        return self.model

    @property
    def provenance(self) -> Provenance:
        """The worst of all that is in the model's view: prompt, conversation, what was recalled, what tools said."""
        return worst(message.provenance for message in (*self.context, *self.user_messages, *self.produced))


class System(Protocol):
    """One step of the pipeline."""

    @property
    def name(self) -> str:
        """The system's name in the order table and the log."""

    async def process(self, turn: Turn) -> None:
        """Do this step. Raises to fail; the order table says what a failure means."""
