"""The two parts of a prompt that are not the conversation: what stays the same, and what changes with each message.

The first is the one system message at the front, since many chat templates refuse a second one. The other stands at
the end of the newest message and is not kept in history, so that one request is a prefix of the next.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import structlog

from config.texts import in_line
from memory.files.notes import Memory, without_visible
from memory.ledger.page import format_line
from memory.log.sessions import GUEST
from memory.messages import Message, Passage, Role, worst
from memory.search.activation import UNASKED_SHARE
from memory.search.formatting import NOTHING_IN_PROMPT
from memory.search.questions import asked_in, asks
from memory.search.search import NOTHING
from pipeline.prompt.budget import fitted
from pipeline.prompt.long_term import TODAY_HEADER, LongTermText, with_vital, without_hidden
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
    fenced,
    plain_examples,
    plain_line,
)
from pipeline.skills import skill_prompt
from pipeline.tools.media import SKILL_TOOL

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memory.clock import Clock, TimezoneLookup
    from memory.facts.sharing import Sharing
    from memory.log.daily_notes import DailyNotes
    from memory.log.sessions import Session, Transcript
    from memory.reminders.delivery import TaskRun
    from memory.search.activation import Activated, Activation, Pool
    from memory.search.formatting import AlreadyInPrompt
    from memory.search.recall import Recall
    from memory.search.search import Found
    from pipeline.lightrag import LightRag
    from pipeline.models.model import ChatModel
    from pipeline.prompt.budget import Budget, BudgetOf
    from pipeline.skills import Skills


log = structlog.get_logger(__name__)

STATEMENT_SHARE = 3
"""The part of the tokens for earlier talk that is shown to a message which asks for nothing: a third."""
SHARED_TOKENS = 300
MOST_SHARED = 40
SHARED_CHARACTERS = 300
"""What the family shares is in every request, the newest first as far as this has room; search finds more."""


@dataclass(frozen=True, slots=True)
class Memories:
    """What is found for a message and quoted, what others share, and what activates, in so many tokens."""

    recall: Recall
    activation: Activation
    activation_tokens: int
    sharing: Sharing | None = None


@dataclass(frozen=True, slots=True)
class Stable:
    """The system message, the baseline memories in it, and what of MEMORY.md it shows."""

    message: Message
    baseline: tuple[Activated, ...]
    unasked: tuple[Activated, ...]  # what is in it because it is strong
    shown: AlreadyInPrompt
    pool: Pool | None  # what else may activate
    unreadable: str | None = None  # why a file is not in it, in a sentence
    lines: tuple[str, ...] = ()  # the memories in it


@dataclass(frozen=True, slots=True)
class Volatile:
    """What is added to the newest message, and the memories in it that activated for it. Those are all trusted.

    A plain style has lines and now behind its identity instead, with no words of others.
    """

    text: Passage
    activated: tuple[Activated, ...]
    lines: tuple[str, ...] = ()
    now: str = ""
    read: tuple[Passage, ...] = ()  # what of it comes from memory or is quoted, each piece with its own provenance


@dataclass(eq=False)
class PromptBuilder:
    """Builds both parts, each within its budget and in the words that suit the model.

    None: nothing of that kind is to stand in a prompt.
    """

    style: PromptStyle
    files: DailyNotes | None
    memories: Memories | None
    graph: LightRag | None
    skills: Skills | None
    budget: BudgetOf  # made for each turn, as what a model takes may become known only while the program runs
    clock: Clock
    zone_of: TimezoneLookup

    @property
    def most_messages(self) -> int | None:
        return self.style.most_messages

    def request(self, stable: Stable, volatile: Volatile, spoken: Sequence[Message]) -> list[Message]:
        """The messages for the model: the two parts and the conversation, whose newest message is its last."""
        messages = with_volatile(spoken, volatile) if volatile.text.text else list(spoken)
        if not self.style.plain:
            return [stable.message, *messages]
        plain = (plain_line(line) for line in (*stable.lines, *volatile.lines))
        memories = dict.fromkeys(f"- {line}" for line in plain if line)
        question = spoken[-1].content
        asked = asks(question) or bool(asked_in(question))
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

    async def find(self, session: Session, question: str, visible: Transcript) -> Found:
        memories = self.memories
        if memories is None:
            return NOTHING
        return await memories.recall.find(question, session.owner, visible)

    async def stable(self, session: Session, visible: Transcript, budget: Budget, lookup: Found = NOTHING) -> Stable:
        """Identity, the skills, the Markdown files, the baseline memories, the conversation's summary.

        Nothing in it depends on what was found for a message, which is only read with the rest.
        """
        style = self.style
        lines: list[str] = []
        parts, unreadable = [style.identity], None
        if self.skills is not None and any(tool.name == SKILL_TOOL for tool in budget.tools):
            parts.append(skill_prompt(await self.skills.all(), budget.text)[0])
        already_in_prompt = NOTHING_IN_PROMPT
        memory, long_term = Memory("", "", ()), LongTermText("")
        if self.files is not None:
            memory = await self.files.read(session.owner, self.clock())
            unreadable = memory.unreadable
            if style.plain:
                memory = Memory(memory.long_term, "", ())
            unseen = without_visible(memory, visible.messages, self.zone_of(session.owner))
            memory, long_term = await self._fitted(session, unseen, visible, budget)
            already_in_prompt = already_in_prompt.with_lines(long_term.whole)
            lines += long_term.whole.splitlines()
        pool: Pool | None = None
        baseline: tuple[Activated, ...] = ()
        unasked: tuple[Activated, ...] = ()
        if (memories := self.memories) is not None:
            room = budget.activation(memories.activation_tokens) - budget.text(RULES_HEADER)
            pool = await memories.activation.pool(session.owner, room, lookup)
            baseline = memories.activation.baseline(pool, room, budget.text, already_in_prompt)
            room -= sum(memory.tokens for memory in baseline)
            visible_too = already_in_prompt.with_messages(visible.messages)
            unasked = memories.activation.unasked(
                pool, baseline, room // UNASKED_SHARE, budget.text, self._today(session).date(), visible_too
            )
        strong = [activated_memory.line for activated_memory in unasked]
        sections = ["\n".join([TODAY_HEADER, *long_term.today])] if long_term.today else []
        sections += ["\n".join([UNASKED_HEADER, *strong])] if strong else []
        context = memory.to_context(*sections)
        log.info(f"Memory context: {len(context)} chars")
        parts += [f"{MEMORY_HEADER}\n\n{context}"] if context and not style.plain else []
        rules = [activated_memory.line for activated_memory in baseline]
        parts += ["\n".join([RULES_HEADER, *rules])] if rules and not style.plain else []
        if (summary := visible.summaries[0]) is not None:
            parts.append(f"{SUMMARY_HEADER}\n{budget.cut(summary, budget.relevant)}")
        message = Message(Role.SYSTEM, "\n\n".join(parts), self.clock())
        return Stable(message, baseline, unasked, already_in_prompt, pool, unreadable, (*lines, *strong, *rules))

    async def _fitted(
        self, session: Session, memory: Memory, visible: Transcript, budget: Budget
    ) -> tuple[Memory, LongTermText]:
        """Return the files within their budget, and MEMORY.md as the prompt shows it."""
        if self.memories is None:
            memory = fitted(memory, budget.memory, budget)
            return memory, LongTermText(memory.long_term)
        turns = {message.turn_id for message in visible.messages if message.turn_id is not None}
        lines = await self.memories.activation.page_lines(session.owner, turns, self._today(session))
        written = set(memory.long_term.splitlines())
        vital = [line for line, was_written in lines.vital if not was_written or line in written]
        divided = without_hidden(memory.long_term, lines)
        memory = fitted(replace(memory, long_term=divided.whole), budget.memory, budget)
        # divided again: what was cut may be of either part
        long_term = with_vital(without_hidden(memory.long_term, lines), vital, budget)
        return replace(memory, long_term=long_term.text), long_term

    def _today(self, session: Session) -> datetime:
        """Return the beginning of the owner's day."""
        now = self.clock().astimezone(self.zone_of(session.owner))
        return now.replace(hour=0, minute=0, second=0, microsecond=0)

    async def stable_tokens(self, session: Session, visible: Transcript, model: ChatModel) -> int:
        """What the next request of a session to a model costs without its new message."""
        budget = await self.budget(session.owner, model)
        stable = await self.stable(session, visible, budget)
        spoken = [budget.capped(message, budget.message) for message in visible.messages]
        return budget.counter.messages([stable.message, *spoken], budget.model) + budget.tool_tokens

    async def volatile(
        self,
        session: Session,
        question: str,
        lookup: Found,
        visible: Transcript,
        stable: Stable,
        budget: Budget,
        quoted: Sequence[Passage] = (),
        answered: Sequence[Message] = (),
        *,
        photos: bool = False,
        task: TaskRun | None = None,
    ) -> Volatile:
        """What the answered messages quote, the memories that fit `question`, what was found about it, and the time.

        answered: the messages themselves, of which nothing is said again. photos: they show some. task: they are one.
        """
        tokens, memories = budget.relevant, self.memories
        shared, besides = await self._shared(session, stable.shown, budget)
        besides = besides.with_quoted(*(one.text for one in quoted), *_contents(stable))
        # what was said before stands in no later request: to a message that asks for nothing less of it is shown
        asked = asks(question) or bool(asked_in(question))
        earlier_tokens = tokens if asked else tokens // STATEMENT_SHARE
        passages = await asyncio.gather(
            self._earlier(lookup, visible, besides, earlier_tokens), self._in_graph(session, question)
        )
        context: tuple[Activated, ...] = ()
        if memories is not None and stable.pool is not None:
            used = sum(memory.tokens for memory in (*stable.baseline, *stable.unasked))
            used += budget.text(RULES_HEADER) if stable.baseline else 0
            remaining = budget.activation(memories.activation_tokens) - used
            # what was captured of the very message that is answered needs no second place in its request
            seen = (budget.capped(message, budget.message) for message in (*visible.messages, *answered))
            already_in_prompt = stable.shown.with_messages(seen).with_passage(passages[0])
            chosen = (*stable.baseline, *stable.unasked)
            context = memories.activation.contextual(
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
        provenance = worst(memory.provenance for memory in (*passages, *quoted))
        text = Passage(
            fenced("\n\n".join(parts)) if parts else "",
            provenance,
            messages=passages[0].messages,
            entries=passages[0].entries,
        )
        read = (
            Passage("\n".join([*memory_lines, *shared])),
            *(piece for one in (*passages, *quoted) for piece in one.pieces),
        )
        return Volatile(text, context, own_lines, now, tuple(piece for piece in read if piece.text))

    async def _shared(
        self, session: Session, shown: AlreadyInPrompt, budget: Budget
    ) -> tuple[list[str], AlreadyInPrompt]:
        """Lines of what others share with a chat, newest first, and what the prompt says with them."""
        if self.memories is None or self.memories.sharing is None:
            return [], shown
        entries = await self.memories.sharing.by_others(session.owner, MOST_SHARED)
        lines, remaining = list[str](), min(SHARED_TOKENS, budget.relevant)
        zone = self.zone_of(session.owner)
        for entry in entries:
            day = f"{entry.shared_at.astimezone(zone):%Y-%m-%d}" if entry.shared_at is not None else ""
            line = f"- {entry.shared_by}, {day}: {in_line(entry.content, SHARED_CHARACTERS)}"
            if (cost := budget.text(line) + 1) <= remaining:
                remaining -= cost
                lines.append(line)
                shown = shown.with_lines(format_line(entry.content))
        return lines, shown

    async def _earlier(self, lookup: Found, visible: Transcript, besides: AlreadyInPrompt, tokens: int) -> Passage:
        if (memories := self.memories) is None:
            return Passage("")
        whole = not self.style.plain
        return await memories.recall.relevant(lookup, visible, tokens, besides=besides, whole_exchanges=whole)

    async def _in_graph(self, session: Session, question: str) -> Passage:
        if self.graph is None or session.private:  # the server keeps what it was asked
            return Passage("")
        return await self.graph.relevant(question)


def _contents(stable: Stable) -> list[str]:
    """Return the memories in the system message as they were stored."""
    chosen = {memory.id for memory in (*stable.baseline, *stable.unasked)}
    pool = stable.pool
    return [memory.content for memory in (*pool.rules, *pool.strong) if memory.id in chosen] if pool is not None else []


def with_summary_of_others(messages: Sequence[Message], visible: Transcript, budget: Budget) -> list[Message]:
    """Return `messages` with the summary of others' words as data in the first message, never as ours."""
    summary, provenance = visible.summaries[1], visible.summary_provenance
    if summary is None or not messages:
        return list(messages)
    first = messages[0]
    text = f"{SUMMARY_HEADER}{provenance.mark}\n{budget.cut(summary, budget.relevant)}"
    content = f"{fenced(text)}\n\n{first.content}"
    return [replace(first, content=content, provenance=worst([first.provenance, provenance])), *messages[1:]]


def with_volatile(messages: Sequence[Message], volatile: Volatile) -> list[Message]:
    """`messages` with what changes at the end of the last one, after the user's own words."""
    last, added = messages[-1], volatile.text
    provenance = worst([last.provenance, added.provenance])
    return [*messages[:-1], replace(last, content=f"{last.content}\n\n{added.text}", provenance=provenance)]
