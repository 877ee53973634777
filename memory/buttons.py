"""Buttons and notices under a reply, and the buttons that several commands share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from config.texts import _

MAX_SUBJECT_CHARS = 24
"""Characters of the subject on a button. A phone shows about 30 in all."""


@dataclass(frozen=True, slots=True)
class Button:
    """A button. Pressing it sends `text`, a command or a message, as if the user had typed it.

    Attributes:
        label: The button's label, or the question if `by_reply`.
        text: The text to send. If it starts with PAGE, an address to open. If it starts with PEOPLE, a command with the
            placeholder CHOSEN, which is sent with the ids of the people that the user chooses.
        about: The subject. It is shown if several buttons have the same label.
        in_place: The answer replaces the message above the button. For commands only.
        minutes: How long the button works. None means as long as the channel keeps its mail.
        again: Whether the button can be pressed more than once.
        by_reply: Ask a question instead of showing a button. A reply to it sends `text` and the reply, once.
    """

    label: str
    text: str
    about: str = ""
    in_place: bool = False
    minutes: int | None = None
    again: bool = False
    by_reply: bool = False


Keyboard = tuple[tuple[Button, ...], ...]
"""Rows of buttons. A press disables its row, so put alternatives in one row. An in-place button disables all rows."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A line under a reply, with its buttons. It is not part of the answer.

    Attributes:
        alone: Show it in a group only to the user who is answered, if the channel can.
    """

    text: str
    keyboard: Keyboard = ()
    alone: bool = False


PAGE = "https://"
"""Prefix of the text of a button that opens a page."""
PEOPLE = "people:"
"""Prefix of the text of a button with which the user chooses people."""
CHOSEN = "{chosen}"
"""Placeholder in the text of such a button for the ids of the chosen people."""
THIS_TURN = "{turn}"
"""Placeholder in a button's text for the number of the turn, which is assigned when the reply is committed."""


@dataclass(frozen=True, slots=True)
class PlacedButton:
    """A button as a channel shows it.

    Attributes:
        id: An opaque id of at most 64 bytes, which comes back when the button is pressed.
        opens: The address to open instead, or a text that starts with PEOPLE.
    """

    id: str
    label: str
    opens: str | None = None


PlacedKeyboard = tuple[tuple[PlacedButton, ...], ...]
"""Rows of buttons that can still be pressed."""


def arrange_in_rows(buttons: Sequence[Button], width: int) -> Keyboard:
    return tuple(tuple(buttons[at : at + width]) for at in range(0, len(buttons), width))


def create_undo_button(change: int, about: str, entry: int | None = None) -> Button:
    return Button(_("Undo"), f"/undo_{change}" if entry is None else f"/undo_{change}_{entry}", about)


def create_page_button(address: str) -> Button:
    """Return a button that opens the memory page. Telegram allows it in private chats only."""
    return Button(_("Open the page"), address, again=True)


def create_share_button(entry: int, about: str) -> Button:
    return Button(_("For all"), f"/share_{entry}", about)


def create_edit_button(entry: int, about: str) -> Button:
    return Button(_("Edit"), f"/edit_{entry}", about, again=True)


def create_review_buttons(entry: int, about: str) -> tuple[Button, ...]:
    return Button(_("Right"), f"/confirm_{entry}", about), Button(_("Wrong"), f"/forget_{entry}", about)


def collect_rows(lines: Iterable[Notice]) -> Keyboard:
    """Return the rows of all lines. If there are several, the first button of each row names its subject."""
    rows = [row for line in lines for row in line.keyboard]
    if len(rows) <= 1:
        return tuple(rows)
    return tuple((replace(row[0], label=_add_subject(row[0])), *row[1:]) for row in rows)


def _add_subject(button: Button) -> str:
    about = " ".join(button.about.split())
    if not about:
        return button.label
    short = about if len(about) <= MAX_SUBJECT_CHARS else f"{about[:MAX_SUBJECT_CHARS]}…"
    return _("{label}: {about}", label=button.label, about=short)
