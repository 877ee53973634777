"""The notice about newly learned memories, with its buttons."""

from __future__ import annotations

from collections.abc import Sequence

from config.texts import _, join_sentences, strip_full_stop
from memory.buttons import Notice, create_edit_button, create_share_button, create_undo_button
from memory.facts.fact_learner import LearnedMemory


def create_notices(learned: Sequence[LearnedMemory], change: int | None, *, of_family: bool = False) -> list[Notice]:
    """Return the notice about the memories of one change. Empty if all were known.

    Args:
        of_family: Whether the owner can share memories with the family.
    """
    news = [item for item in learned if item.superseded is not None or not item.known]
    if not news or change is None:
        return []
    if len(news) > 1:
        text = _("Noted: {contents} (/undo takes it all back)", contents=join_sentences(item.wording for item in news))
        entries = [item.entry for item in news]
        rows = [(create_undo_button(change, e.content, e.id), create_edit_button(e.id, e.content)) for e in entries]
        return [Notice(text, tuple(rows))]
    entry = news[0].entry
    edits = [create_edit_button(entry.id, entry.content)]
    if of_family and entry.shared_at is None:
        edits.append(create_share_button(entry.id, entry.content))
    return [Notice(format_noted(news[0]), ((create_undo_button(change, entry.content), *edits),))]


def format_noted(learned: LearnedMemory) -> str:
    content, former = strip_full_stop(learned.entry.content), learned.superseded
    if former is None:
        return _("Noted as a {kind}: {content} (/undo takes it back)", kind=_(learned.entry.kind), content=content)
    return _(
        "Noted: {content} (was: {former}; /undo takes it back)", content=content, former=strip_full_stop(former.content)
    )
