"""ContextBuilding (20): the request, in the order that keeps the provider's prompt cache warm."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from memory.messages import Message, Provenance, Role
from memory.notes import without_visible
from pipeline.budget import Budget
from pipeline.prompts import NOW_HEADER, RELEVANT_HEADER, RULES_HEADER, SUMMARY_HEADER, SYSTEM_PROMPT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from zoneinfo import ZoneInfo

    from memory.activation import Activated, Activation
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


@dataclass(frozen=True, slots=True)
class ActivationBudget:
    """What activates, and how many tokens it may cost."""

    memories: Activation
    tokens: int


class ContextBuilding:
    """Builds prompt, memory and history.

    What stays the same comes first: identity and rules, the Markdown files, the baseline memories, the conversation
    from the newest marker on. What changes with every message (the other memories that activate, relevant memory, the
    time) stands right before the new message and is not kept in history, so that one request is a prefix of the next.
    """

    name = "ContextBuilding"

    def __init__(
        self,
        sessions: SessionService,
        files: MarkdownFiles | None,
        activation: ActivationBudget | None,
        relevant: Sequence[RelevantMemory],
        toolbox: Toolbox,
        model: ChatModel,
        counter: TokenCounter,
        clock: Clock,
        zone: ZoneInfo,
    ) -> None:
        self._sessions = sessions
        self._files = files
        self._activation = activation
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
        stable, baseline = await self._stable(turn.session, history, transcript.summary, budget)
        question = "\n".join(message.content for message in turn.user_messages)
        context = await self._contextual(turn.session.owner, question, baseline, budget)
        tokens = budget.relevant
        found = [await source.relevant(turn.session, question, transcript, tokens) for source in self._relevant]
        lines = [one.line for one in context] + [budget.cut(text, tokens) for text in found if text]
        volatile = self._volatile("\n".join(lines))
        spoken = [_as_said(budget.capped(m, budget.message)) for m in (*history, *turn.user_messages)]
        at = len(history)
        turn.context = [*stable, *spoken[:at], volatile, *spoken[at:]]
        turn.tools = tools
        turn.activated = (*baseline, *context)

    async def stable_tokens(self, session: Session) -> int:
        """What the next request of a session costs without its new message, for /status."""
        budget = Budget(self._model.name, self._model.window, self._counter, self._toolbox.specs)
        transcript = await self._sessions.transcript(session.id)
        stable, _ = await self._stable(session, transcript.messages, transcript.summary, budget)
        spoken = [budget.capped(message, budget.message) for message in transcript.messages]
        return self._counter.messages([*stable, *spoken], self._model.name) + budget.tool_tokens

    async def _stable(
        self, session: Session, history: list[Message], summary: str | None, budget: Budget
    ) -> tuple[list[Message], tuple[Activated, ...]]:
        """What stays the same from turn to turn, and the baseline memories in it."""
        parts = [SYSTEM_PROMPT]
        if self._files is not None:
            memory = await self._files.read(session.owner, self._clock())
            context = budget.fit_memory(without_visible(memory, history, self._zone)).to_context()
            parts += [f"# Memory\n\n{context}"] if context else []
        baseline = await self._baseline(session.owner, budget)
        if baseline:
            parts.append("\n".join([RULES_HEADER, *(one.line for one in baseline)]))
        messages = [Message(Role.SYSTEM, "\n\n".join(parts), self._clock())]
        if summary:
            text = budget.cut(summary, budget.relevant)
            messages.append(Message(Role.SYSTEM, f"{SUMMARY_HEADER}\n{text}", self._clock()))
        return messages, baseline

    async def _baseline(self, owner: str, budget: Budget) -> tuple[Activated, ...]:
        if self._activation is None:
            return ()
        tokens = budget.activation(self._activation.tokens) - budget.text(RULES_HEADER)
        return await self._activation.memories.baseline(owner, tokens, budget.text)

    async def _contextual(
        self, owner: str, question: str, baseline: tuple[Activated, ...], budget: Budget
    ) -> tuple[Activated, ...]:
        if self._activation is None:
            return ()
        taken = sum(one.tokens for one in baseline) + (budget.text(RULES_HEADER) if baseline else 0)
        tokens = budget.activation(self._activation.tokens) - taken
        return await self._activation.memories.contextual(owner, question, baseline, tokens, budget.text)

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
