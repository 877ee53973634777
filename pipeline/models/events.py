"""Reads the body of an answer: server-sent events, or a single JSON object from servers that don't stream.

In the JSON of servers any field may be missing, null or of another type.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2

MAX_EVENT_BYTES = 32_000_000
DONE = object()
"""The event `[DONE]`."""


def get_value(value: object, *names: str) -> object:
    """Return the value under a path of names, or None if it is missing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def get_items(value: object, name: str) -> list[object]:
    """Return the list under a name, or an empty one."""
    result = get_value(value, name)
    return result if isinstance(result, list) else []


def get_text(value: object, *names: str) -> str:
    """Return the text under a path of names, or an empty one."""
    result = get_value(value, *names)
    return result if isinstance(result, str) else ""


def get_count(value: object, *names: str) -> int:
    """Return the number under a path of names, or 0."""
    result = get_value(value, *names)
    return int(result) if isinstance(result, int | float) and not isinstance(result, bool) else 0


class NotAModel(ValueError):
    """Raised if a web page answers, for example one of a proxy or of another program at that address."""


async def read_events(response: httpx2.Response, on_comment: Callable[[], None]) -> AsyncIterator[object]:
    """Yield the JSON values of the events of a stream, and DONE.

    Args:
        on_comment: Called for each comment line. Servers send these to keep the connection alive.

    Raises:
        NotAModel: A web page answers.
        ValueError: An event is not JSON or too long.
        httpx2.HTTPError: The connection broke.
    """
    if response.headers.get("content-type", "").lower().startswith("text/html"):
        raise NotAModel
    pieces = response.aiter_bytes()
    first = await anext(pieces, b"")
    # The content type is often wrong, but the first byte never is.
    start = first.lstrip(b" \t\r\n\xef\xbb\xbf")[:1]
    if start == b"<":
        raise NotAModel
    if start in (b"{", b"["):
        yield json.loads(await _read_whole(first, pieces))
        yield DONE
        return
    lines = _Lines(on_comment)
    for data in lines.feed(first):
        yield _parse_value(data)
    async for piece in pieces:
        for data in lines.feed(piece):
            yield _parse_value(data)
    for data in lines.feed(b"\n\n"):
        yield _parse_value(data)


async def _read_whole(first: bytes, pieces: AsyncIterator[bytes]) -> str:
    body = bytearray(first)
    async for piece in pieces:
        body += piece
        if len(body) > MAX_EVENT_BYTES:
            raise ValueError("the answer is too long")
    return body.decode("utf-8-sig")


def _parse_value(data: str) -> object:
    return DONE if data.startswith("[DONE]") else json.loads(data)


class _Lines:
    """Splits the bytes of an event stream into the data of its events."""

    def __init__(self, on_comment: Callable[[], None]) -> None:
        self._on_comment = on_comment
        self._buffer = bytearray()
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[str]:
        start = max(0, len(self._buffer) - 1)
        self._buffer += piece
        if len(self._buffer) > MAX_EVENT_BYTES:
            raise ValueError("an event of the stream is too long")
        # Search only the new bytes. A carriage return at the end may be half of a line break.
        if (self._buffer.find(b"\n", start) < 0 and self._buffer.find(b"\r", start) < 0) or piece.endswith(b"\r"):
            return []
        complete = self._buffer.endswith(b"\n")
        lines = self._buffer.splitlines()
        self._buffer = bytearray() if complete else bytearray(lines.pop())
        events: list[str] = []
        for line in lines:
            if line.startswith(b":"):
                self._on_comment()
            elif line.startswith(b"data:"):
                self._data.append(bytes(line[5:].removeprefix(b" ")))
                self._size += len(line)
                if self._size > MAX_EVENT_BYTES:
                    raise ValueError("an event of the stream is too long")
            elif not line and self._data:
                events.append(b"\n".join(self._data).decode())
                self._data, self._size = [], 0
        return events
