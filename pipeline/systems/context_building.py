"""AutoCompaction (18) shortens a conversation that grew too large. ContextBuilding (20) builds the request.

The system message is the only one, since many chat templates refuse a second one. Everything that changes with every
message is appended to the newest message and not stored in the history, so each request is a prefix of the next.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from config.texts import ngettext
from memory.buttons import Notice
from memory.clock import Clock, TimezoneLookup
from memory.log.compaction import CompactionResult, CompactionService
from memory.log.sessions import Session, SessionService, Transcript
from memory.messages import Message, Passage, Role, find_least_trusted, join_messages
from pipeline.models.model import ChatModel
from pipeline.prompt.budget import Budget, BudgetOf
from pipeline.prompt.part import Draft, PromptPart, Section
from pipeline.prompt.prompts import (
    NOW_HEADER,
    PLAIN_MEMORY_HEADER,
    SUMMARY_HEADER,
    PromptStyle,
    escape_fence,
    fence,
    plain_examples,
    plain_line,
)
from pipeline.turn import Turn

OnCompacted = Callable[["CompactionResult"], Awaitable[None]]
"""Called after each compaction, so that the removed messages can be consolidated."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A finished request.

    Attributes:
        messages: The system message, the conversation and the new messages.
        added: The text that is appended to the newest message, with the worst provenance of its sections.
        passages: The recalled and quoted texts, each with its own provenance.
        recalled_text: The recalled texts as the request shows them.
    """

    messages: list[Message]
    added: Passage
    passages: tuple[Passage, ...]
    recalled_text: str


@dataclass(eq=False)
class PromptBuilder:
    """Lays out the parts of a prompt and the conversation, in the style that suits the model.

    A new budget is created for each turn, since the limits of a model may become known only while the program runs.
    """

    style: PromptStyle
    parts: Sequence[PromptPart]
    budget: BudgetOf
    clock: Clock
    zone_of: TimezoneLookup

    def draft(self, session: Session, transcript: Transcript, budget: Budget, replaced: int | None = None) -> Draft:
        """Return the draft of the session's next request, without new messages.

        Args:
            replaced: The turn that this one repeats. The request doesn't contain it.
        """
        history = [m for m in transcript.messages if m.turn_id is None or m.turn_id != replaced]
        if (limit := self.style.max_messages) is not None:
            first = next((at for at, m in enumerate(history[-limit:]) if m.role is Role.USER), limit)
            history = history[-limit:][first:]
            transcript = replace(transcript, messages=history)
        return Draft(
            session,
            replace(transcript, messages=history),
            transcript,
            budget,
            self.clock().astimezone(self.zone_of(session.id)),
            self.zone_of(session.owner),
            self.style.plain,
        )

    async def build(self, draft: Draft) -> Prompt:
        for part in self.parts:
            await part.add_to(draft)
        budget = draft.budget
        spoken = [_with_origin(budget.cap(m, budget.message)) for m in (*draft.visible.messages, *draft.new_messages)]
        spoken = _with_foreign_summary(spoken, draft)
        now = f"{NOW_HEADER} {draft.now:%A %Y-%m-%d %H:%M}"
        if draft.is_plain:
            shown = [section for section in draft.volatile if not section.memories]
            added = _merge(draft.volatile, _merged_text(shown))
            system, examples = self._plain_system(draft, now)
        else:
            added = _merge(draft.volatile, [*_merged_text(draft.volatile), now])
            system, examples = [self.style.identity, *(section.text for section in draft.stable)], []
        if draft.new_messages and added.text:
            last = spoken[-1]
            provenance = find_least_trusted([last.provenance, added.provenance])
            spoken[-1] = replace(last, content=f"{last.content}\n\n{added.text}", provenance=provenance)
        quoted = (section.passage for section in draft.volatile if section.passage is not None)
        listed = (line for section in draft.volatile for line in section.memories) if draft.is_plain else ()
        return Prompt(
            [Message(Role.SYSTEM, "\n\n".join(system), draft.now), *examples, *spoken],
            added,
            tuple(piece for passage in quoted for piece in passage.pieces if piece.text),
            "\n".join([*listed, added.text]),
        )

    async def tokens(self, session: Session, transcript: Transcript, model: ChatModel) -> int:
        """Estimate the tokens of the session's next request without the new message."""
        budget = await self.budget(session.owner, model)
        prompt = await self.build(self.draft(session, transcript, budget))
        return budget.counter.count_messages(prompt.messages, budget.model) + budget.tool_tokens

    def _plain_system(self, draft: Draft, now: str) -> tuple[list[str], list[Message]]:
        """Return the system message of a plain style in pieces, and the examples that follow it."""
        sections = (*draft.stable, *draft.volatile)
        asked = draft.is_asking
        identity = f"{self.style.identity} {self.style.unknown}".strip() if asked else self.style.identity
        rest = [section.text for section in draft.stable if not section.memories]
        plain = (plain_line(line) for section in sections for line in section.memories)
        lines = dict.fromkeys(f"- {line}" for line in plain if line)
        memories = ["\n".join([PLAIN_MEMORY_HEADER, *lines])] if lines else []
        examples = [
            Message(role, text, draft.now)
            for statement, answer in (() if asked else plain_examples())
            for role, text in ((Role.USER, statement), (Role.ASSISTANT, answer))
        ]
        return [identity, *rest, now, *memories], examples


