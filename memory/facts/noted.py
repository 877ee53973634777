"""Says what was noted, in one line with its buttons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from config.texts import _, listed, unstopped
from memory.buttons import Notice, edit_button, share_button, undo_button

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.facts.fact_store import Learned


def noted(learned: Sequence[Learned], change: int | None, *, of_family: bool = False) -> list[Notice]:
    """Return the notice of what was learned by one change; nothing if all of it was known.

    Args:
        of_family: The owner can share it with the family.
    """
    news = [item for item in learned if item.superseded is not None or not item.known]
    if not news or change is None:
        return []
    edits = [edit_button(item.entry.id, item.entry.content) for item in news]
    if len(news) > 1:
        text = _("Noted: {contents} (/undo takes it all back)", contents=listed(item.wording for item in news))
        return [Notice(text, ((undo_button(change, ""),), *((edit,) for edit in edits)))]
    entry = news[0].entry
    if of_family and entry.shared_at is None:
        edits = [*edits, share_button(entry.id, entry.content)]
    return [Notice(noted_text(news[0]), ((undo_button(change, entry.content), *edits),))]


def noted_text(learned: Learned) -> str:
    """Return the line about one memory."""
    content, former = unstopped(learned.entry.content), learned.superseded
    if former is None:
        return _("Noted as a {kind}: {content} (/undo takes it back)", kind=_(learned.entry.kind), content=content)
    return _("Noted: {content} (was: {former}; /undo takes it back)", content=content, former=unstopped(former.content))
