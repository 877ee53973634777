"""The report of /status. It is computed from the store, so that it is right after a restart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.commands.figures import Group, StatusReport, format_duration, format_part
from bot.services import MemoryServices
from bot.sessions import SessionQueues
from config.texts import _, format_number, name_setting, ngettext, shorten_to_line, strip_full_stop
from config.texts import format_dollars as in_dollars
from memory.clock import Clock
from memory.condition import Condition
from memory.log.compaction import CompactionService
from memory.log.sessions import Session
from memory.runtime.usage import Quota, UsageLog, UsageTotal
from memory.search.activation_candidates import Layer
from memory.store.entry import Kind
from pipeline.models.routing import ModelChoice
from pipeline.systems.context_building import PromptBuilder

MIN_SHOWN_COST = 0.01
MAX_RULE_CHARS = 80
"""Characters of a rule that a note quotes."""


@dataclass(frozen=True, slots=True)
class Status:
    services: MemoryServices
    builder: PromptBuilder
    compaction: CompactionService
    models: ModelChoice
    usage: UsageLog
    reports: Sequence[StatusReport]
    queues: SessionQueues
    clock: Clock
    started: datetime
    enabled: bool

    async def text(self, session: Session) -> str:
        groups = [
            *await self._conversation(session),
            await self._usage(session),
            *await self._memory(session),
            *[group for report in self.reports for group in await report(session)],
            self._queue(session.id),
        ]
        return "\n\n".join(map(str, groups))

    async def _conversation(self, session: Session) -> list[Group]:
        """Report the length of the conversation and its prompt. Tokens are estimates until the model reports usage."""
        transcript = await self.services.sessions.read_transcript(session.id)
        messages = await self.services.sessions.count_messages(session.id)
        compacted = messages - len(transcript.messages)
        model = await self.models.get(session.address.owner)
        window = model.window.max_input_tokens
        tokens = await self.builder.tokens(session, transcript, model)
        rows = [
            (_("model"), model.name),
            (_("tokens"), _format_estimate(tokens, window)),
            (_("messages"), format_number(messages)),
        ]
        rows += [(_("summarised"), format_number(compacted))] if compacted else []
        share = min(1.0, tokens / max(1, window))
        private = Group(_("Private"), notes=(_("Nothing in this conversation is saved; /new ends and deletes it."),))
        progress, next_summary = (
            self.compaction.measure_progress(transcript, model.name, window),
            _("Until the next summary"),
        )
        if progress is None:
            until = Group(next_summary, notes=(name_setting(_("It is off."), "COMPACTION_ENABLED"),))
        else:
            tokens_of = _format_estimate(progress.tokens, progress.threshold)
            messages_of = format_part(progress.messages, progress.window)
            until = Group(next_summary, ((_("tokens"), tokens_of), (_("messages"), messages_of)))
        return [*([private] if session.private else []), Group(_("Context"), tuple(rows), share), until]

    async def _usage(self, session: Session) -> Group:
        """Report today's cost of all models, in all chats or within the limits of this chat."""
        quota = self.usage.quota
        is_limited = quota != Quota()
        spent = await self.usage.sum_today(session.address.owner if is_limited else None)
        tokens, cost = format_number(spent.tokens), format_cost(spent.cost)
        rows = [(_("tokens"), tokens if quota.tokens is None else format_part(spent.tokens, quota.tokens))]
        if quota.cost is not None:
            rows.append((_("cost"), _("{part} of {whole}", part=cost, whole=in_dollars(quota.cost))))
        elif spent.priced:
            rows.append((_("cost"), cost))
        title = _("Today, in this chat") if is_limited else _("Today, in all chats")
        return Group(title, tuple(rows), notes=_price_notes(spent))

    async def _memory(self, session: Session) -> list[Group]:
        if not self.enabled:
            return [Group(_("Memory"), notes=(name_setting(_("It is off."), "MEMORY_ENABLED"),))]
        today, recent = await self.services.files.count_notes(session.owner, self.clock())
        counts = await self.services.entries.count_by_kind(session.owner)
        archives = counts.pop(Kind.ARCHIVE, 0)
        condition = await self.services.condition.inspect(session.owner)
        rows = [
            ("MEMORY.md", ngettext("{n} byte", "{n} bytes", condition.size)),
            (_("memories"), format_number(sum(counts.values()))),
            (_("today's notes"), format_number(today)),
            (_("recent notes"), format_number(recent)),
            (_("archives"), format_number(archives)),
        ]
        rows += [(_("faded"), format_number(condition.faded))] if condition.faded else []
        rows += [(_("archived"), format_number(condition.archived))] if condition.archived else []
        return [Group(_("Memory"), tuple(rows), notes=_worth_knowing(condition)), await self._activation(session)]

    def retention_note(self) -> str:
        return _("My memory stays.") if self.enabled else name_setting(_("Memory is off."), "MEMORY_ENABLED")

    async def _activation(self, session: Session) -> Group:
        """Report the number of memories in the last request by layer, and their tokens."""
        reasons = await self.services.activation_log.read_last(session.id)
        baseline = await self.services.activation.count_baseline(session.owner)
        layers = Counter(reason.layer for reason in reasons)
        rules = layers[Layer.BASELINE]
        rows = (
            (_("rules"), format_part(rules, baseline) if baseline > rules else format_number(rules)),
            (_("memories"), format_number(layers[Layer.CONTEXT])),
            (_("workflows"), format_number(layers[Layer.PROCEDURES])),
            (_("tokens"), f"≈ {format_number(sum(reason.tokens for reason in reasons))}"),
        )
        return Group(_("Used for the last answer"), rows, notes=(_("/memory why shows which, and why."),))

    def _queue(self, session_id: str) -> Group:
        uptime = int((self.clock() - self.started).total_seconds())
        rows = (
            (_("waiting"), format_number(self.queues.count_waiting(session_id))),
            (_("uptime"), format_duration(uptime)),
        )
        writes = self.queues.is_running(session_id)
        return Group(_("Queue"), rows, notes=(_("An answer is being written."),) if writes else ())


