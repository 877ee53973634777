"""The buttons under what /memory shows: from the kinds to their pages, to one entry, to what can be done with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from config.texts import _
from memory.buttons import Button, QuietLine, edit_button, in_rows, right_or_wrong, rows_of
from memory.store.entry import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from memory.buttons import Keyboard
    from memory.search.search import Hit
    from memory.store.entry import Entry

ENTRIES_PER_ROW = 2
KINDS_PER_ROW = 2
NAME_CHARACTERS = 30
SEARCH = "search"


def kinds_keyboard(counts: Mapping[str, int], *, unsure: bool) -> Keyboard:
    """A button for each kind; unsure: and one for what is not confirmed."""
    kinds = [Button(f"{_(kind)} ({count})", f"/memory {kind} 1", in_place=True) for kind, count in counts.items()]
    rows = in_rows(kinds, KINDS_PER_ROW)
    return (*rows, (Button(_("Not sure"), "/memory unsure", in_place=True),)) if unsure else rows


def page_keyboard(kind: str, page: int, pages: int, entries: Sequence[Entry]) -> Keyboard:
    """A button for each entry of a page, and the way to the pages beside it."""
    ways = ((_("Newer"), page - 1), (_("Older"), page + 1))
    return _page([(entry.id, entry.name) for entry in entries], kind, ways, pages)


def found_keyboard(words: str, page: int, pages: int, found: Sequence[Hit]) -> Keyboard:
    """The same for a page of what was found, the best first."""
    ways = ((_("Back"), page - 1), (_("More"), page + 1))
    return _page([(hit.id, hit.name or f"#{hit.id}") for hit in found], f"{SEARCH} {words}", ways, pages)


def _page(entries: Iterable[tuple[int, str]], listed: str, ways: Iterable[tuple[str, int]], pages: int) -> Keyboard:
    shown = [Button(_cut(name), f"/memory_{number}", in_place=True) for number, name in entries]
    beside = [Button(label, f"/memory {listed} {to}", in_place=True) for label, to in ways if 1 <= to <= pages]
    return (*in_rows(shown, ENTRIES_PER_ROW), (*beside, _all_kinds()))


def entry_keyboard(entry: Entry) -> Keyboard:
    """What can be done with one entry, and the way back to those of its kind."""
    back = Button(_("All of {kind}", kind=_(entry.kind)), f"/memory {entry.kind} 1", in_place=True)
    if entry.unconfirmed is not None:
        unsure = (*right_or_wrong(entry.id, entry.content), edit_button(entry.id, entry.content))
        return unsure, (back, _all_kinds())
    edit = () if entry.steps or entry.kind == Kind.ARCHIVE else (edit_button(entry.id, entry.content),)
    return (*edit, Button(_("Forget"), f"/forget_{entry.id}", in_place=True)), (back, _all_kinds())


def unsure_keyboard(entries: Sequence[Entry]) -> Keyboard:
    """Right and wrong for each."""
    return rows_of(QuietLine("", (right_or_wrong(entry.id, entry.content),)) for entry in entries)


def _all_kinds() -> Button:
    return Button(_("All kinds"), "/memory", in_place=True)


def _cut(name: str) -> str:
    return name if len(name) <= NAME_CHARACTERS else f"{name[: NAME_CHARACTERS - 1]}…"
