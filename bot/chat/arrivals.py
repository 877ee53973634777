"""What a channel hands to the sessions, and what the sessions ask of a channel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from memory.log.sessions import Address
    from pipeline.turn import Incoming, ReplyChannel


@dataclass(frozen=True, slots=True)
class Arrival:
    """One message or command from a person. held: it waits for the person's next message (/stop)."""

    address: Address
    incoming: Incoming
    channel: Channel
    message_id: str | None = None
    held: bool = False


class Channel(Protocol):
    """Where arrivals come from and answers go."""

    def reply_channel(self, arrival: Arrival) -> ReplyChannel:
        """Where the reply to a turn goes that ends with this arrival."""

    async def say(self, arrival: Arrival, text: str) -> None:
        """Answer an arrival without a turn, and finish it."""

    async def hold(self, arrivals: list[Arrival]) -> None:
        """Keep arrivals for the person's next message, also over a restart."""

    async def interrupted(self, arrivals: list[Arrival]) -> None:
        """The program stops while it works on `arrivals`: tell those whose answer comes after the next start."""

    def busy(self, arrival: Arrival) -> AbstractAsyncContextManager[None]:
        """Show that work goes on, for as long as the context is open. Entering it does not suspend."""
