"""What /status says: small reports, read from the store so that they are right after a restart."""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from config.texts import _, ngettext, number
from config.texts import dollars as in_dollars
from memory.search.activation import Layer
from memory.store.entry import Kind

if TYPE_CHECKING:
    from bot.jobs.background import BackgroundEmbedding
    from bot.models import MeaningModels
    from bot.sessions import SessionQueues
    from memory.clock import Clock
    from memory.files.markdown import MarkdownFiles
    from memory.ledger.entries import EntryStore
    from memory.log.compaction import CompactionService, Progress
    from memory.log.sessions import Session, SessionService
    from memory.search.activation import Activation, ActivationLog
    from memory.service.usage import Spent, UsageLog
    from pipeline.models.routing import ModelChoice
    from pipeline.prompt.prompt_builder import PromptBuilder

CENT = 0.01

WIDTH = 28
"""Cells of a line: a telephone shows some 32 in monospace before it breaks one."""
_SHARE_CELLS = 5
"""` 100%`."""


class Report(Protocol):
    """A report of another module."""

    async def groups(self, session: Session) -> list[Group]:
        """What there is to say."""


@dataclass(frozen=True, slots=True)
class Status:
    """The reports of /status, in the order in which they are shown."""

    conversation: ConversationReport
    spending: SpendingReport
    memory: MemoryReport
    meaning: MeaningReport
    tools: Report
    activity: ActivityReport

    async def text(self, session: Session) -> str:
        """The text of /status."""
        reports = (self.conversation, self.spending, self.memory, self.meaning, self.tools, self.activity)
        groups = [group for report in reports for group in await report.groups(session)]
        return "\n\n".join(map(str, groups))


@dataclass(frozen=True, slots=True)
class ConversationReport:
    """How much was said, and how much of it the model reads. Tokens are estimates until it has reported usage."""

    sessions: SessionService
    builder: PromptBuilder
    compaction: CompactionService
    models: ModelChoice

    async def groups(self, session: Session) -> list[Group]:
        """What there is to say."""
        transcript = await self.sessions.transcript(session.id)
        messages = await self.sessions.message_count(session.id)
        compacted = messages - len(transcript.messages)
        model = await self.models.of(session.address.owner)
        window = model.window.max_input_tokens
        tokens = await self.builder.stable_tokens(session, transcript, model)
        rows = [
            (_("model"), model.name),
            (_("tokens"), _estimate_of(tokens, window)),
            (_("messages"), number(messages)),
        ]
        rows += [(_("summarised"), number(compacted))] if compacted else []
        share = min(1.0, tokens / max(1, window))
        private = Group(_("Private"), notes=(_("Nothing of this talk is kept, and /new ends and deletes it."),))
        return [
            *([private] if session.private else []),
            Group(_("Context"), tuple(rows), share),
            self._next_summary(self.compaction.progress(transcript, model.name, window)),
        ]

    def _next_summary(self, progress: Progress | None) -> Group:
        title = _("Until the next summary")
        if progress is None:
            return Group(title, notes=(_("It is off (COMPACTION_ENABLED)."),))
        rows = (
            (_("tokens"), _estimate_of(progress.tokens, progress.threshold)),
            (_("messages"), _part_of(progress.messages, progress.window)),
        )
        return Group(title, rows)


@dataclass(frozen=True, slots=True)
class SpendingReport:
    """What all models have cost today, in all chats together."""

    usage: UsageLog

    async def groups(self, session: Session) -> list[Group]:
        """What there is to say."""
        spent = await self.usage.today()
        rows = [(_("tokens"), number(spent.tokens))]
        rows += [(_("cost"), format_cost(spent.cost))] if spent.priced else []
        return [Group(_("Today, in all chats"), tuple(rows), notes=_unpriced(spent))]


def format_cost(cost: float) -> str:
    """What calls have cost, from US dollars; what a provider charges may differ by taxes and discounts."""
    if cost <= 0:
        return _("free")
    return _("about {cost}", cost=in_dollars(cost)) if cost >= CENT else _("under {cost}", cost=in_dollars(CENT))


