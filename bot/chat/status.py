"""What /status says, read from the store so that it is right after a restart."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from memory.retrieval.activation import Layer
from memory.store.entry import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from memory.clock import Clock
    from memory.files.markdown import MarkdownFiles
    from memory.ledger.entries import EntryStore
    from memory.log.compaction import CompactionService, Progress
    from memory.log.sessions import Session, SessionService
    from memory.retrieval.activation import Activation
    from memory.retrieval.activation_log import ActivationLog
    from memory.service.usage import UsageLog
    from pipeline.models.model import ChatModel
    from pipeline.systems.context_building import ContextBuilding

BAR_WIDTH = 20


class Queues(Protocol):
    """Where waiting arrivals are counted."""

    def waiting(self, session_id: str) -> int:
        """How many arrivals of a session wait."""

    def running(self, session_id: str) -> bool:
        """Whether a turn or a command of a session runs."""


@dataclass(frozen=True, slots=True)
class MemoryState:
    """What is remembered: bytes of MEMORY.md, notes of today and of the recent days, archives."""

    long_term_bytes: int
    notes_today: int
    notes_recent: int
    archives: int


@dataclass(frozen=True, slots=True)
class ActivationState:
    """The memories in the last request: how many of each layer, what they cost, and what layer A would hold in all."""

    layers: Mapping[Layer, int]
    tokens: int
    baseline: int


@dataclass(frozen=True, slots=True)
class Status:
    """Everything that /status shows. Tokens are estimates until the model has reported usage.

    memory: None where it is off. compaction: None where nothing is compacted by itself.
    """

    messages: int
    visible_messages: int
    context_tokens: int
    window_tokens: int
    tokens_today: int
    model: str
    memory: MemoryState | None
    activation: ActivationState
    compaction: Progress | None
    waiting: int
    running: bool
    uptime: timedelta


class StatusService:
    """Gathers a session's status. files: None where memory is off."""

    def __init__(
        self,
        sessions: SessionService,
        files: MarkdownFiles | None,
        entries: EntryStore,
        activation: Activation,
        activation_log: ActivationLog,
        usage: UsageLog,
        context: ContextBuilding,
        compaction: CompactionService,
        model: ChatModel,
        queues: Queues,
        clock: Clock,
    ) -> None:
        self._sessions = sessions
        self._files = files
        self._entries = entries
        self._activation = activation
        self._activation_log = activation_log
        self._usage = usage
        self._context = context
        self._compaction = compaction
        self._model = model
        self._queues = queues
        self._clock = clock
        self._started: datetime = clock()

    async def status(self, session: Session) -> Status:
        """The status of a session now."""
        transcript = await self._sessions.transcript(session.id)
        window = self._model.window.max_input_tokens
        return Status(
            messages=await self._sessions.message_count(session.id),
            visible_messages=len(transcript.messages),
            context_tokens=await self._context.stable_tokens(session),
            window_tokens=window,
            tokens_today=await self._usage.tokens_today(),
            model=self._model.name,
            memory=await self.memory(session),
            activation=await self._activated(session),
            compaction=self._compaction.progress(transcript, self._model.name, window),
            waiting=self._queues.waiting(session.id),
            running=self._queues.running(session.id),
            uptime=self._clock() - self._started,
        )

    async def memory(self, session: Session) -> MemoryState | None:
        """What is remembered for a session's owner; None where memory is off."""
        if self._files is None:
            return None
        today, recent = await self._files.note_counts(session.owner, self._clock())
        return MemoryState(
            long_term_bytes=len((await self._files.read_long_term(session.owner)).encode()),
            notes_today=today,
            notes_recent=recent,
            archives=(await self._entries.counts(session.owner)).get(Kind.ARCHIVE, 0),
        )

    async def _activated(self, session: Session) -> ActivationState:
        reasons = await self._activation_log.last(session.id)
        return ActivationState(
            layers=Counter(reason.layer for reason in reasons),
            tokens=sum(reason.tokens for reason in reasons),
            baseline=await self._activation.baseline_count(session.owner),
        )

    async def memory_line(self, session: Session) -> str:
        """What there is of memory, in one line."""
        memory = await self.memory(session)
        if memory is None:
            return "nothing, since memory is off (MEMORY_ENABLED)"
        parts = [
            f"a MEMORY.md of {counted(memory.long_term_bytes, 'byte')}" if memory.long_term_bytes else "",
            f"{counted(memory.notes_today, 'note')} of today" if memory.notes_today else "",
            f"{counted(memory.notes_recent, 'note')} of recent days" if memory.notes_recent else "",
            counted(memory.archives, "archive") if memory.archives else "",
        ]
        return ", ".join(part for part in parts if part) or "no notes yet"


def format_memory(memory: MemoryState) -> str:
    """Memory in one line."""
    parts = (
        f"{counted(memory.long_term_bytes, 'byte')} of long-term memory",
        f"{counted(memory.notes_today, 'note')} of today",
        f"{counted(memory.notes_recent, 'note')} of recent days",
        counted(memory.archives, "archive"),
    )
    return ", ".join(parts)


def format_activation(state: ActivationState) -> str:
    """What activated, in one line."""
    rules = state.layers.get(Layer.BASELINE, 0)
    of_all = f" of {state.baseline:,}" if state.baseline > rules else ""
    parts = (
        f"{rules:,}{of_all} {'rule' if rules == 1 and not of_all else 'rules'}",
        counted(state.layers.get(Layer.CONTEXT, 0), "memory", "memories"),
        counted(state.layers.get(Layer.PROCEDURES, 0), "workflow"),
    )
    return f"{', '.join(parts)} in the last request, about {counted(state.tokens, 'token')} (/memory why)"


def format_progress(progress: Progress | None) -> str:
    """How far compaction is, in one line."""
    if progress is None:
        return "off (COMPACTION_ENABLED)"
    return (
        f"about {progress.tokens:,} of {progress.threshold:,} tokens, "
        f"{progress.messages:,} of {counted(progress.window, 'message')}"
    )


def format_status(status: Status) -> str:
    """The text of /status."""
    share = min(1.0, status.context_tokens / max(1, status.window_tokens))
    filled = round(share * BAR_WIDTH)
    bar = "█" * filled + "░" * (BAR_WIDTH - filled)
    compacted = status.messages - status.visible_messages
    queue = f"{status.waiting} waiting" if status.waiting else "nothing waiting"
    lines = [
        f"- **Conversation**: {counted(status.messages, 'message')}"
        + (f", {compacted} of them compacted" if compacted else ""),
        f"- **Context**: `{bar}` {share:.0%}, about {status.context_tokens:,} of {status.window_tokens:,} tokens",
        f"- **Compaction**: {format_progress(status.compaction)}",
        f"- **Tokens today**: {status.tokens_today:,}",
        f"- **Model**: {status.model}",
        f"- **Memory**: {format_memory(status.memory) if status.memory else 'off (MEMORY_ENABLED)'}",
        *([f"- **Activated**: {format_activation(status.activation)}"] if status.memory else []),
        f"- **Queue**: {queue}" + (", an answer is being written" if status.running else ""),
        f"- **Uptime**: {_duration(int(status.uptime.total_seconds()))}",
    ]
    return "\n".join(lines)


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: `1 note`, `2 notes`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"


def _duration(seconds: int) -> str:
    days, rest = divmod(max(0, seconds), 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, left = divmod(rest, 60)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (left, "s")]
    shown = [f"{value} {unit}" for value, unit in parts if value]
    return " ".join(shown[:2]) or "0 s"
