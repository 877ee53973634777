"""The state of a turn: one message, or several merged ones, as it passes through the pipeline."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from memory.buttons import Notice
from memory.facts.fact import MAX_FOREIGN_WORDS, find_foreign_words
from memory.log.sessions import Session, Transcript
from memory.log.turn_log import FinishedTurn, Outcome
from memory.messages import Message, Provenance, Role, find_least_trusted
from memory.search.activation_candidates import ActivatedMemory
from pipeline.arrival import Arrival, ReplyChannel
from pipeline.models.model import ChatModel
from pipeline.prompt.budget import Budget
from pipeline.scheduled import ScheduledRun
from pipeline.tools.turn_files import TurnFiles


@dataclass(slots=True)
class Turn:
    """The state that the systems share. The comment after a field names the system that writes it."""

    id: str
    session: Session
    arrivals: list[Arrival]
    channel: ReplyChannel
    started_at: datetime
    replaces_turn: int | None = None
    stop_requested: bool = False

    user_messages: list[Message] = field(default_factory=list)  # InputSanitizing
    pasted: list[Message] = field(default_factory=list)  # Features: typed messages that nothing is learned from
    given_up: bool = False  # InputSanitizing, ToolLoop: the message stays in the log, but no model sees it again
    model: ChatModel | None = None  # InputSanitizing
    transcript: Transcript | None = None  # AutoCompaction, or ContextBuilding if that failed
    context: list[Message] = field(default_factory=list)  # ContextBuilding
    budget: Budget | None = None  # ContextBuilding
    recalled_messages: tuple[Message, ...] = ()  # ContextBuilding: the recalled passages, each with its provenance
    recalled_text: str = ""  # ContextBuilding: the recalled passages as the request shows them
    activated: tuple[ActivatedMemory, ...] = ()  # ContextBuilding
    recalled: tuple[int, ...] = ()  # ContextBuilding
    recalled_notes: tuple[int, ...] = ()  # ContextBuilding
    written_entries: list[int] = field(default_factory=list)  # ToolLoop
    recalled_entries: set[int] = field(default_factory=set)  # ToolLoop
    produced: list[Message] = field(default_factory=list)  # ToolLoop
    is_silent: bool = False  # ToolLoop: it is a task that has nothing to tell
    partial: str = ""  # ToolLoop, while the answer streams
    files: TurnFiles = field(default_factory=TurnFiles)  # ToolLoop: made by tools, and those to send with the answer
    notices: list[Notice] = field(default_factory=list)  # Any system: shown below the reply
    outcome: Outcome | None = None  # The runner
    failure: str | None = None  # The runner
    can_retry: bool = True  # The runner: after a failure, another attempt may succeed
    is_over_limit: bool = False  # The runner: the turn failed because today's tokens are used up
    loggable_failure: str | None = None  # The runner: the failure without any text from the user
    reply: str = ""  # ReplyDelivery
    finished: FinishedTurn | None = None  # ReplyDelivery
    committed_as: int | None = None  # ReplyDelivery
    timings: dict[str, float] = field(default_factory=dict)  # The runner: seconds by system
    resources: AsyncExitStack = field(default_factory=AsyncExitStack)  # Any system: closed when the turn ends

    @property
    def task(self) -> ScheduledRun | None:
        """The scheduled task that this turn runs, or None for a message. A task is never merged with messages."""
        return self.arrivals[0].task

    @property
    def chat_model(self) -> ChatModel:
        # Without a model InputSanitizing fails, which aborts the turn.
        assert self.model is not None, "InputSanitizing gives it"  # noqa: S101
        return self.model

    @property
    def provenance(self) -> Provenance:
        """The least trusted provenance among the new messages and the tool results."""
        return find_least_trusted(message.provenance for message in (*self.user_messages, *self.produced))

    @property
    def citable_messages(self) -> tuple[Message, ...]:
        """Everything that the model reads in this turn, with its provenance. The quotes of writes are checked in it."""
        read = [*self.recalled_messages]
        if self.transcript is not None:
            own, of_others = self.transcript.summaries
            for summary, provenance in ((own, None), (of_others, self.transcript.summary_provenance.stored)):
                read += [Message(Role.TOOL, summary, self.started_at, provenance=provenance)] if summary else []
            # A retry does not see the turn that it replaces.
            read += [m for m in self.transcript.messages if m.turn_id is None or m.turn_id != self.replaces_turn]
        return (*read, *self.user_messages, *self.produced)

    def get_provenance(self, answer: str) -> Provenance | None:
        """Return the provenance of an answer: foreign if the turn read foreign text or the answer repeats some."""
        if self.provenance.is_foreign:
            return self.provenance
        is_borrowed = len(find_foreign_words(answer, self.citable_messages)) > MAX_FOREIGN_WORDS
        return Provenance.FOREIGN if is_borrowed else self.provenance.stored


class System(Protocol):
    @property
    def name(self) -> str:
        """The system's name in the order table and the log."""

    async def process(self, turn: Turn) -> None:
        """Run this step. If it raises, the order table decides whether the turn is aborted."""