def _unpriced(spent: Spent) -> tuple[str, ...]:
    if not spent.unpriced:
        return ()
    models, many = ", ".join(f"`{name}`" for name in spent.unpriced), len(spent.unpriced)
    if spent.priced:
        text = ngettext(
            "The cost is without {models}, whose price I don't know.",
            "The cost is without {models}, whose prices I don't know.",
            many,
            models=models,
        )
    else:
        text = ngettext(
            "I don't know the price of {models}.",
            "I don't know the prices of {models}.",
            many,
            models=models,
        )
    return (text,)


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """What is remembered for a session's owner. files None: memory is off."""

    files: MarkdownFiles | None
    entries: EntryStore
    activation: Activation
    activation_log: ActivationLog
    clock: Clock

    async def groups(self, session: Session) -> list[Group]:
        """What there is to say."""
        if self.files is None:
            return [Group(_("Memory"), notes=(_("It is off (MEMORY_ENABLED)."),))]
        amounts = await self._amounts(session, self.files)
        rows = (
            ("MEMORY.md", ngettext("{n} byte", "{n} bytes", amounts.size)),
            (_("memories"), number(amounts.memories)),
            (_("notes of today"), number(amounts.today)),
            (_("notes of recent days"), number(amounts.recent)),
            (_("archives"), number(amounts.archives)),
        )
        return [Group(_("Memory"), rows), await self._activated(session)]

    async def summary(self, session: Session) -> str:
        """What there is of memory, for the middle of a sentence."""
        if self.files is None:
            return _("nothing, since memory is off (MEMORY_ENABLED)")
        amounts = await self._amounts(session, self.files)
        parts = (
            (amounts.size, ngettext("a MEMORY.md of {n} byte", "a MEMORY.md of {n} bytes", amounts.size)),
            (amounts.today, ngettext("{n} note of today", "{n} notes of today", amounts.today)),
            (amounts.recent, ngettext("{n} note of recent days", "{n} notes of recent days", amounts.recent)),
            (amounts.archives, ngettext("{n} archive", "{n} archives", amounts.archives)),
        )
        return ", ".join(text for amount, text in parts if amount) or _("no notes yet")

    async def _amounts(self, session: Session, files: MarkdownFiles) -> _Amounts:
        today, recent = await files.note_counts(session.owner, self.clock())
        counts = await self.entries.counts(session.owner)
        archives = counts.pop(Kind.ARCHIVE, 0)
        size = len((await files.read_long_term(session.owner)).encode())
        return _Amounts(size, sum(counts.values()), today, recent, archives)

    async def _activated(self, session: Session) -> Group:
        """The memories in the last request: how many of each layer, of layer A of how many, and what they cost."""
        reasons = await self.activation_log.last(session.id)
        baseline = await self.activation.baseline_count(session.owner)
        layers = Counter(reason.layer for reason in reasons)
        rules = layers[Layer.BASELINE]
        rows = (
            (_("rules"), _part_of(rules, baseline) if baseline > rules else number(rules)),
            (_("memories"), number(layers[Layer.CONTEXT])),
            (_("workflows"), number(layers[Layer.PROCEDURES])),
            (_("tokens"), f"≈ {number(sum(reason.tokens for reason in reasons))}"),
        )
        return Group(_("Activated for the last answer"), rows, notes=(_("/memory why shows which, and why."),))


@dataclass(frozen=True, slots=True)
class _Amounts:
    """How much is remembered: bytes of MEMORY.md, entries but archives, lines of daily notes, archives."""

    size: int
    memories: int
    today: int
    recent: int
    archives: int


@dataclass(frozen=True, slots=True)
class MeaningReport:
    """How far the vectors of a session's owner are, where there is an embedder or there should be one."""

    models: MeaningModels
    background: BackgroundEmbedding | None

    def wake(self) -> None:
        """Something was said that has no vector yet."""
        if self.background is not None:
            self.background.wake()

    async def groups(self, session: Session) -> list[Group]:
        """What there is to say."""
        title = _("Found by meaning")
        if self.background is None or self.models.embedder is None:
            return [Group(title, notes=(self.models.trouble,))] if self.models.trouble is not None else []
        made = await self.background.progress(session.owner)
        rows = ((_("model"), self.models.embedder.name), (_("texts"), _part_of(made.done, made.of)))
        return [Group(title, rows, notes=(self.background.trouble,) if self.background.trouble else ())]


class ActivityReport:
    """What waits and what runs, and since when."""

    def __init__(self, lanes: SessionQueues, clock: Clock) -> None:
        self._lanes = lanes
        self._clock = clock
        self._started = clock()

    async def groups(self, session: Session) -> list[Group]:
        """What there is to say."""
        uptime = int((self._clock() - self._started).total_seconds())
        rows = ((_("waiting"), number(self._lanes.waiting(session.id))), (_("uptime"), _format_duration(uptime)))
        writes = self._lanes.running(session.id)
        return [Group(_("Queue"), rows, notes=(_("An answer is being written."),) if writes else ())]


def _part_of(part: int, whole: int) -> str:
    return _("{part} of {whole}", part=number(part), whole=number(whole))


def _estimate_of(part: int, whole: int) -> str:
    return f"≈ {_part_of(part, whole)}"


def _format_duration(seconds: int) -> str:
    days, rest = divmod(max(0, seconds), 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, remaining = divmod(rest, 60)
    parts = (
        (days, ngettext("{n} d", "{n} d", days)),
        (hours, ngettext("{n} h", "{n} h", hours)),
        (minutes, ngettext("{n} min", "{n} min", minutes)),
        (remaining, ngettext("{n} s", "{n} s", remaining)),
    )
    return " ".join([text for amount, text in parts if amount][:2]) or ngettext("{n} s", "{n} s", 0)


@dataclass(frozen=True, slots=True)
class Group:
    """Figures that belong together: each a label with its value.

    share: how full something is, from 0 to 1, shown as a bar. notes: sentences below, or instead of all that.
    """

    title: str
    rows: tuple[tuple[str, str], ...] = ()
    share: float | None = None
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The group as Markdown."""
        lines = [] if self.share is None else [bar(self.share)]
        lines += [aligned(label, value) for label, value in self.rows]
        figures = ["```", *lines, "```"] if lines else []
        return "\n".join([f"**{self.title}**", *figures, *self.notes])


def bar(share: float) -> str:
    """How full something is, in one line."""
    cells = WIDTH - _SHARE_CELLS
    filled = round(min(1.0, max(0.0, share)) * cells)
    return "█" * filled + "░" * (cells - filled) + f"{share:.0%}".rjust(_SHARE_CELLS)


def aligned(label: str, value: str) -> str:
    """A label at the left end of a line and its value at the right one; one space between them where both are long."""
    return label + " " * max(1, WIDTH - _cells(label) - _cells(value)) + value


def _cells(text: str) -> int:
    """How many cells `text` takes in monospace: Chinese, Japanese and Korean characters two, combining marks none."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(bool(unicodedata.combining(character)) for character in text)
