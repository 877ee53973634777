"""The two parts of a prompt that are not the conversation: what stays the same, and what changes with each message.

The first is the one system message at the front, since many chat templates refuse a second one. The other stands at
the end of the newest message and is not kept in history, so that one request is a prefix of the next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import structlog

from memory.files.notes import Memory, without_visible
from memory.messages import Message, Passage, Role, worst
from pipeline.prompt.memory_shares import fitted
from pipeline.prompt.prompts import (
    MEMORY_HEADER,
    NOW_HEADER,
    RELEVANT_HEADER,
    RULES_HEADER,
    SUMMARY_HEADER,
    PromptStyle,
    fenced,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from zoneinfo import ZoneInfo

    from memory.clock import Clock
    from memory.log.daily_notes import DailyNotes
    from memory.log.sessions import Session, Transcript
    from memory.retrieval.activation import Activated, Activation
    from pipeline.prompt.budget import Budget


log = structlog.get_logger(__name__)


class RelevantMemory(Protocol):
    """A search over what was remembered earlier."""

    async def relevant(
        self, session: Session, question: str, visible: Transcript, tokens: int, *, whole_exchanges: bool
    ) -> Passage:
        """What is known about `question` beyond the visible conversation, in `tokens` at most; empty for nothing.

        whole_exchanges: quote the answers too, not the users' words alone.
        """


@dataclass(frozen=True, slots=True)
class ActivationBudget:
    """What activates, and how many tokens it may cost."""

    memories: Activation
    tokens: int


@dataclass(frozen=True, slots=True)
class PromptSources:
    """What is remembered and can stand in a prompt. None: nothing of it is to."""

    files: DailyNotes | None
    activation: ActivationBudget | None
    relevant: Sequence[RelevantMemory]


@dataclass(frozen=True, slots=True)
class Stable:
    """The system message, the baseline memories in it, and the lines of MEMORY.md that it shows.

    unreadable: why a file is not in it, in a sentence.
    """

    message: Message
    baseline: tuple[Activated, ...]
    lines: frozenset[str]
    unreadable: str | None = None


@dataclass(frozen=True, slots=True)
class Volatile:
    """What is added to the newest message, and the memories in it that activated for it. Those are all trusted."""

    text: Passage
    activated: tuple[Activated, ...]


class PromptBuilder:
    """Builds both parts, each within its budget and in the words that suit the model.

    budget: makes that of a turn; what a model takes may become known only while the program runs.
    """

    def __init__(
        self,
        style: PromptStyle,
        sources: PromptSources,
        budget: Callable[[], Budget],
        clock: Clock,
        zone: ZoneInfo,
    ) -> None:
        self._style = style
        self._sources = sources
        self.budget = budget
        self._clock = clock
        self._zone = zone

    async def stable(self, session: Session, visible: Transcript, budget: Budget) -> Stable:
        """Identity and rules, the Markdown files, the baseline memories, the conversation's summary."""
        style = self._style
        parts, provenances, unreadable = [style.identity], [visible.summary_provenance], None
        lines: frozenset[str] = frozenset()
        if self._sources.files is not None:
            memory = await self._sources.files.read(session.owner, self._clock())
            unreadable = memory.unreadable
            if not style.notes:
                memory = Memory(memory.long_term, "", ())
            memory = fitted(without_visible(memory, visible.messages, self._zone), budget.memory, budget)
            context, lines = memory.to_context(), frozenset(memory.long_term.splitlines())
            provenances.append(memory.provenance)
            log.info(f"Memory context: {len(context)} chars")
            parts += [f"{MEMORY_HEADER}\n\n{context}"] if context else []
        baseline = await self._baseline(session.owner, budget, lines)
        if baseline:
            parts.append("\n".join([RULES_HEADER, *(one.line for one in baseline)]))
        if visible.summary:
            header = f"{SUMMARY_HEADER}{visible.summary_provenance.mark}"
            parts.append(f"{header}\n{budget.cut(visible.summary, budget.relevant)}")
        message = Message(Role.SYSTEM, "\n\n".join(parts), self._clock(), provenance=worst(provenances).kept)
        return Stable(message, baseline, lines, unreadable)

    async def stable_tokens(self, session: Session, visible: Transcript) -> int:
        """What the next request of a session costs without its new message."""
        budget = self.budget()
        stable = await self.stable(session, visible, budget)
        spoken = [budget.capped(message, budget.message) for message in visible.messages]
        return budget.counter.messages([stable.message, *spoken], budget.model) + budget.tool_tokens

    async def volatile(
        self, session: Session, question: str, visible: Transcript, stable: Stable, budget: Budget
    ) -> Volatile:
        """The memories that fit `question`, what is found about it in search, and the time."""
        tokens, quoted = budget.relevant, self._style.whole_exchanges
        context = await self._contextual(session.owner, question, stable, budget)
        found = [
            await source.relevant(session, question, visible, tokens, whole_exchanges=quoted)
            for source in self._sources.relevant
        ]
        lines = [one.line for one in context] + [budget.cut(one.text, tokens) for one in found if one.text]
        parts = ["\n".join([RELEVANT_HEADER, *lines])] if lines else []
        parts.append(f"{NOW_HEADER} {self._clock().astimezone(self._zone):%A %Y-%m-%d %H:%M}")
        text = Passage(fenced("\n\n".join(parts)), worst(one.provenance for one in found))
        return Volatile(text, context)

    async def _baseline(self, owner: str, budget: Budget, shown: frozenset[str]) -> tuple[Activated, ...]:
        activation = self._sources.activation
        if activation is None:
            return ()
        tokens = budget.activation(activation.tokens) - budget.text(RULES_HEADER)
        return await activation.memories.baseline(owner, tokens, budget.text, shown)

    async def _contextual(self, owner: str, question: str, stable: Stable, budget: Budget) -> tuple[Activated, ...]:
        activation = self._sources.activation
        if activation is None:
            return ()
        baseline = stable.baseline
        taken = sum(one.tokens for one in baseline) + (budget.text(RULES_HEADER) if baseline else 0)
        tokens = budget.activation(activation.tokens) - taken
        return await activation.memories.contextual(owner, question, baseline, tokens, budget.text, stable.lines)


def with_volatile(messages: Sequence[Message], volatile: Volatile) -> list[Message]:
    """`messages` with what changes at the end of the last one, after the user's own words."""
    last, added = messages[-1], volatile.text
    provenance = worst([last.provenance, added.provenance])
    return [*messages[:-1], replace(last, content=f"{last.content}\n\n{added.text}", provenance=provenance)]
