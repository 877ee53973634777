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


class Neighbour(NamedTuple):
    """A format that is recognised but not read.

    Attributes:
        paths: Paths that occur together only in its JSON documents.
        refusal: The text for the user, with the placeholders `file` and `program`.
    """

    program: str
    paths: tuple[str, ...]
    refusal: str


NEIGHBOURS = (
    Neighbour("Open WebUI", ("item.chat", "item.chat.history"), _ASK_FOR_LIST),
    Neighbour("Open WebUI", ("chat.history",), _ASK_FOR_LIST),
    Neighbour("LibreChat", ("conversationId", "messages.item.messageId"), _ASK_FOR_LIST),
    Neighbour("LibreChat", ("conversationId", "messagesTree"), _ASK_FOR_LIST),
    Neighbour("DeepSeek", ("item.inserted_at", "item.mapping"), _ASK_FOR_LIST),
    Neighbour("Grok", ("conversations.item.conversation", "conversations.item.responses"), _ASK_FOR_LIST),
    Neighbour("Character.AI", ("histories.histories",), _ASK_FOR_LIST),
    Neighbour("Character.AI", ("characters", "character_id"), _ASK_FOR_LIST),
    Neighbour("ShareGPT", ("item.conversations.item.value",), _COPY_MESSAGES),
    Neighbour("Messenger or Instagram", ("messages.item.sender_name",), _COPY_MESSAGES),
    Neighbour("Messenger or Instagram", ("messages.item.senderName",), _COPY_MESSAGES),
    Neighbour("Discord", ("channel", "messages.item.author"), _COPY_MESSAGES),
    Neighbour("Discord", ("item.Contents", "item.Timestamp"), _COPY_MESSAGES),
    Neighbour("Signal", ("backupTimeMs",), _COPY_MESSAGES),
    Neighbour("Signal", ("item.sent_at", "item.conversationId"), _COPY_MESSAGES),
    Neighbour("Signal", ("messages.item.sent_at",), _COPY_MESSAGES),
    Neighbour("Slack", ("item.ts", "item.user_profile"), _COPY_MESSAGES),
)


def find_neighbour(paths: frozenset[str]) -> Neighbour | None:
    """Return the unsupported format of a JSON document, or None if it is unknown.

    Args:
        paths: The paths of the document that are in DETECTING_PATHS.
    """
    return next((neighbour for neighbour in NEIGHBOURS if paths.issuperset(neighbour.paths)), None)