def _worth_knowing(condition: Condition) -> tuple[str, ...]:
    """Return sentences on what a person should look after in their memory."""
    notes = []
    if condition.is_full:
        notes.append(
            _(
                "MEMORY.md is full ({size} of {limit} bytes): shorten the lines that you wrote in it.",
                size=format_number(condition.size),
                limit=format_number(condition.limit),
            )
        )
    if condition.contradicting:
        one, other = condition.contradicting[0]
        notes.append(
            _(
                'These rules may contradict each other: "{one}" and "{other}". Remove one with /forget_{id}.',
                one=shorten_to_line(strip_full_stop(other.content), MAX_RULE_CHARS),
                other=shorten_to_line(strip_full_stop(one.content), MAX_RULE_CHARS),
                id=other.id,
            )
        )
    return tuple(notes)


def format_cost(cost: float) -> str:
    """Format a cost in US dollars. Taxes and discounts may change what the provider charges."""
    if cost <= 0:
        return _("free")
    return (
        _("about {cost}", cost=in_dollars(cost))
        if cost >= MIN_SHOWN_COST
        else _("under {cost}", cost=in_dollars(MIN_SHOWN_COST))
    )


def _price_notes(spent: UsageTotal) -> tuple[str, ...]:
    if not spent.unpriced:
        return ()
    models, many = ", ".join(f"`{name}`" for name in spent.unpriced), len(spent.unpriced)
    if spent.priced:
        text = ngettext(
            "Not counting {models}, whose price I don't know.",
            "Not counting {models}, whose prices I don't know.",
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


def _format_estimate(part: int, whole: int) -> str:
    return f"≈ {format_part(part, whole)}"
