"""Limits for the bodies of HTTP responses before the MCP library reads them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import httpx2

from bot.features.mcp_tools.bounds import ByteLimiter, create_message_json
from config.json_stream import TooComplex
from memory.text.validity import JsonRepair

_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_EVENT_END_BYTES = 4


class BoundedStream(httpx2.AsyncByteStream):
    """A response body that repairs invalid JSON and limits the size of each message: a document or an event."""

    def __init__(self, response: httpx2.Response, limiter: ByteLimiter) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101  # The client is asynchronous.
        self._stream = response.stream
        self._limiter = limiter
        self._is_events = response.headers.get("content-type", "").lower().startswith("text/event-stream")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        repair, json, size, end = JsonRepair(), create_message_json(), 0, b""
        async for chunk in self._stream:
            valid = repair.repair(chunk)
            first, *further = _EVENT_END.split(end + valid) if self._is_events else [end + valid]
            self._limiter.add(len(chunk), max(size + len(first), *map(len, further), 0) - len(end))
            try:
                json.check(first[len(end) :])
                for piece in further:
                    json = create_message_json()
                    json.check(piece)
            except TooComplex:
                self._limiter.give_up()
            size = len(further[-1]) if further else size + len(valid)
            end = valid[1 - _EVENT_END_BYTES :] if self._is_events else b""
            yield valid
        yield repair.finish()

    async def aclose(self) -> None:
        await self._stream.aclose()
