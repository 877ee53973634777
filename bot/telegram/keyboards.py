"""Buttons as the Bot API has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from telegram import (
    ForceReply,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    KeyboardButton,
    ReplyKeyboardMarkup,
    ReplyKeyboardRemove,
)

if TYPE_CHECKING:
    from memory.buttons import PlacedKeyboard

Markup = InlineKeyboardMarkup | ReplyKeyboardMarkup | ReplyKeyboardRemove | ForceReply | None
"""What may stand under a new message. Under one that is edited only an InlineKeyboardMarkup may."""


def markup_of(keyboard: PlacedKeyboard, chat: int) -> InlineKeyboardMarkup | None:
    """The buttons under a message of a chat; None where there are none.

    Where somebody is, only a private chat may ask for.
    """
    rows = [
        [InlineKeyboardButton(b.label, callback_data=b.id) for b in row if chat > 0 or not b.asks_place]
        for row in keyboard
    ]
    rows = [row for row in rows if row]
    return InlineKeyboardMarkup(rows) if rows else None


def new_markup_of(keyboard: PlacedKeyboard, chat: int, *, after_place: bool) -> Markup:
    """The same under a new message: what asks where somebody is takes the place of their keyboard, and stands alone.

    after_place: such a one stands there still, and is taken away if it can be.
    """
    asking = [[KeyboardButton(b.label, request_location=True)] for row in keyboard for b in row if b.asks_place]
    if asking and chat > 0:
        return ReplyKeyboardMarkup(asking, resize_keyboard=True, one_time_keyboard=True)
    return markup_of(keyboard, chat) or (ReplyKeyboardRemove() if after_place and chat > 0 else None)


def asking(label: str) -> ForceReply:
    """Has the clients of whom a message is for open a reply to it, with `label` where it is written."""
    return ForceReply(selective=True, input_field_placeholder=label)
