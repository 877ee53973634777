"""The buttons under what /memory shows: from the kinds to their pages, to one entry, to what can be done with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from config.texts import _
from memory.buttons import Button, QuietLine, in_rows, right_or_wrong, rows_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.buttons import Keyboard
    from memory.store.entry import Entry

ENTRIES_PER_ROW = 2
KINDS_PER_ROW = 2
NAME_CHARACTERS = 30


def kinds_keyboard(counts: Mapping[str, int], *, unsure: bool) -> Keyboard:
    """A button for each kind; unsure: and one for what is not confirmed."""
    kinds = [Button(f"{kind} ({count})", f"/memory {kind} 1", in_place=True) for kind, count in counts.items()]
    rows = in_rows(kinds, KINDS_PER_ROW)
    return (*rows, (Button(_("Not sure"), "/memory unsure", in_place=True),)) if unsure else rows


def page_keyboard(kind: str, page: int, pages: int, entries: Sequence[Entry]) -> Keyboard:
    """A button for each entry of a page, and the way to the pages beside it."""
    shown = [Button(_cut(entry.name), f"/memory_{entry.id}", in_place=True) for entry in entries]
    ways = [(_("Newer"), page - 1), (_("Older"), page + 1)]
    beside = [Button(label, f"/memory {kind} {to}", in_place=True) for label, to in ways if 1 <= to <= pages]
    return (*in_rows(shown, ENTRIES_PER_ROW), (*beside, _all_kinds()))


def entry_keyboard(entry: Entry) -> Keyboard:
    """What can be done with one entry, and the way back to those of its kind."""
    back = Button(_("All of {kind}", kind=entry.kind), f"/memory {entry.kind} 1", in_place=True)
    if entry.unconfirmed is not None:
        return right_or_wrong(entry.id, entry.content), (back, _all_kinds())
    return (Button(_("Forget"), f"/forget_{entry.id}", in_place=True),), (back, _all_kinds())


def unsure_keyboard(entries: Sequence[Entry]) -> Keyboard:
    """Right and wrong for each."""
    return rows_of(QuietLine("", (right_or_wrong(entry.id, entry.content),)) for entry in entries)


def _all_kinds() -> Button:
    return Button(_("All kinds"), "/memory", in_place=True)


def _cut(name: str) -> str:
    return name if len(name) <= NAME_CHARACTERS else f"{name[: NAME_CHARACTERS - 1]}…"
