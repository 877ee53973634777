"""Test doubles: a clock, and a person at a channel."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from bot.kernel import App
from memory.buttons import Keyboard
from memory.log.sessions import Address
from memory.messages import Document, Provenance
from pipeline.arrival import Arrival, Channel, ReplyChannel
from tests.support.features import wait_for_captures


class FakeClock:
    """Clock that is moved by hand."""

    def __init__(self, now: datetime = datetime(2026, 2, 7, 12, 15, tzinfo=UTC)) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **by: float) -> None:
        """Move forward by `timedelta(**by)`."""
        self.now += timedelta(**by)


@dataclass(slots=True)
class FakeChannel(Channel, ReplyChannel):
    """Channel and ReplyChannel that record their calls."""

    said: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    awaited: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    waited: list[str] = field(default_factory=list)
    begun: list[str] = field(default_factory=list)
    asked: list[tuple[str, Keyboard]] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def reply_channel(self, arrivals: list[Arrival]) -> ReplyChannel:
        return self

    async def say(self, arrival: Arrival, text: str, keyboard: Keyboard = (), document: Document | None = None) -> None:
        await self.deliver(text)

    async def can_manage(self, arrival: Arrival) -> bool:
        return True

    async def is_owner(self, arrival: Arrival) -> bool:
        return True

    def on_queued(self, arrival: Arrival) -> None:
        self.waited.append(arrival.text)

    def on_started(self, arrival: Arrival) -> None:
        self.begun.append(arrival.text)

    async def hold(self, arrivals: list[Arrival]) -> None:
        self.held += [arrival.text for arrival in arrivals]

    async def notify_interrupted(self, arrivals: list[Arrival]) -> None:
        self.shown += [f"interrupted: {arrival.text}" for arrival in arrivals]

    async def show_text(self, text: str) -> None:
        self.shown.append(text)
        self.changed.set()

    async def show_tool(self, name: str) -> None:
        self.tools.append(name)
        self.changed.set()

    async def show_waiting(self, what: str) -> None:
        self.awaited.append(what)
        self.changed.set()

    async def ask(self, question: str, keyboard: Keyboard) -> bool:
        self.asked.append((question, keyboard))
        await self.show_text(question)
        return True

    async def deliver(self, text: str) -> None:
        self.said.append(text)
        self.changed.set()


class Person:
    """Person who talks with an App in one chat."""

    def __init__(self, app: App, address: Address | None = None) -> None:
        self.app = app
        self.address = address or Address("console", "local")
        self.channel = FakeChannel()

    async def sends(self, *texts: str, provenance: Provenance = Provenance.TYPED) -> None:
        """Send messages at once without waiting."""
        await self.app.runner.submit(
            *(Arrival(self.address, text, provenance, self.app.clock(), self.channel) for text in texts)
        )

    async def says(self, text: str, provenance: Provenance = Provenance.TYPED) -> str:
        """Send a message and return the answer."""
        before = len(self.channel.said)
        await self.sends(text, provenance=provenance)
        await self.app.runner.wait_until_idle(self.address.session_id)
        await wait_for_captures(self.app)
        return "\n".join(self.channel.said[before:])

    async def is_told(self) -> str:
        """Return the notices for the next answer."""
        waiting = await self.app.memory.notices.list_waiting(self.address.owner)
        return "\n".join(notice.line.text for notice in waiting)

    async def sees_wait(self, reason: str) -> None:
        """Wait until the channel shows that the answer waits for `reason`."""
        async with asyncio.timeout(20):
            while reason not in self.channel.awaited:
                self.channel.changed.clear()
                await self.channel.changed.wait()

    async def sees(self, text: str) -> None:
        """Wait until `text` is visible in an answer or as a tool's name."""
        async with asyncio.timeout(20):
            while not any(text in seen for seen in (*self.channel.shown, *self.channel.said, *self.channel.tools)):
                self.channel.changed.clear()
                await self.channel.changed.wait()
