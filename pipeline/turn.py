"""A turn: one incoming message, or several merged ones, on its way through the systems."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from memory.facts.fact import MOST_BORROWED, foreign_words
from memory.messages import Message, Provenance, Role, worst

if TYPE_CHECKING:
    from datetime import datetime

    from memory.buttons import Notice
    from memory.consolidation.capture_review import Heard
    from memory.log.sessions import Session, Transcript
    from memory.log.turn_log import FinishedTurn, Outcome
    from memory.reminders.delivery import TaskRun
    from memory.search.activation import Activated
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
    given_up: bool = False  # InputSanitizing: the program was killed over it, so the log keeps it and no model sees it
    model: ChatModel | None = None  # InputSanitizing
    transcript: Transcript | None = None  # AutoCompaction; where that failed, ContextBuilding
    context: list[Message] = field(default_factory=list)  # ContextBuilding
    budget: Budget | None = None  # ContextBuilding
    found: tuple[Message, ...] = ()  # ContextBuilding: what was recalled for the message, by where it came from
    recalled_text: str = ""  # ContextBuilding: the same as the request has it
    heard: list[Heard] = field(default_factory=list)  # AutoCapture: what a model judges after the turn
    activated: tuple[Activated, ...] = ()  # ContextBuilding
    recalled: tuple[int, ...] = ()  # ContextBuilding
    recalled_notes: tuple[int, ...] = ()  # ContextBuilding
    written_entries: list[int] = field(default_factory=list)  # ToolLoop
    recalled_entries: set[int] = field(default_factory=set)  # ToolLoop
    produced: list[Message] = field(default_factory=list)  # ToolLoop
    partial: str = ""  # ToolLoop, while the answer streams
    notices: list[Notice] = field(default_factory=list)  # any: under the reply
    outcome: Outcome | None = None  # ToolLoop, the runner
    failure: str | None = None  # the runner
    is_over_limit: bool = False  # the runner: it failed since the day's tokens are used up
    failure_logged: str | None = None  # the runner: the same, without what a person has sent
    reply: str = ""  # ReplyDelivery
    finished: FinishedTurn | None = None  # ReplyDelivery
    committed_as: int | None = None  # ReplyDelivery
    timings: dict[str, float] = field(default_factory=dict)  # the runner: seconds by system
    resources: AsyncExitStack = field(default_factory=AsyncExitStack)  # any: what the runner gives back at the end

    @property
    def task(self) -> TaskRun | None:
        """The task by the clock that the turn is; None for what a person sent. A task comes alone."""
        return self.arrivals[0].task

    @property
    def talking(self) -> ChatModel:
        assert self.model is not None, "InputSanitizing gives it"  # noqa: S101  # or ends the turn: the order table
        return self.model

    @property
    def provenance(self) -> Provenance:
        """The worst of what the turn itself brought in: what was sent, and what tools quoted."""
        return worst(message.provenance for message in (*self.user_messages, *self.produced))

    @property
    def citable(self) -> tuple[Message, ...]:
        """All that the model reads, each with where it came from: what a write may cite, and what may not be cited."""
        read = [*self.found]
        if self.transcript is not None:
            own, of_others = self.transcript.summaries
            for summary, provenance in ((own, None), (of_others, self.transcript.summary_provenance.kept)):
                read += [Message(Role.TOOL, summary, self.started_at, provenance=provenance)] if summary else []
            # without the turn that is run again
            read += [m for m in self.transcript.messages if m.turn_id is None or m.turn_id != self.replaces_turn]
        return (*read, *self.user_messages, *self.produced)

    def provenance_of(self, answer: str) -> Provenance | None:
        """Return the worst provenance of an answer: of what the turn brought in, or of words that it repeats."""
        if self.provenance.is_foreign:
            return self.provenance
        is_borrowed = len(foreign_words(answer, self.citable)) > MOST_BORROWED
        return Provenance.FOREIGN if is_borrowed else self.provenance.kept


class System(Protocol):
    @property
    def name(self) -> str:
        """The system's name in the order table and the log."""

    async def process(self, turn: Turn) -> None:
        """Do this step. Raises to fail; the order table says what a failure means."""
