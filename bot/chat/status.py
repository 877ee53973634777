"""What /status says: small reports, read from the store so that they are right after a restart."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.retrieval.activation import Layer
from memory.store.entry import Kind

if TYPE_CHECKING:
    from bot.chat.lanes import Lanes
    from bot.embedding import MeaningModels
    from bot.jobs.embedding import BackgroundEmbedding
    from memory.clock import Clock
    from memory.files.markdown import MarkdownFiles
    from memory.ledger.entries import EntryStore
    from memory.log.compaction import CompactionService, Progress
    from memory.log.sessions import Session, SessionService
    from memory.retrieval.activation import Activation
    from memory.retrieval.activation_log import ActivationLog
    from memory.service.usage import UsageLog
    from pipeline.models.model import ChatModel
    from pipeline.prompt.prompt_builder import PromptBuilder

BAR_WIDTH = 20


@dataclass(frozen=True, slots=True)
class Status:
    """The reports of /status, in the order in which they are shown."""

    conversation: ConversationReport
    model: ModelReport
    memory: MemoryReport
    meaning: MeaningReport
    activity: ActivityReport

    async def text(self, session: Session) -> str:
        """The text of /status."""
        reports = (self.conversation, self.model, self.memory, self.meaning, self.activity)
        found = [line for report in reports for line in await report.lines(session)]
        return "\n".join(f"- **{name}**: {said}" for name, said in found)


@dataclass(frozen=True, slots=True)
class ConversationReport:
    """How much was said, and how much of it the model reads. Tokens are estimates until it has reported usage."""

    sessions: SessionService
    builder: PromptBuilder
    compaction: CompactionService
    model: ChatModel

    async def lines(self, session: Session) -> list[tuple[str, str]]:
        """What there is to say, each with its heading."""
        transcript = await self.sessions.transcript(session.id)
        messages = await self.sessions.message_count(session.id)
        compacted = messages - len(transcript.messages)
        window = self.model.window.max_input_tokens
        tokens = await self.builder.stable_tokens(session, transcript)
        share = min(1.0, tokens / max(1, window))
        filled = round(share * BAR_WIDTH)
        bar = "█" * filled + "░" * (BAR_WIDTH - filled)
        progress = self.compaction.progress(transcript, self.model.name, window)
        return [
            ("Conversation", counted(messages, "message") + (f", {compacted} of them compacted" if compacted else "")),
            ("Context", f"`{bar}` {share:.0%}, about {tokens:,} of {window:,} tokens"),
            ("Compaction", format_progress(progress)),
        ]


@dataclass(frozen=True, slots=True)
class ModelReport:
    """Which model talks, and what all models have cost today."""

    usage: UsageLog
    model: ChatModel

    async def lines(self, session: Session) -> list[tuple[str, str]]:
        """What there is to say, each with its heading."""
        return [("Tokens today", f"{await self.usage.tokens_today():,}"), ("Model", self.model.name)]


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """What is remembered for a session's owner. files None: memory is off."""

    files: MarkdownFiles | None
    entries: EntryStore
    activation: Activation
    activation_log: ActivationLog
    clock: Clock

    async def lines(self, session: Session) -> list[tuple[str, str]]:
        """What there is to say, each with its heading."""
        if self.files is None:
            return [("Memory", "off (MEMORY_ENABLED)")]
        size, *others = await self._amounts(session, self.files)
        memory = ", ".join(counted(*one) for one in others)
        return [
            ("Memory", f"{counted(*size)} of long-term memory, {memory}"),
            ("Activated", await self._activated(session)),
        ]

    async def summary(self, session: Session) -> str:
        """What there is of memory, for the middle of a sentence."""
        if self.files is None:
            return "nothing, since memory is off (MEMORY_ENABLED)"
        size, *others = await self._amounts(session, self.files)
        parts = [f"a MEMORY.md of {counted(*size)}"] if size[0] else []
        parts += [counted(*one) for one in others if one[0]]
        return ", ".join(parts) or "no notes yet"

    async def _amounts(self, session: Session, files: MarkdownFiles) -> list[tuple[int, str, str]]:
        today, recent = await files.note_counts(session.owner, self.clock())
        return [
            (len((await files.read_long_term(session.owner)).encode()), "byte", ""),
            (today, "note of today", "notes of today"),
            (recent, "note of recent days", "notes of recent days"),
            ((await self.entries.counts(session.owner)).get(Kind.ARCHIVE, 0), "archive", ""),
        ]

    async def _activated(self, session: Session) -> str:
        """The memories in the last request: how many of each layer, of layer A of how many, and what they cost."""
        reasons = await self.activation_log.last(session.id)
        baseline = await self.activation.baseline_count(session.owner)
        layers = Counter(reason.layer for reason in reasons)
        rules = layers[Layer.BASELINE]
        of_all = f" of {baseline:,}" if baseline > rules else ""
        parts = (
            f"{rules:,}{of_all} {'rule' if rules == 1 and not of_all else 'rules'}",
            counted(layers[Layer.CONTEXT], "memory", "memories"),
            counted(layers[Layer.PROCEDURES], "workflow"),
        )
        cost = counted(sum(reason.tokens for reason in reasons), "token")
        return f"{', '.join(parts)} in the last request, about {cost} (/memory why)"


@dataclass(frozen=True, slots=True)
class MeaningReport:
    """How far the vectors of a session's owner are, where there is an embedder or there should be one."""

    models: MeaningModels
    background: BackgroundEmbedding | None

    def wake(self) -> None:
        """Something was said that has no vector yet."""
        if self.background is not None:
            self.background.wake()

    async def lines(self, session: Session) -> list[tuple[str, str]]:
        """What there is to say, each with its heading."""
        if self.background is None or self.models.embedder is None:
            return [("Meaning", self.models.trouble)] if self.models.trouble is not None else []
        made = await self.background.progress(session.owner)
        said = f"{made.done:,} of {counted(made.of, 'text')} compared by {self.models.embedder.name}"
        return [("Meaning", f"{said}; {self.background.trouble}" if self.background.trouble else said)]


class ActivityReport:
    """What waits and what runs, and since when."""

    def __init__(self, lanes: Lanes, clock: Clock) -> None:
        self._lanes = lanes
        self._clock = clock
        self._started = clock()

    async def lines(self, session: Session) -> list[tuple[str, str]]:
        """What there is to say, each with its heading."""
        waiting = self._lanes.waiting(session.id)
        queue = f"{waiting} waiting" if waiting else "nothing waiting"
        queue += ", an answer is being written" if self._lanes.running(session.id) else ""
        uptime = int((self._clock() - self._started).total_seconds())
        return [("Queue", queue), ("Uptime", _format_duration(uptime))]


def format_progress(progress: Progress | None) -> str:
    """How far compaction is, in one line."""
    if progress is None:
        return "off (COMPACTION_ENABLED)"
    return (
        f"about {progress.tokens:,} of {progress.threshold:,} tokens, "
        f"{progress.messages:,} of {counted(progress.window, 'message')}"
    )


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: `1 note`, `2 notes`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"


def _format_duration(seconds: int) -> str:
    days, rest = divmod(max(0, seconds), 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, left = divmod(rest, 60)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (left, "s")]
    shown = [f"{value} {unit}" for value, unit in parts if value]
    return " ".join(shown[:2]) or "0 s"
