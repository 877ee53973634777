"""ContextBuilding (20): the request, in the order that keeps the provider's prompt cache warm."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from memory.messages import Message, Provenance, Role
from memory.notes import without_visible
from pipeline.budget import Budget
from pipeline.prompts import NOW_HEADER, RELEVANT_HEADER, SUMMARY_HEADER, SYSTEM_PROMPT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from zoneinfo import ZoneInfo

    from memory.clock import Clock
    from memory.markdown import MarkdownFiles
    from memory.sessions import Session, SessionService, Transcript
    from memory.tokens import TokenCounter
    from pipeline.model import ChatModel
    from pipeline.tools.toolbox import Toolbox
    from pipeline.turn import Turn


class RelevantMemory(Protocol):
    """A search over what was remembered earlier."""

    async def relevant(self, session: Session, question: str, visible: Transcript, tokens: int) -> str:
        """What is known about `question` beyond the visible conversation, in `tokens` at most; empty for nothing."""


class ContextBuilding:
    """Builds prompt, memory and history.

    What stays the same comes first: identity and rules, the Markdown files, the conversation from the newest
    marker on. What changes with every message (relevant memory, the time) stands right before the new message
    and is not kept in history, so that one request is a prefix of the next.
    """

    name = "ContextBuilding"

    def __init__(
        self,
        sessions: SessionService,
        files: MarkdownFiles | None,
        relevant: Sequence[RelevantMemory],
        toolbox: Toolbox,
        model: ChatModel,
        counter: TokenCounter,
        clock: Clock,
        zone: ZoneInfo,
    ) -> None:
        self._sessions = sessions
        self._files = files
        self._relevant = relevant
        self._toolbox = toolbox
        self._model = model
        self._counter = counter
        self._clock = clock
        self._zone = zone

    async def process(self, turn: Turn) -> None:
        """Set the turn's context and tools."""
        tools = self._toolbox.specs
        budget = Budget(self._model.name, self._model.window, self._counter, tools)
        transcript = await self._sessions.transcript(turn.session.id)
        history = [m for m in transcript.messages if m.turn_id is None or m.turn_id != turn.replaces_turn]
        stable = await self._stable(turn.session, history, transcript.summary, budget)
        question = "\n".join(message.content for message in turn.user_messages)
        tokens = budget.relevant
        found = [await source.relevant(turn.session, question, transcript, tokens) for source in self._relevant]
        volatile = self._volatile("\n".join(budget.cut(text, tokens) for text in found if text))
        spoken = [_as_said(budget.capped(m, budget.message)) for m in (*history, *turn.user_messages)]
        at = len(history)
        turn.context = [*stable, *spoken[:at], volatile, *spoken[at:]]
        turn.tools = tools

    async def stable_tokens(self, session: Session) -> int:
        """What the next request of a session costs without its new message, for /status."""
        budget = Budget(self._model.name, self._model.window, self._counter, self._toolbox.specs)
        transcript = await self._sessions.transcript(session.id)
        stable = await self._stable(session, transcript.messages, transcript.summary, budget)
        spoken = [budget.capped(message, budget.message) for message in transcript.messages]
        return self._counter.messages([*stable, *spoken], self._model.name) + budget.tool_tokens

    async def _stable(
        self, session: Session, history: list[Message], summary: str | None, budget: Budget
    ) -> list[Message]:
        prompt = SYSTEM_PROMPT
        if self._files is not None:
            memory = await self._files.read(session.owner, self._clock())
            context = budget.fit_memory(without_visible(memory, history, self._zone)).to_context()
            if context:
                prompt = f"{prompt}\n\n# Memory\n\n{context}"
        messages = [Message(Role.SYSTEM, prompt, self._clock())]
        if summary:
            text = budget.cut(summary, budget.relevant)
            messages.append(Message(Role.SYSTEM, f"{SUMMARY_HEADER}\n{text}", self._clock()))
        return messages

    def _volatile(self, relevant: str) -> Message:
        now = self._clock()
        parts = [f"{RELEVANT_HEADER}\n{relevant}"] if relevant else []
        parts.append(f"{NOW_HEADER} {now.astimezone(self._zone):%A %Y-%m-%d %H:%M}")
        return Message(Role.SYSTEM, "\n\n".join(parts), now)


def _as_said(message: Message) -> Message:
    """`message` with what the model must know of where it came from: the speaker in a group, a forward."""
    marks = []
    if message.role is Role.USER and message.speaker:
        marks.append(f"{message.speaker}:")
    if message.provenance not in (None, Provenance.TYPED):
        marks.append(f"[{message.provenance}]")
    return replace(message, content=" ".join([*marks, message.content])) if marks else message
