"""Buttons as the Bot API has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from telegram import ForceReply, InlineKeyboardButton, InlineKeyboardMarkup

if TYPE_CHECKING:
    from memory.buttons import PlacedKeyboard

Markup = InlineKeyboardMarkup | ForceReply | None
"""What may stand under a new message. Under one that is edited only an InlineKeyboardMarkup may."""


def markup_of(keyboard: PlacedKeyboard) -> InlineKeyboardMarkup | None:
    """The buttons under a message; None where there are none."""
    rows = [[InlineKeyboardButton(button.label, callback_data=button.id) for button in row] for row in keyboard]
    return InlineKeyboardMarkup(rows) if rows else None


def asking(label: str) -> ForceReply:
    """Has the clients of whom a message is for open a reply to it, with `label` where it is written."""
    return ForceReply(selective=True, input_field_placeholder=label)
