"""A small HTTP/1.1 server on 127.0.0.1 that can stall and drop connections."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from email.utils import formatdate

import h11

_CHUNK = 65536


@dataclass(frozen=True, slots=True)
class Request:
    """A complete request."""

    target: str
    content_type: str
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()
    method: str = "GET"

    def header(self, name: str) -> str:
        """Return a header by its lower-case name, or an empty text."""
        return dict(self.headers).get(name.encode(), b"").decode()


@dataclass(frozen=True, slots=True)
class Answer:
    """A response."""

    status: int
    body: bytes
    content_type: str = "application/json"
    retry_after: int | None = None
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Streamed:
    """A streamed response. A piece that is None cuts the connection."""

    pieces: AsyncIterator[bytes | None]
    content_type: str = "text/event-stream"


async def drip() -> AsyncIterator[bytes | None]:
    """Yield a space again and again, so that no timeout between two pieces applies."""
    while True:
        yield b" "
        await asyncio.sleep(0.01)


class WebServer:
    """Serves `handle` on a free port. If `handle` returns None, the connection is cut without a response.

    Attributes:
        ahead: Seconds by which the server's clock is ahead of this machine's clock.
        crashes: Exceptions that `handle` raised.
    """

    def __init__(self, handle: Callable[[Request], Awaitable[Answer | Streamed | None]]) -> None:
        self._handle = handle
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.port = 0
        self.ahead = 0.0
        self.crashes: list[BaseException] = []

    async def start(self) -> None:
        """Listen. After a stop, use the same port."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop listening and cut all connections."""
        if self._server is None:
            return
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()
        self._server = None

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.current_task()
        assert connection is not None
        self._connections.add(connection)
        try:
            # a client may vanish at any point, and may say things that are not HTTP
            with contextlib.suppress(ConnectionError, h11.RemoteProtocolError):
                await self._converse(reader, writer)
        except asyncio.CancelledError:
            # stop() cut the connection; nothing awaits this task's cancellation
            writer.transport.abort()
        finally:
            self._connections.discard(connection)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        parser = h11.Connection(h11.SERVER)
        while (request := await _read_request(parser, reader)) is not None:
            answer = await self._answer(request, parser, reader)
            if isinstance(answer, Streamed):
                answer = await self._stream(answer, parser, reader, writer)
            if answer is None:
                writer.transport.abort()
                return
            if isinstance(answer, Answer):
                writer.write(_encode(parser, answer, time.time() + self.ahead))
            await writer.drain()
            if parser.our_state is not h11.DONE:
                return
            parser.start_next_cycle()

    async def _answer(
        self, request: Request, parser: h11.Connection, reader: asyncio.StreamReader
    ) -> Answer | Streamed | None:
        """Return the handler's response, or None if the handler returned None or the client disconnected."""
        return await self._while_client_stays(self._handle(request), parser, reader)

    async def _stream(
        self, answer: Streamed, parser: h11.Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Answer | Streamed | None:
        """Send a streamed response. Return it when complete, or None to cut the connection."""

        async def send() -> Streamed | None:
            head = h11.Response(status_code=200, headers=[("Content-Type", answer.content_type)])
            writer.write(parser.send(head) or b"")
            async for piece in answer.pieces:
                if piece is None:
                    return None
                writer.write(parser.send(h11.Data(data=piece)) or b"")
                await writer.drain()
            writer.write(parser.send(h11.EndOfMessage()) or b"")
            return answer

        return await self._while_client_stays(send(), parser, reader)

    async def _while_client_stays(
        self, doing: Awaitable[Answer | Streamed | None], parser: h11.Connection, reader: asyncio.StreamReader
    ) -> Answer | Streamed | None:
        work = asyncio.ensure_future(doing)
        listening: asyncio.Task[bytes] | None = None
        try:
            while not work.done():
                listening = asyncio.create_task(reader.read(_CHUNK))
                await asyncio.wait({work, listening}, return_when=asyncio.FIRST_COMPLETED)
                if listening.done():
                    data = listening.result()
                    if not data:
                        break
                    parser.receive_data(data)
        finally:
            for task in (work, listening):
                if task is not None and not task.done():
                    task.cancel()
            await asyncio.wait({task for task in (work, listening) if task is not None})
        if work.cancelled() or isinstance(work.exception(), ConnectionError):  # The client disconnected.
            return None
        if crash := work.exception():
            # kept, so that a defect of the server under the tests cannot pass for Telegram's behaviour
            self.crashes.append(crash)
            return Answer(500, repr(crash).encode(), content_type="text/plain")
        return work.result()


async def _read_request(parser: h11.Connection, reader: asyncio.StreamReader) -> Request | None:
    """Read the next request, or return None if the client closed the connection."""
    head: h11.Request | None = None
    body = bytearray()
    while True:
        event = parser.next_event()
        if event is h11.NEED_DATA:
            parser.receive_data(await reader.read(_CHUNK))
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            headers = tuple(head.headers)
            content_type = dict(headers).get(b"content-type", b"").decode()
            return Request(head.target.decode(), content_type, bytes(body), headers, head.method.decode())
        else:
            return None


def _encode(parser: h11.Connection, answer: Answer, now: float) -> bytes:
    headers = [
        ("Content-Type", answer.content_type),
        ("Content-Length", str(len(answer.body))),
        ("Date", formatdate(now, usegmt=True)),
    ]
    headers += answer.headers
    if answer.retry_after is not None:
        headers.append(("Retry-After", str(answer.retry_after)))
    response = h11.Response(status_code=answer.status, headers=headers)
    parts = (parser.send(response), parser.send(h11.Data(data=answer.body)), parser.send(h11.EndOfMessage()))
    return b"".join(part for part in parts if part)