def _merged_text(sections: Sequence[Section]) -> list[str]:
    """Return the texts of sections, with sections of the same heading in one text."""
    merged: dict[str, list[str]] = {}
    for number, section in enumerate(sections):
        # Sections without a heading stay apart.
        heading = [section.heading] if section.heading else []
        merged.setdefault(section.heading or str(number), heading).append(section.text)
    return ["\n".join(texts) for texts in merged.values()]


def _merge(sections: Sequence[Section], texts: Sequence[str]) -> Passage:
    """Return the texts as one fenced passage, with the provenance and the sources of the sections."""
    passages = [section.passage for section in sections if section.passage is not None]
    return Passage(
        fence("\n\n".join(texts)) if texts else "",
        find_least_trusted(passage.provenance for passage in passages),
        messages=tuple(number for passage in passages for number in passage.messages),
        entries=tuple(number for passage in passages for number in passage.entries),
    )


def _with_foreign_summary(messages: list[Message], draft: Draft) -> list[Message]:
    """Prepend a foreign summary to the first message as data. It must never be part of the system message."""
    summary, provenance = draft.visible.summaries[1], draft.visible.summary_provenance
    if summary is None or not messages:
        return messages
    first = messages[0]
    text = f"{SUMMARY_HEADER}{provenance.mark}\n{draft.budget.cut(summary, draft.budget.relevant)}"
    content = f"{fence(text)}\n\n{first.content}"
    return [
        replace(first, content=content, provenance=find_least_trusted([first.provenance, provenance])),
        *messages[1:],
    ]


def _with_origin(message: Message) -> Message:
    if message.role is not Role.USER:
        return message  # Marks in its own answers would teach the model to write marks.
    speaker = f"{message.speaker}:" if message.speaker else ""
    text = f"{speaker}{find_least_trusted([message.provenance]).mark} {escape_fence(message.content)}"
    return replace(message, content=text.removeprefix(" "))


class AutoCompaction:
    """Reads the conversation and compacts it if it exceeds the model's window or the message limit."""

    name = "AutoCompaction"

    def __init__(self, sessions: SessionService, compaction: CompactionService, on_compacted: OnCompacted) -> None:
        self._sessions = sessions
        self._compaction = compaction
        self._on_compacted = on_compacted

    async def process(self, turn: Turn) -> None:
        turn.transcript = await self._sessions.read_transcript(turn.session.id)
        model = turn.chat_model
        # This is the first step that needs the size of the window, so it asks the endpoint.
        await model.learn_facts()
        compacted = await self._compaction.compact_if_needed(
            turn.session, turn.transcript, model.name, model.window.max_input_tokens
        )
        if compacted is None:
            return
        turn.transcript = await self._sessions.read_transcript(turn.session.id)
        await self._on_compacted(compacted)
        if not compacted.summarized:
            turn.notices.append(Notice(_no_summary_text(compacted)))


def _no_summary_text(compacted: CompactionResult) -> str:
    if compacted.archive_name is None:
        return ngettext(
            "The conversation is long and couldn't be summarised: I can no longer see {n} earlier message.",
            "The conversation is long and couldn't be summarised: I can no longer see {n} earlier messages.",
            compacted.removed,
        )
    return ngettext(
        "The conversation is long and couldn't be summarised: I can no longer see {n} earlier message, which is saved"
        " as {name}.",
        "The conversation is long and couldn't be summarised: I can no longer see {n} earlier messages, which are"
        " saved as {name}.",
        compacted.removed,
        name=compacted.archive_name,
    )


class ContextBuilding:
    """Builds the request: one system message, the conversation since the newest marker, and the new messages.

    Everything that changes with every message is appended to the newest one, which keeps the provider's prompt cache
    warm.
    """

    name = "ContextBuilding"

    def __init__(self, sessions: SessionService, builder: PromptBuilder) -> None:
        self._sessions = sessions
        self._builder = builder

    async def process(self, turn: Turn) -> None:
        turn.budget = budget = await self._builder.budget(turn.session.owner, turn.chat_model)
        if turn.transcript is None:
            turn.transcript = await self._sessions.read_transcript(turn.session.id)
        draft = self._builder.draft(turn.session, turn.transcript, budget, turn.replaces_turn)
        draft.new_messages = turn.user_messages
        # Search memory for the user's own words, not for the text of an attached document.
        draft.question = join_messages(
            [m for m in turn.user_messages if not m.is_attachment] or turn.user_messages
        ).text
        draft.quoted = [arrival.quoted for arrival in turn.arrivals if arrival.quoted is not None]
        draft.task = turn.task
        prompt = await self._builder.build(draft)
        turn.context = prompt.messages
        turn.recalled_messages = tuple(
            Message(Role.TOOL, piece.text, turn.started_at, provenance=piece.provenance.stored)
            for piece in prompt.passages
        )
        turn.recalled_text = prompt.recalled_text
        turn.notices += [Notice(text) for text in draft.notices]
        turn.activated = tuple(draft.activated)
        turn.recalled, turn.recalled_notes = prompt.added.messages, prompt.added.entries
