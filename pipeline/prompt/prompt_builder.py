"""Builds the two parts of a prompt other than the conversation: a stable one and a volatile one.

The stable part is the only system message, since many chat templates refuse a second one. The volatile part, which
changes with every message, is appended to the newest message and not stored in the history. So each request is a prefix
of the next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

import structlog

from config.texts import shorten_to_line
from memory.clock import Clock, TimezoneLookup
from memory.facts.sharing import Sharing
from memory.files.notes import Memory, remove_visible
from memory.ledger.page import format_line
from memory.log.daily_notes import DailyNotes
from memory.log.sessions import GUEST, Session, Transcript
from memory.messages import Message, Passage, Role, find_least_trusted
from memory.reminders.delivery import TaskRun
from memory.search.activation import UNASKED_DIVISOR, ActivatedMemory, Activation, Pool
from memory.search.formatting import NOTHING_IN_PROMPT, AlreadyInPrompt
from memory.search.query_splitting import asks, find_questions
from memory.search.recall import Recall
from memory.search.types import NOTHING, MessageHits
from pipeline.models.model import ChatModel
from pipeline.prompt.budget import Budget, BudgetOf, fit_memory
from pipeline.prompt.long_term import NEW_HEADER, LongTermText, with_vital, without_hidden
from pipeline.prompt.prompts import (
    GUEST_HINT,
    MEMORY_HEADER,
    NOW_HEADER,
    PHOTO_HINT,
    PLAIN_MEMORY_HEADER,
    PLAIN_UNKNOWN,
    PRIVATE_HINT,
    QUOTED_HEADER,
    RELEVANT_HEADER,
    RULES_HEADER,
    SHARED_HEADER,
    SUMMARY_HEADER,
    TASK_HINT,
    UNASKED_HEADER,
    PromptStyle,
    fence,
    plain_examples,
    plain_line,
)
from pipeline.skills import Skills, build_skill_prompt
from pipeline.tools.media import SKILL_TOOL

if TYPE_CHECKING:
    from pipeline.lightrag import LightRag


log = structlog.get_logger(__name__)

STATEMENT_DIVISOR = 3
"""A message that asks nothing gets only this fraction (a third) of the tokens for earlier messages."""
MAX_SHARED_TOKENS = 300
MAX_SHARED_MEMORIES = 40
MAX_SHARED_MEMORY_CHARS = 300
"""Limits for the memories that others of the family share. Every request has the newest ones; search finds the rest."""


@dataclass(frozen=True, slots=True)
class Memories:
    """The sources of memories for a prompt."""

    recall: Recall
    activation: Activation
    activation_tokens: int
    sharing: Sharing | None = None


@dataclass(frozen=True, slots=True)
class Stable:
    """The system message and the memories in it.

    Attributes:
        baseline: The rules.
        unasked: The memories that are included because they are strong.
        shown: Everything from memory that the message contains.
        pool: The memories that may also be activated by the new message.
        unreadable: A sentence that says why a file is missing.
        lines: All of these memories as plain lines, including MEMORY.md.
    """

    message: Message
    baseline: tuple[ActivatedMemory, ...]
    unasked: tuple[ActivatedMemory, ...]
    shown: AlreadyInPrompt
    pool: Pool | None
    unreadable: str | None = None
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Volatile:
    """The text that is appended to the newest message.

    Attributes:
        activated: The memories that the message activated. They are all trusted.
        lines: With a plain style, the memories that follow the identity in the system message. None is foreign.
        now: With a plain style, the current time, also in the system message.
        passages: The recalled and quoted parts, each with its own provenance.
    """

    text: Passage
    activated: tuple[ActivatedMemory, ...]
    lines: tuple[str, ...] = ()
    now: str = ""
    passages: tuple[Passage, ...] = ()


@dataclass(eq=False)
class PromptBuilder:
    """Builds both parts within their budgets, in the style that suits the model.

    A source that is None is left out of the prompt. A new budget is created for each turn, since the limits of a model
    may become known only while the program runs.
    """

    style: PromptStyle
    files: DailyNotes | None
    memories: Memories | None
    graph: LightRag | None
    skills: Skills | None
    budget: BudgetOf
    clock: Clock
    zone_of: TimezoneLookup

    @property
    def max_messages(self) -> int | None:
        return self.style.max_messages

    def request(self, stable: Stable, volatile: Volatile, spoken: Sequence[Message]) -> list[Message]:
        """Combine both parts with the conversation. Its last message must be the newest one."""
        messages = with_volatile(spoken, volatile) if volatile.text.text else list(spoken)
        if not self.style.plain:
            return [stable.message, *messages]
        plain = (plain_line(line) for line in (*stable.lines, *volatile.lines))
        memories = dict.fromkeys(f"- {line}" for line in plain if line)
        question = spoken[-1].content
        asked = asks(question) or bool(find_questions(question))
        identity, rest = self.style.identity, stable.message.content.removeprefix(self.style.identity)
        unknown = f" {PLAIN_UNKNOWN}" if asked and self.memories is not None else ""
        parts = [f"{identity}{unknown}{rest}", volatile.now]
        parts += ["\n".join([PLAIN_MEMORY_HEADER, *memories])] if memories else []
        examples = () if asked else plain_examples()
        shown = [
            Message(role, text, stable.message.created_at)
            for statement, answer in examples
            for role, text in ((Role.USER, statement), (Role.ASSISTANT, answer))
        ]
        return [replace(stable.message, content="\n\n".join(parts)), *shown, *messages]

    async def find(self, session: Session, question: str, visible: Transcript) -> MessageHits:
        memories = self.memories
        if memories is None:
            return NOTHING
        return await memories.recall.find(question, session.owner, visible)

    async def stable(
        self, session: Session, visible: Transcript, budget: Budget, lookup: MessageHits = NOTHING
    ) -> Stable:
        """Build the system message: identity, skills, Markdown files, rules, and the summary of the conversation.

        Args:
            lookup: The search results for the new message. They go into the pool, but never into the message.
        """
        style = self.style
        lines: list[str] = []
        parts, unreadable = [style.identity], None
        if self.skills is not None and any(tool.name == SKILL_TOOL for tool in budget.tools):
            parts.append(build_skill_prompt(await self.skills.list(), budget.text)[0])
        already_in_prompt = NOTHING_IN_PROMPT
        memory, long_term = Memory("", "", ()), LongTermText("")
        if self.files is not None:
            memory = await self.files.read(session.owner, self.clock(), visible.forgotten)
            unreadable = memory.unreadable
            if style.plain:
                memory = Memory(memory.long_term, "", ())
            unseen = remove_visible(memory, visible.messages, self.zone_of(session.owner))
            memory, long_term = await self._fit_files(session, unseen, visible, budget)
            already_in_prompt = already_in_prompt.with_lines(long_term.whole)
            lines += long_term.whole.splitlines()
        pool: Pool | None = None
        baseline: tuple[ActivatedMemory, ...] = ()
        unasked: tuple[ActivatedMemory, ...] = ()
        if (memories := self.memories) is not None:
            room = budget.activation(memories.activation_tokens) - budget.text(RULES_HEADER)
            pool = await memories.activation.read_pool(session.owner, room, lookup)
            baseline = memories.activation.select_baseline(pool, room, budget.text, already_in_prompt)
            room -= sum(memory.tokens for memory in baseline)
            visible_too = already_in_prompt.with_messages(visible.messages)
            unasked = memories.activation.select_unasked(
                pool, baseline, room // UNASKED_DIVISOR, budget.text, self._today(session).date(), visible_too
            )
        strong = [activated_memory.line for activated_memory in unasked]
        sections = ["\n".join([NEW_HEADER, *long_term.new])] if long_term.new else []
        sections += ["\n".join([UNASKED_HEADER, *strong])] if strong else []
        context = memory.to_context(*sections)
        if self.files is not None:
            log.info(f"Memory context: {len(context)} chars")
        parts += [f"{MEMORY_HEADER}\n\n{context}"] if context and not style.plain else []
        rules = [activated_memory.line for activated_memory in baseline]
        parts += ["\n".join([RULES_HEADER, *rules])] if rules and not style.plain else []
        if (summary := visible.summaries[0]) is not None:
            parts.append(f"{SUMMARY_HEADER}\n{budget.cut(summary, budget.relevant)}")
        message = Message(Role.SYSTEM, "\n\n".join(parts), self.clock())
        lines += [*strong, *rules]
        return Stable(message, baseline, unasked, already_in_prompt, pool, unreadable, tuple(lines))

    async def _fit_files(
        self, session: Session, memory: Memory, visible: Transcript, budget: Budget
    ) -> tuple[Memory, LongTermText]:
        if self.memories is None:
            memory = fit_memory(memory, budget.memory, budget)
            return memory, LongTermText(memory.long_term)
        turns = {message.turn_id for message in visible.messages if message.turn_id is not None}
        lines = await self.memories.activation.read_page_lines(session.owner, turns, self._today(session))
        written = set(memory.long_term.splitlines())
        vital = [line for line, was_written in lines.vital if not was_written or line in written]
        divided = without_hidden(memory.long_term, lines)
        memory = fit_memory(replace(memory, long_term=divided.whole), budget.memory, budget)
        # Divide the text again, since lines of both parts may have been cut.
        long_term = with_vital(without_hidden(memory.long_term, lines), vital, budget)
        return replace(memory, long_term=long_term.text), long_term

    def _today(self, session: Session) -> datetime:
        now = self.clock().astimezone(self.zone_of(session.owner))
        return now.replace(hour=0, minute=0, second=0, microsecond=0)

    async def stable_tokens(self, session: Session, visible: Transcript, model: ChatModel) -> int:
        """Estimate the tokens of the session's next request without the new message."""
        budget = await self.budget(session.owner, model)
        stable = await self.stable(session, visible, budget)
        spoken = [budget.cap(message, budget.message) for message in visible.messages]
        return budget.counter.count_messages([stable.message, *spoken], budget.model) + budget.tool_tokens

    async def volatile(
        self,
        session: Session,
        question: str,
        lookup: MessageHits,
        visible: Transcript,
        stable: Stable,
        budget: Budget,
        quoted: Sequence[Passage] = (),
        answered: Sequence[Message] = (),
        *,
        photos: bool = False,
        task: TaskRun | None = None,
    ) -> Volatile:
        """Build the text to append to the newest message: quotes, shared and relevant memories, hints and the time.

        Args:
            lookup: The search results for `question`.
            quoted: The messages that the new messages reply to.
            answered: The new messages. Memories that repeat them are left out.
            photos: The new messages contain photos.
            task: The scheduled task that runs, if any.
        """
        tokens, memories = budget.relevant, self.memories
        shared, shown = await self._find_shared(session, stable.shown, budget)
        shown = shown.with_quoted(*(passage.text for passage in quoted), *_contents(stable))
        # Recalled messages are not part of later requests, so a message that asks nothing needs fewer of them.
        asked = asks(question) or bool(find_questions(question))
        earlier_tokens = tokens if asked else tokens // STATEMENT_DIVISOR
        passages = await asyncio.gather(
            self._recall_earlier(lookup, visible, shown, earlier_tokens), self._search_graph(session, question)
        )
        context: tuple[ActivatedMemory, ...] = ()
        if memories is not None and stable.pool is not None:
            used = sum(memory.tokens for memory in (*stable.baseline, *stable.unasked))
            used += budget.text(RULES_HEADER) if stable.baseline else 0
            remaining = budget.activation(memories.activation_tokens) - used
            # A memory captured from the new message would only repeat it.
            seen = (budget.cap(message, budget.message) for message in (*visible.messages, *answered))
            already_in_prompt = stable.shown.with_messages(seen).with_passage(passages[0])
            chosen = (*stable.baseline, *stable.unasked)
            context = memories.activation.select_contextual(
                stable.pool,
                chosen,
                remaining,
                budget.text,
                already_in_prompt,
                unasked_since=self._today(session).date(),
            )
        plain = self.style.plain
        memory_lines = [memory.line for memory in context]
        cut = [(memory.provenance, budget.cut(memory.text, tokens)) for memory in passages if memory.text]
        if plain:
            own = [line for provenance, text in cut if not provenance.is_foreign for line in text.splitlines()]
            own_lines, lines = (*memory_lines, *own), [text for provenance, text in cut if provenance.is_foreign]
        else:
            own_lines, lines = (), memory_lines + [text for _, text in cut]
        quotes = [f"{memory.provenance.mark} {budget.cut(memory.text, tokens)}".strip() for memory in quoted]
        parts = ["\n".join([QUOTED_HEADER, *quotes])] if quotes else []
        parts += ["\n".join([SHARED_HEADER, *shared])] if shared else []
        parts += ["\n".join([RELEVANT_HEADER, *lines])] if lines else []
        parts += [PHOTO_HINT] if photos and not session.private else []
        if session.address.channel == GUEST:
            parts.append(GUEST_HINT)
        elif session.private:
            parts.append(PRIVATE_HINT)
        parts += [TASK_HINT.format(hour=task.hour)] if task is not None else []
        now = f"{NOW_HEADER} {self.clock().astimezone(self.zone_of(session.id)):%A %Y-%m-%d %H:%M}"
        parts += [] if plain else [now]
        provenance = find_least_trusted(memory.provenance for memory in (*passages, *quoted))
        text = Passage(
            fence("\n\n".join(parts)) if parts else "",
            provenance,
            messages=passages[0].messages,
            entries=passages[0].entries,
        )
        pieces = (
            Passage("\n".join([*memory_lines, *shared])),
            *(piece for passage in (*passages, *quoted) for piece in passage.pieces),
        )
        return Volatile(text, context, own_lines, now, tuple(piece for piece in pieces if piece.text))

    async def _find_shared(
        self, session: Session, shown: AlreadyInPrompt, budget: Budget
    ) -> tuple[list[str], AlreadyInPrompt]:
        """Return the lines that others share with a chat, newest first, and `shown` extended by them."""
        if self.memories is None or self.memories.sharing is None:
            return [], shown
        entries = await self.memories.sharing.list_shared_by_others(session.owner, MAX_SHARED_MEMORIES)
        lines, remaining = list[str](), min(MAX_SHARED_TOKENS, budget.relevant)
        zone = self.zone_of(session.owner)
        for entry in entries:
            day = f"{entry.shared_at.astimezone(zone):%Y-%m-%d}" if entry.shared_at is not None else ""
            line = f"- {entry.shared_by}, {day}: {shorten_to_line(entry.content, MAX_SHARED_MEMORY_CHARS)}"
            if (cost := budget.text(line) + 1) <= remaining:
                remaining -= cost
                lines.append(line)
                shown = shown.with_lines(format_line(entry.content))
        return lines, shown

    async def _recall_earlier(
        self, lookup: MessageHits, visible: Transcript, shown: AlreadyInPrompt, tokens: int
    ) -> Passage:
        if (memories := self.memories) is None:
            return Passage("")
        whole = not self.style.plain
        return await memories.recall.format_relevant(lookup, visible, tokens, besides=shown, whole_exchanges=whole)

    async def _search_graph(self, session: Session, question: str) -> Passage:
        if self.graph is None or session.private:  # LightRAG stores queries.
            return Passage("")
        return await self.graph.query(question)


def _contents(stable: Stable) -> list[str]:
    """Return the memories in the system message as they were stored."""
    chosen = {memory.id for memory in (*stable.baseline, *stable.unasked)}
    pool = stable.pool
    return [memory.content for memory in (*pool.rules, *pool.strong) if memory.id in chosen] if pool is not None else []


def with_summary_of_others(messages: Sequence[Message], visible: Transcript, budget: Budget) -> list[Message]:
    """Prepend a foreign summary to the first message as data. It must never be part of the system message."""
    summary, provenance = visible.summaries[1], visible.summary_provenance
    if summary is None or not messages:
        return list(messages)
    first = messages[0]
    text = f"{SUMMARY_HEADER}{provenance.mark}\n{budget.cut(summary, budget.relevant)}"
    content = f"{fence(text)}\n\n{first.content}"
    return [
        replace(first, content=content, provenance=find_least_trusted([first.provenance, provenance])),
        *messages[1:],
    ]


def with_volatile(messages: Sequence[Message], volatile: Volatile) -> list[Message]:
    last, added = messages[-1], volatile.text
    provenance = find_least_trusted([last.provenance, added.provenance])
    return [*messages[:-1], replace(last, content=f"{last.content}\n\n{added.text}", provenance=provenance)]
