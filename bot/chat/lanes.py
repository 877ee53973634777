"""What waits and what runs in each session, apart from who runs it: commands count it, stop it and hold it back."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from memory.log.sessions import SessionState

if TYPE_CHECKING:
    from collections.abc import Container

    from memory.log.sessions import SessionService
    from pipeline.arrival import Arrival
    from pipeline.turn import Turn


@dataclass(slots=True)
class Lane:
    """What goes on in one session. working: the arrivals that the running step answers."""

    waiting: deque[Arrival] = field(default_factory=deque)
    worker: asyncio.Task[None] | None = None
    step: asyncio.Task[None] | None = None
    turn: Turn | None = None
    working: list[Arrival] = field(default_factory=list)
    told_full: bool = False
    stopping: bool = False

    @property
    def ready(self) -> int:
        """How many arrivals may run: what a /stop held waits until something new comes."""
        return sum(not arrival.held for arrival in self.waiting)


class Lanes:
    """The lanes of all sessions that anything has arrived in."""

    def __init__(self, sessions: SessionService) -> None:
        self._sessions = sessions
        self._lanes: dict[str, Lane] = {}

    def of(self, session_id: str) -> Lane:
        """The lane of a session."""
        return self._lanes.setdefault(session_id, Lane())

    def of_chat(self, chat: str) -> list[Lane]:
        """The lanes of a chat (`Address.owner`) and of its topics."""
        return [lane for session, lane in self._lanes.items() if session == chat or session.startswith(f"{chat}:")]

    def all(self) -> list[Lane]:
        """Every lane."""
        return list(self._lanes.values())

    def waiting(self, session_id: str) -> int:
        """How many arrivals of a session wait."""
        return len(self.of(session_id).waiting)

    def is_idle(self, session_id: str) -> bool:
        """Whether nothing of a session runs or waits."""
        lane = self._lanes.get(session_id)
        return lane is None or (lane.worker is None and not lane.waiting)

    def running(self, session_id: str) -> bool:
        """Whether a turn or a command of a session runs."""
        return self.of(session_id).step is not None

    def load(self) -> tuple[int, int]:
        """How many sessions are at work, and how many arrivals wait in all."""
        lanes = self._lanes.values()
        return sum(lane.step is not None for lane in lanes), sum(len(lane.waiting) for lane in lanes)

    def replace_waiting(self, arrival: Arrival) -> Arrival | None:
        """Put an edited message in the place of its former text, if that has not been started; what waits now."""
        waiting = self.of(arrival.address.session_id).waiting
        for at, former in enumerate(waiting):
            if former.message_id is not None and former.message_id == arrival.message_id:
                waiting[at] = replace(former, text=arrival.text, files=arrival.files)
                return waiting[at]
        return None

    def drop_held(self, session_id: str, inbox_ids: Container[int]) -> None:
        """Have no turn answer what a /stop holds back of these, and what no inbox keeps."""
        lane = self.of(session_id)
        lane.waiting = deque(
            a for a in lane.waiting if not (a.held and (a.inbox_id is None or a.inbox_id in inbox_ids))
        )

    async def stop(self, session_id: str) -> tuple[bool, int]:
        """Cancel what runs in a session and hold what waits; whether anything ran, and how much waits."""
        lane = self.of(session_id)
        await asyncio.sleep(0)  # lets a step that was only just created begin, so that it can end itself
        answered = lane.turn is not None and lane.turn.outcome is not None and not lane.stopping
        if lane.step is None or answered:
            return False, len(lane.waiting)
        step = lane.step
        if not lane.stopping:  # a second /stop must not break into the end of what the first one stopped
            lane.stopping = True
            if lane.turn is not None:
                lane.turn.stop_requested = True
            step.cancel()
        held = [replace(arrival, held=True) for arrival in lane.waiting]
        lane.waiting = deque(held)
        for channel in {id(a.channel): a.channel for a in held}.values():
            await channel.hold([a for a in held if a.channel is channel])
        if held:
            await self._sessions.set_state(session_id, SessionState.PAUSED)
        await asyncio.wait([step])
        return True, len(lane.waiting)
