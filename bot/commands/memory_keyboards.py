"""Buttons below the answers of /memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from config.texts import _, shorten_to_line
from memory.buttons import (
    Button,
    Keyboard,
    arrange_in_rows,
    create_edit_button,
    create_review_buttons,
)
from memory.search.named_memories import NamedMemory
from memory.search.types import Hit
from memory.store.entry import Entry, Kind

FILE = "MEMORY.md"
ENTRIES_PER_ROW = 2
KINDS_PER_ROW = 2
MAX_LABEL_CHARS = 29


def forget_keyboard(memories: Sequence[NamedMemory]) -> Keyboard:
    return tuple(
        (Button(f"{_('Forget')}: {shorten_to_line(memory.content, MAX_LABEL_CHARS)}", memory.forget_command),)
        for memory in memories
    )


def kinds_keyboard(counts: Mapping[str, int], of_file: int, *, unsure: bool) -> Keyboard:
    kinds = [Button(f"{_(kind)} ({count})", f"/memory {kind} 1", in_place=True) for kind, count in counts.items()]
    kinds += [Button(f"{FILE} ({of_file})", f"/memory {FILE}", in_place=True)] if of_file else []
    rows = arrange_in_rows(kinds, KINDS_PER_ROW)
    return (*rows, (Button(_("Not sure"), "/memory unsure", in_place=True),)) if unsure else rows


def create_memory_buttons(memories: Sequence[Entry | Hit]) -> Keyboard:
    return arrange_in_rows(
        [
            Button(shorten_to_line(memory.content, MAX_LABEL_CHARS), f"/memory_{memory.id}", in_place=True)
            for memory in memories
        ],
        ENTRIES_PER_ROW,
    )


def entry_keyboard(entry: Entry, buttons: Sequence[Button] = ()) -> Keyboard:
    back = Button(_("All of {kind}", kind=_(entry.kind)), f"/memory {entry.kind} 1", in_place=True)
    if entry.unconfirmed is not None:
        unsure = (*create_review_buttons(entry.id, entry.content), create_edit_button(entry.id, entry.content))
        return unsure, (back, create_all_kinds_button())
    edit = () if entry.steps or entry.kind == Kind.ARCHIVE else (create_edit_button(entry.id, entry.content),)
    return (
        (*edit, Button(_("Forget"), f"/forget_{entry.id}", in_place=True)),
        *([tuple(buttons)] if buttons else []),
        (back, create_all_kinds_button()),
    )


def create_all_kinds_button() -> Button:
    return Button(_("All kinds"), "/memory", in_place=True)
