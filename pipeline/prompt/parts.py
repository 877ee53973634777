"""The smaller parts of a prompt: quoted messages, shared memories, the summary, and hints about the turn."""

from __future__ import annotations

from config.texts import shorten_to_line
from memory.facts.sharing import Sharing
from memory.ledger.page import format_line
from memory.log.sessions import GUEST
from memory.messages import Passage
from pipeline.prompt.part import Draft, Section
from pipeline.prompt.prompts import (
    GUEST_HINT,
    PHOTO_HINT,
    PRIVATE_HINT,
    QUOTED_HEADER,
    SHARED_HEADER,
    SUMMARY_HEADER,
    TASK_HINT,
)

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
