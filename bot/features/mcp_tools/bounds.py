"""Limits for the messages of a server. Bytes are counted before they are parsed."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from config.json_stream import BoundedJson
from memory.text.validity import JsonRepair

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

MAX_MESSAGE_BYTES = 8 * 1024**2
"""The largest image that a model accepts takes 7 MB as base64."""
MAX_MESSAGE_ITEMS = 200_000
MAX_MINUTE_BYTES = 64 * 1024**2


class TooMuch(Exception):
    """Raised if a server sends more than the limits allow."""


class ByteLimiter:
    """Limits the bytes received on a connection.

    The library swallows errors of its streams, so `on_too_much` is called too.
    """

    def __init__(self, on_too_much: Callable[[], None]) -> None:
        self._on_too_much = on_too_much
        self._minute = 0.0
        self._bytes = 0

    def add(self, count: int, message_size: int) -> None:
        """Count received bytes. Raises TooMuch.

        Args:
            message_size: The number of bytes of the current message, including these.
        """
        now = time.monotonic()
        if now - self._minute >= 60:
            self._minute, self._bytes = now, 0
        self._bytes += count
        if message_size > MAX_MESSAGE_BYTES or self._bytes > MAX_MINUTE_BYTES:
            self.give_up()

    def give_up(self) -> NoReturn:
        """End the connection. Raises TooMuch."""
        self._on_too_much()
        raise TooMuch


def parse_message(line: bytes) -> SessionMessage | Exception:
    """Parse a line from a server. An invalid line is returned as an exception, which the library's session expects.

    Raises TooComplex if the parsed message would need far more memory than its bytes.
    """
    from mcp.shared.message import SessionMessage
    from mcp.types import jsonrpc_message_adapter

    repair = JsonRepair()
    valid = repair.repair(line) + repair.finish()
    create_message_json().check(valid)
    text = valid.decode("utf-8", "replace")
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
    except ValueError as error:
        return error


def create_message_json() -> BoundedJson:
    return BoundedJson(io.BytesIO(), max_value_items=MAX_MESSAGE_ITEMS)
