"""The interface of the parts that a prompt consists of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import Protocol
from zoneinfo import ZoneInfo

from memory.log.sessions import Session, Transcript
from memory.messages import Message, Passage
from memory.search.activation_candidates import ActivatedMemory
from memory.search.formatting import NOTHING_IN_PROMPT, AlreadyInPrompt
from memory.search.query_splitting import asks, find_questions
from pipeline.prompt.budget import Budget
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
