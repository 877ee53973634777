"""The address of a chat in a terminal."""

from __future__ import annotations

from memory.errors import MnemeError
from memory.log.sessions import Address

CHANNEL = "console"


class InvalidChatName(MnemeError):
    """`--session` got an invalid name."""


def create_console_address(chat: str) -> Address:
    """Return the address of the console chat with a name. Raises InvalidChatName."""
    if not chat or len(chat) > 64 or not all(c.isalnum() or c in "-_." for c in chat):
        raise InvalidChatName("--session takes up to 64 letters, digits, '-', '_' and '.', such as: work.")
    return Address(CHANNEL, chat)
