"""A turn: one incoming message, or several merged ones, on its way through the systems."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from memory.messages import Provenance, worst

if TYPE_CHECKING:
    from datetime import datetime

    from memory.log.sessions import Session
    from memory.log.turn_log import Outcome, OutgoingReply
    from memory.messages import Message
    from memory.retrieval.activation import Activated
    from pipeline.prompt.budget import Budget


@dataclass(frozen=True, slots=True)
class Incoming:
    """What a person sent. inbox_id: where the channel keeps it until the turn is committed."""

    text: str
    provenance: Provenance
    received_at: datetime
    speaker: str | None = None
    inbox_id: int | None = None
    reply_to: str | None = None


class ReplyChannel(Protocol):
    """Where a turn's reply goes. Only `deliver` matters to the outcome; the rest is for show."""

    async def show_text(self, text: str) -> None:
        """Show the answer so far; called again and again while it streams."""

    async def show_tool(self, name: str) -> None:
        """Show that a tool runs."""

    async def show_waiting(self, what: str) -> None:
        """Show what is awaited before the first word of an answer, such as `loading the model`."""

    async def outgoing(self, text: str) -> OutgoingReply | None:
        """The reply for the outbox, committed with the turn; None where the channel needs none. Ends the show."""

    async def deliver_uncommitted(self, text: str) -> None:
        """Show a reply that could not be committed; nothing else will ever send it."""

    async def deliver(self, text: str) -> None:
        """Hand over the final reply, after the commit."""


@dataclass(slots=True)
class Turn:
    """What the systems read and write. A field is written by the one system named beside it."""

    id: str
    session: Session
    incoming: list[Incoming]
    channel: ReplyChannel
    started_at: datetime
    replaces_turn: int | None = None
    stop_requested: bool = False

    user_messages: list[Message] = field(default_factory=list)  # InputSanitizing
    context: list[Message] = field(default_factory=list)  # ContextBuilding
    budget: Budget | None = None  # ContextBuilding
    activated: tuple[Activated, ...] = ()  # ContextBuilding
    written_entries: list[int] = field(default_factory=list)  # ToolLoop
    recalled_entries: set[int] = field(default_factory=set)  # ToolLoop
    produced: list[Message] = field(default_factory=list)  # ToolLoop
    partial: str = ""  # ToolLoop, while the answer streams
    notices: list[str] = field(default_factory=list)  # any: quiet lines under the reply
    outcome: Outcome | None = None  # ToolLoop, the runner
    failure: str | None = None  # the runner
    reply: str = ""  # ReplyDelivery
    committed_as: int | None = None  # ReplyDelivery
    timings: dict[str, float] = field(default_factory=dict)  # the runner: seconds by system

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
