"""The parts that a prompt consists of: their interface, and the smaller ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import Protocol
from zoneinfo import ZoneInfo

from config.texts import shorten_to_line
from memory.facts.sharing import Sharing
from memory.ledger.page import format_line
from memory.log.sessions import GUEST, Session, Transcript
from memory.messages import Message, Passage
from memory.search.activation_candidates import ActivatedMemory
from memory.search.formatting import NOTHING_IN_PROMPT, AlreadyInPrompt
from memory.search.query_splitting import asks, find_questions
from pipeline.prompt.budget import Budget
from pipeline.prompt.prompts import (
    GUEST_HINT,
    PHOTO_HINT,
    PRIVATE_HINT,
    QUOTED_HEADER,
    SHARED_HEADER,
    SUMMARY_HEADER,
    TASK_HINT,
)
from pipeline.scheduled import ScheduledRun


class PartOrder(IntEnum):
    """The places of the kernel's parts. Features use the numbers in between."""

    QUOTED = 20
    SHARED = 30
    MEMORY = 40
    SUMMARY = 50
    HINTS = 60


@dataclass(frozen=True, slots=True)
class Section:
    """A piece of the prompt.

    Attributes:
        heading: In the newest message, sections with the same heading become one.
        memories: The memories in it, one a line. A plain style lists these instead of the text, so none is foreign.
        passage: The quoted text with its provenance, or None for Mneme's own words.
    """

    text: str
    heading: str = ""
    memories: tuple[str, ...] = ()
    passage: Passage | None = None


def quoted_section(heading: str, passage: Passage, budget: Budget) -> list[Section]:
    """Return a passage as a section, cut to the limit for relevant text. There is none if it is empty."""
    text = budget.cut(passage.text, budget.relevant)
    own = () if passage.provenance.is_foreign else tuple(text.splitlines())
    return [Section(text, heading, own, passage)] if passage.text else []


@dataclass(slots=True)
class Draft:
    """The prompt of a turn while its parts add to it, in order.

    Attributes:
        visible: The conversation that the request contains.
        transcript: The whole conversation, with a turn that is repeated. Nothing of it is recalled.
        now: The current time in the session's zone.
        zone: The zone of the owner's days.
        is_plain: Memories go as plain lines into the system message. Small models need that.
        question: The user's own new words, without attached documents.
        new_messages: The messages that the turn answers. Without any, only the system message is needed.
        quoted: The messages that the new messages reply to.
        task: The scheduled task that runs, if any.
        stable: The sections of the system message. They should rarely change, for the provider's prompt cache.
        volatile: The sections that are appended to the newest message and not stored.
        shown: Contents of the volatile sections, which need not be repeated.
        activated: The memories in the prompt, other than files and quotations. They are all trusted.
        notices: Sentences to show below the reply.
    """

    session: Session
    visible: Transcript
    transcript: Transcript
    budget: Budget
    now: datetime
    zone: ZoneInfo
    is_plain: bool = False
    question: str = ""
    new_messages: Sequence[Message] = ()
    quoted: Sequence[Passage] = ()
    task: ScheduledRun | None = None
    stable: list[Section] = field(default_factory=list)
    volatile: list[Section] = field(default_factory=list)
    shown: AlreadyInPrompt = NOTHING_IN_PROMPT
    activated: list[ActivatedMemory] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    @property
    def is_asking(self) -> bool:
        """Whether the question asks something, as a whole or in one of its sentences."""
        return asks(self.question) or bool(find_questions(self.question))

    @property
    def today(self) -> datetime:
        """The beginning of the owner's day."""
        return self.now.astimezone(self.zone).replace(hour=0, minute=0, second=0, microsecond=0)


class PromptPart(Protocol):
    async def add_to(self, draft: Draft) -> None:
        """Append sections to `draft.stable`, and to `draft.volatile` if there are new messages."""


MAX_SHARED_TOKENS = 300
MAX_SHARED_MEMORIES = 40
MAX_SHARED_MEMORY_CHARS = 300
"""Limits for the memories that others of the family share. Every request has the newest ones; search finds the rest."""


class QuotedPart:
    """Quotes the messages that the new messages reply to."""

    async def add_to(self, draft: Draft) -> None:
        for passage in draft.quoted:
            text = draft.budget.cut(passage.text, draft.budget.relevant)
            draft.volatile.append(Section(f"{passage.provenance.mark} {text}".strip(), QUOTED_HEADER, passage=passage))
        draft.shown = draft.shown.with_quoted(*(passage.text for passage in draft.quoted))


class SharedPart:
    """Lists the newest memories that others of the family share."""

    def __init__(self, sharing: Sharing) -> None:
        self._sharing = sharing

    async def add_to(self, draft: Draft) -> None:
        if not draft.new_messages:
            return
        lines, remaining = list[str](), min(MAX_SHARED_TOKENS, draft.budget.relevant)
        for entry in await self._sharing.list_shared_by_others(draft.session.owner, MAX_SHARED_MEMORIES):
            day = f"{entry.shared_at.astimezone(draft.zone):%Y-%m-%d}" if entry.shared_at is not None else ""
            line = f"- {entry.shared_by}, {day}: {shorten_to_line(entry.content, MAX_SHARED_MEMORY_CHARS)}"
            if (cost := draft.budget.text(line) + 1) <= remaining:
                remaining -= cost
                lines.append(line)
                draft.shown = draft.shown.with_lines(format_line(entry.content))
        text = "\n".join(lines)
        draft.volatile += [Section(text, SHARED_HEADER, passage=Passage(text))] if lines else []


class SummaryPart:
    """Adds the summary of the user's and the assistant's messages. `with_foreign_summary` adds the other one."""

    async def add_to(self, draft: Draft) -> None:
        if (summary := draft.visible.summaries[0]) is not None:
            draft.stable.append(Section(f"{SUMMARY_HEADER}\n{draft.budget.cut(summary, draft.budget.relevant)}"))


class HintsPart:
    """Says how this message differs from others: a photo, a guest's or private chat, or a scheduled task."""

    async def add_to(self, draft: Draft) -> None:
        session = draft.session
        photos = any(message.images for message in draft.new_messages)
        hints = [PHOTO_HINT] if photos and not session.private else []
        if session.address.channel == GUEST:
            hints.append(GUEST_HINT)
        elif session.private:
            hints.append(PRIVATE_HINT)
        hints += [TASK_HINT.format(hour=draft.task.hour)] if draft.task is not None else []
        draft.volatile += [Section(hint) for hint in hints]
