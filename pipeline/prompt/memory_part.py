"""The memories of a prompt: Markdown files, rules and strong memories, and those that match the new message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from memory.files.notes import Memory, remove_visible
from memory.log.daily_notes import DailyNotes
from memory.messages import Passage
from memory.search.activation import UNASKED_DIVISOR, Activation
from memory.search.activation_candidates import ActivatedMemory, Layer, PageLines, Pool
from memory.search.formatting import NOTHING_IN_PROMPT, AlreadyInPrompt
from memory.search.recall import Recall
from memory.search.types import NOTHING
from pipeline.prompt.budget import Budget, fit_memory
from pipeline.prompt.part import Draft, Section, quoted_section
from pipeline.prompt.prompts import MEMORY_HEADER, RELEVANT_HEADER, RULES_HEADER, UNASKED_HEADER

log = structlog.get_logger(__name__)

NEW_HEADER = "## Learned This Week"


@dataclass(frozen=True, slots=True)
class LongTermText:
    """MEMORY.md in two parts, so that new lines don't invalidate the prompt cache.

    Attributes:
        new: The lines written since Monday. They come after the daily notes in the prompt.
    """

    text: str
    new: tuple[str, ...] = ()

    @property
    def whole(self) -> str:
        return "\n".join([self.text, *self.new]).strip()


def without_hidden(text: str, lines: PageLines) -> LongTermText:
    """Remove lines that are over or repeat the visible conversation, and separate the lines written this week."""
    if not lines.hidden and not lines.fresh:
        return LongTermText(text)
    shown = [line for line in text.splitlines() if line not in lines.hidden]
    fresh = tuple(line for line in shown if line in lines.fresh)
    return LongTermText("\n".join(line for line in shown if line not in lines.fresh), fresh)


def with_vital(long_term: LongTermText, vital: Sequence[str], budget: Budget) -> LongTermText:
    """Add the vital lines that were cut because the window is small."""
    shown, remaining, missing = set(long_term.whole.splitlines()), budget.memory // 4, []
    for line in vital:
        if line not in shown and (cost := budget.text(line) + 1) <= remaining:
            remaining -= cost
            missing.append(line)
    if not missing:
        return long_term
    return LongTermText("\n".join([long_term.text.rstrip(), *missing]).strip(), long_term.new)


STATEMENT_DIVISOR = 3
"""A message that asks nothing gets only this fraction (a third) of the tokens for earlier messages."""


class MemoryPart:
    """Adds the owner's files, rules and strong memories to the system message, and what matches to the newest message.

    Args:
        files: None leaves out MEMORY.md and the daily notes.
        tokens: Limit for rules and memories, not counting the files and earlier messages.
    """

    def __init__(self, files: DailyNotes | None, recall: Recall, activation: Activation, tokens: int) -> None:
        self._files = files
        self._recall = recall
        self._activation = activation
        self._tokens = tokens

    async def add_to(self, draft: Draft) -> None:
        owner, budget = draft.session.owner, draft.budget
        found = await self._recall.find(draft.question, owner, draft.transcript) if draft.new_messages else NOTHING
        memory, long_term = await self._read_files(draft)
        in_files = NOTHING_IN_PROMPT.with_lines(long_term.whole)
        room = budget.activation(self._tokens) - budget.text(RULES_HEADER)
        pool = await self._activation.read_pool(owner, room, found)
        rules = self._activation.select_baseline(pool, room, budget.text, in_files)
        room -= sum(rule.tokens for rule in rules)
        seen = in_files.with_messages(draft.visible.messages)
        strong = self._activation.select_unasked(
            pool, rules, room // UNASKED_DIVISOR, budget.text, draft.today.date(), seen
        )
        draft.stable += self._stable_sections(memory, long_term, strong, rules)
        draft.activated += [*rules, *strong]
        if not draft.new_messages:
            return
        shown = draft.shown.with_lines(long_term.whole).with_quoted(*_contents(pool, [*rules, *strong]))
        # Recalled messages are not part of later requests, so a message that asks nothing needs fewer of them.
        earlier = await self._recall.format_relevant(
            found,
            draft.transcript,
            budget.relevant if draft.is_asking else budget.relevant // STATEMENT_DIVISOR,
            besides=shown,
            whole_exchanges=not draft.is_plain,
        )
        matching = self._match(draft, pool, (*rules, *strong), in_files.with_passage(earlier))
        draft.activated += matching
        lines = tuple(activated.line for activated in matching)
        text = "\n".join(lines)
        draft.volatile += [Section(text, RELEVANT_HEADER, lines, Passage(text))] if lines else []
        draft.volatile += quoted_section(RELEVANT_HEADER, earlier, budget)

    async def _read_files(self, draft: Draft) -> tuple[Memory, LongTermText]:
        """Return the files without what the conversation repeats, and MEMORY.md as the prompt shows it."""
        budget = draft.budget
        if self._files is None:
            return Memory("", "", ()), LongTermText("")
        memory = await self._files.read(draft.session.owner, draft.now, draft.visible.forgotten)
        draft.notices += [memory.unreadable] if memory.unreadable else []
        if draft.is_plain:
            memory = Memory(memory.long_term, "", ())
        memory = remove_visible(memory, draft.visible.messages, draft.zone)
        turns = {message.turn_id for message in draft.visible.messages if message.turn_id is not None}
        lines = await self._activation.read_page_lines(draft.session.owner, turns, draft.today)
        written = set(memory.long_term.splitlines())
        vital = [line for line, was_written in lines.vital if not was_written or line in written]
        divided = without_hidden(memory.long_term, lines)
        memory = fit_memory(replace(memory, long_term=divided.whole), budget.memory, budget)
        # Divide the text again, since lines of both parts may have been cut.
        long_term = with_vital(without_hidden(memory.long_term, lines), vital, budget)
        return replace(memory, long_term=long_term.text), long_term

    def _stable_sections(
        self,
        memory: Memory,
        long_term: LongTermText,
        strong: Sequence[ActivatedMemory],
        rules: Sequence[ActivatedMemory],
    ) -> list[Section]:
        strong_lines, rule_lines = [item.line for item in strong], [item.line for item in rules]
        added = ["\n".join([NEW_HEADER, *long_term.new])] if long_term.new else []
        added += ["\n".join([UNASKED_HEADER, *strong_lines])] if strong_lines else []
        context = memory.to_context(*added)
        if self._files is not None:
            log.info(f"Memory context: {len(context)} chars")
        sections: list[Section] = []
        if context:
            lines = (*long_term.whole.splitlines(), *strong_lines)
            sections.append(Section(f"{MEMORY_HEADER}\n\n{context}", memories=lines))
        if rule_lines:
            sections.append(Section("\n".join([RULES_HEADER, *rule_lines]), memories=tuple(rule_lines)))
        return sections

    def _match(
        self, draft: Draft, pool: Pool, chosen: Sequence[ActivatedMemory], shown: AlreadyInPrompt
    ) -> tuple[ActivatedMemory, ...]:
        """Return the memories that match the new message, in the tokens that `chosen` has left."""
        budget = draft.budget
        used = sum(memory.tokens for memory in chosen)
        used += budget.text(RULES_HEADER) if any(memory.layer is Layer.BASELINE for memory in chosen) else 0
        # A memory captured from the new message would only repeat it.
        seen = (budget.cap(message, budget.message) for message in (*draft.visible.messages, *draft.new_messages))
        return self._activation.select_contextual(
            pool,
            chosen,
            budget.activation(self._tokens) - used,
            budget.text,
            shown.with_messages(seen),
            unasked_since=draft.today.date(),
        )


def _contents(pool: Pool, chosen: Sequence[ActivatedMemory]) -> list[str]:
    """Return the chosen memories as they were stored."""
    ids = {memory.id for memory in chosen}
    return [memory.content for memory in (*pool.rules, *pool.strong) if memory.id in ids]
