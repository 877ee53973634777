"""Formats that Mneme recognises but can't import. The refusal tells the user what to do instead."""

from __future__ import annotations

from typing import NamedTuple

from config.texts import N_

_ASK_FOR_LIST = N_(
    "{file} is an export of {program}, which I can't read: nothing was imported. Ask {program} for everything that it"
    " remembers about you, as a list with lines such as “[2025-03-14] - I live in Lviv”, and send me the list."
)
_COPY_MESSAGES = N_(
    "{file} is an export of {program}, which I can't read: nothing was imported. Copy the messages that matter into a"
    " text file, and send me that."
)


class UnsupportedFormat(NamedTuple):
    """A format that is recognised but not read.

    Attributes:
        paths: Paths that occur together only in its JSON documents.
        refusal: The text for the user, with the placeholders `file` and `program`.
    """

    program: str
    paths: tuple[str, ...]
    refusal: str


UNSUPPORTED_FORMATS = (
    UnsupportedFormat("Open WebUI", ("item.chat", "item.chat.history"), _ASK_FOR_LIST),
    UnsupportedFormat("Open WebUI", ("chat.history",), _ASK_FOR_LIST),
    UnsupportedFormat("LibreChat", ("conversationId", "messages.item.messageId"), _ASK_FOR_LIST),
    UnsupportedFormat("LibreChat", ("conversationId", "messagesTree"), _ASK_FOR_LIST),
    UnsupportedFormat("DeepSeek", ("item.inserted_at", "item.mapping"), _ASK_FOR_LIST),
    UnsupportedFormat("Grok", ("conversations.item.conversation", "conversations.item.responses"), _ASK_FOR_LIST),
    UnsupportedFormat("Character.AI", ("histories.histories",), _ASK_FOR_LIST),
    UnsupportedFormat("Character.AI", ("characters", "character_id"), _ASK_FOR_LIST),
    UnsupportedFormat("ShareGPT", ("item.conversations.item.value",), _COPY_MESSAGES),
    UnsupportedFormat("Messenger or Instagram", ("messages.item.sender_name",), _COPY_MESSAGES),
    UnsupportedFormat("Messenger or Instagram", ("messages.item.senderName",), _COPY_MESSAGES),
    UnsupportedFormat("Discord", ("channel", "messages.item.author"), _COPY_MESSAGES),
    UnsupportedFormat("Discord", ("item.Contents", "item.Timestamp"), _COPY_MESSAGES),
    UnsupportedFormat("Signal", ("backupTimeMs",), _COPY_MESSAGES),
    UnsupportedFormat("Signal", ("item.sent_at", "item.conversationId"), _COPY_MESSAGES),
    UnsupportedFormat("Signal", ("messages.item.sent_at",), _COPY_MESSAGES),
    UnsupportedFormat("Slack", ("item.ts", "item.user_profile"), _COPY_MESSAGES),
)


def find_unsupported_format(paths: frozenset[str]) -> UnsupportedFormat | None:
    """Return the unsupported format of a JSON document, or None if it is unknown.

    Args:
        paths: The paths of the document that are in DETECTING_PATHS.
    """
    return next((unsupported for unsupported in UNSUPPORTED_FORMATS if paths.issuperset(unsupported.paths)), None)
