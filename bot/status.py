"""What /status says, read from the store so that it is right after a restart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from memory.archives import ArchiveStore
    from memory.clock import Clock
    from memory.markdown import MarkdownFiles
    from memory.sessions import Session, SessionService
    from memory.usage import UsageLog
    from pipeline.model import ChatModel
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
class Status:
    """Everything that /status shows. Tokens are estimates until the model has reported usage."""

    messages: int
    visible_messages: int
    context_tokens: int
    window_tokens: int
    tokens_today: int
    model: str
    memory: MemoryState
    waiting: int
    running: bool
    uptime: timedelta


class StatusService:
    """Gathers a session's status."""

    def __init__(
        self,
        sessions: SessionService,
        files: MarkdownFiles,
        archives: ArchiveStore,
        usage: UsageLog,
        context: ContextBuilding,
        model: ChatModel,
        queues: Queues,
        clock: Clock,
    ) -> None:
        self._sessions = sessions
        self._files = files
        self._archives = archives
        self._usage = usage
        self._context = context
        self._model = model
        self._queues = queues
        self._clock = clock
        self._started: datetime = clock()

    async def status(self, session: Session) -> Status:
        """The status of a session now."""
        return Status(
            messages=await self._sessions.message_count(session.id),
            visible_messages=len((await self._sessions.transcript(session.id)).messages),
            context_tokens=await self._context.stable_tokens(session),
            window_tokens=self._model.window.max_input_tokens,
            tokens_today=await self._usage.tokens_today(),
            model=self._model.name,
            memory=await self.memory(session),
            waiting=self._queues.waiting(session.id),
            running=self._queues.running(session.id),
            uptime=self._clock() - self._started,
        )

    async def memory(self, session: Session) -> MemoryState:
        """What is remembered for a session's owner."""
        today, recent = await self._files.note_counts(session.owner, self._clock())
        return MemoryState(
            long_term_bytes=len((await self._files.read_long_term(session.owner)).encode()),
            notes_today=today,
            notes_recent=recent,
            archives=await self._archives.count(session.owner),
        )

    async def memory_line(self, session: Session) -> str:
        """What is remembered, in one line."""
        return written_memory(await self.memory(session))


def written_memory(memory: MemoryState) -> str:
    """Memory in one line."""
    parts = [
        f"{counted(memory.long_term_bytes, 'byte')} of long-term memory",
        f"{counted(memory.notes_today, 'note')} of today",
        f"{counted(memory.notes_recent, 'note')} of recent days",
        counted(memory.archives, "archive"),
    ]
    return ", ".join(parts)


def written_status(status: Status) -> str:
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
        f"- **Tokens today**: {status.tokens_today:,}",
        f"- **Model**: {status.model}",
        f"- **Memory**: {written_memory(status.memory)}",
        f"- **Queue**: {queue}" + (", an answer is being written" if status.running else ""),
        f"- **Uptime**: {_duration(int(status.uptime.total_seconds()))}",
    ]
    return "\n".join(lines)


def counted(number: int, noun: str) -> str:
    """A number with its noun: `1 note`, `2 notes`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _duration(seconds: int) -> str:
    days, rest = divmod(max(0, seconds), 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, left = divmod(rest, 60)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (left, "s")]
    shown = [f"{value} {unit}" for value, unit in parts if value]
    return " ".join(shown[:2]) or "0 s"
