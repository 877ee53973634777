"""The vocabulary of buttons: what stands under a reply to be pressed instead of typing a command."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from config.texts import _

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ABOUT_CHARACTERS = 24
"""What is shown on a button of what it is about: a telephone shows some 30 characters."""


@dataclass(frozen=True, slots=True)
class Button:
    """Says `label`; whoever presses it says `text`, a command or a message, as if it had been typed."""

    label: str
    text: str  # where it begins with PAGE: an address that the press opens
    about: str = ""  # shown where buttons beside each other say the same
    in_place: bool = False  # the answer replaces the message that the button stands under (commands only)
    minutes: int | None = None  # it may be pressed for so long; None: as long as the channel's mail is kept
    again: bool = False  # a press uses up nothing
    # no button but a question, under `label`: whoever answers by a reply says `text` and then their words, once
    by_reply: bool = False


Keyboard = tuple[tuple[Button, ...], ...]
"""Rows of buttons. A press uses up its row, so what excludes each other stands in one; one in place uses up all."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A line under a reply, with its buttons; it is no part of the answer."""

    text: str
    keyboard: Keyboard = ()
    alone: bool = False  # in a group it is for whoever is answered, where the channel can show it so


PAGE = "https://"
"""What the text of a button begins with that opens a page."""
THIS_TURN = "{turn}"
"""Stands in a button's text for the number of the turn that its reply ends, which nobody knows before."""


@dataclass(frozen=True, slots=True)
class PlacedButton:
    """A button as a channel shows it: `id` comes back when it is pressed, at most 64 bytes, and tells nothing else."""

    id: str
    label: str
    page: str | None = None  # the address that it opens instead


PlacedKeyboard = tuple[tuple[PlacedButton, ...], ...]
"""Rows of buttons that can still be pressed."""


def in_rows(buttons: Sequence[Button], width: int) -> Keyboard:
    return tuple(tuple(buttons[at : at + width]) for at in range(0, len(buttons), width))


def undo_button(change: int, about: str, entry: int | None = None) -> Button:
    """Undo a change, or only what it has done to one entry."""
    return Button(_("Undo"), f"/undo_{change}" if entry is None else f"/undo_{change}_{entry}", about)


def page_button(address: str) -> Button:
    """Opens the memory page; in a private chat only, as Telegram has it."""
    return Button(_("Open the page"), address, again=True)


def share_button(entry: int, about: str) -> Button:
    return Button(_("For all"), f"/share_{entry}", about)


def edit_button(entry: int, about: str) -> Button:
    return Button(_("Edit"), f"/edit_{entry}", about, again=True)


def right_or_wrong(entry: int, about: str) -> tuple[Button, ...]:
    return Button(_("Right"), f"/confirm_{entry}", about), Button(_("Wrong"), f"/forget_{entry}", about)


def rows_of(lines: Iterable[Notice]) -> Keyboard:
    """The rows of all lines; where there are several, the first button of each says what it is about."""
    rows = [row for line in lines for row in line.keyboard]
    if len(rows) <= 1:
        return tuple(rows)
    return tuple((replace(row[0], label=_with_subject(row[0])), *row[1:]) for row in rows)


def _with_subject(button: Button) -> str:
    about = " ".join(button.about.split())
    if not about:
        return button.label
    short = about if len(about) <= ABOUT_CHARACTERS else f"{about[:ABOUT_CHARACTERS]}…"
    return _("{label}: {about}", label=button.label, about=short)
