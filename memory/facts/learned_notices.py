"""The notice about newly learned memories, with its buttons."""

from __future__ import annotations

from collections.abc import Sequence

from config.texts import _, listed, unstopped
from memory.buttons import Notice, edit_button, share_button, undo_button
from memory.facts.fact_learner import Learned


def learned_notices(learned: Sequence[Learned], change: int | None, *, of_family: bool = False) -> list[Notice]:
    """Return the notice about the memories of one change. Empty if all were known.

    Args:
        of_family: Whether the owner can share memories with the family.
    """
    news = [item for item in learned if item.superseded is not None or not item.known]
    if not news or change is None:
        return []
    if len(news) > 1:
        text = _("Noted: {contents} (/undo takes it all back)", contents=listed(item.wording for item in news))
        entries = [item.entry for item in news]
        rows = [(undo_button(change, e.content, e.id), edit_button(e.id, e.content)) for e in entries]
        return [Notice(text, tuple(rows))]
    entry = news[0].entry
    edits = [edit_button(entry.id, entry.content)]
    if of_family and entry.shared_at is None:
        edits.append(share_button(entry.id, entry.content))
    return [Notice(noted_text(news[0]), ((undo_button(change, entry.content), *edits),))]


def noted_text(learned: Learned) -> str:
    content, former = unstopped(learned.entry.content), learned.superseded
    if former is None:
        return _("Noted as a {kind}: {content} (/undo takes it back)", kind=_(learned.entry.kind), content=content)
    return _("Noted: {content} (was: {former}; /undo takes it back)", content=content, former=unstopped(former.content))
