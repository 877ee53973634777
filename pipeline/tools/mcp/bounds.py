"""Limits what a server may send: in one message, and in a minute. Bytes are counted before they are parsed."""

from __future__ import annotations

import io
import time
from typing import TYPE_CHECKING, NoReturn

from memory.imports.json_stream import BoundedJson
from memory.text.validity import JsonRepair

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.shared.message import SessionMessage

MAX_MESSAGE_BYTES = 8 * 1024**2
"""One answer: the largest picture that a model is shown takes 7 MB as base64."""
MAX_MESSAGE_ITEMS = 200_000
MAX_MINUTE_BYTES = 64 * 1024**2


class TooMuch(Exception):
    """A server sends more than a connection takes."""


class Flow:
    """Counts the bytes of one connection.

    Args:
        on_too_much: Called before TooMuch is raised, since the library keeps errors of its streams to itself.
    """

    def __init__(self, on_too_much: Callable[[], None]) -> None:
        self._on_too_much = on_too_much
        self._minute = 0.0
        self._bytes = 0

    def add(self, count: int, of_message: int) -> None:
        """Count bytes that arrived. Raises TooMuch.

        Args:
            of_message: The size of the message so far that they belong to.
        """
        now = time.monotonic()
        if now - self._minute >= 60:
            self._minute, self._bytes = now, 0
        self._bytes += count
        if of_message > MAX_MESSAGE_BYTES or self._bytes > MAX_MINUTE_BYTES:
            self.give_up()

    def give_up(self) -> NoReturn:
        """End the connection. Raises TooMuch."""
        self._on_too_much()
        raise TooMuch


def parse_message(line: bytes) -> SessionMessage | Exception:
    """Parse one line of a server. An error is returned, as the library's session expects it.

    Raises TooComplex for a message that would take far more memory than its bytes.
    """
    from mcp.shared.message import SessionMessage
    from mcp.types import jsonrpc_message_adapter

    repair = JsonRepair()
    valid = repair.feed(line) + repair.end()
    message_json().check(valid)
    text = valid.decode("utf-8", "replace")
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
    except ValueError as error:
        return error


def message_json() -> BoundedJson:
    """Make a check of one message."""
    return BoundedJson(io.BytesIO(), max_value_items=MAX_MESSAGE_ITEMS)
