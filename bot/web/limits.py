"""Limits of the web server against abuse: size and duration of requests, and number of connections.

They apply to every route, because `serve_web` wraps the whole application. A handler that has checked a pass calls
`admit` for its connection and `allow_body` for a longer body.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import time
from collections.abc import Callable
from typing import Any

import h11
import structlog
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

log = structlog.get_logger(__name__)

MAX_BODY_BYTES = 16_384
"""Maximum size of a request's body, unless its handler allows more."""
HEADER_SECONDS = 10.0
"""Timeout for the headers of a request, from the connection or the end of the previous response."""
BODY_SECONDS = 20.0
MIN_BODY_BYTES_PER_SECOND = 16_384
"""A body may take BODY_SECONDS, and longer as long as it arrives at this rate."""
SEND_SECONDS = 30.0
"""Timeout for a client to read the next part of a response."""
CLOSE_SECONDS = 2.0
"""Timeout for a client to read the response before its connection is reset."""
MAX_UNREAD_BYTES = 1_000_000
MAX_READ_BYTES = 32_768
MAX_CONNECTIONS = 128
MAX_DESCRIPTORS_SHARE = 1 / 8
"""Maximum share of the process's file descriptors for the connections of one server."""
BACKLOG = 32
"""Maximum number of connections that the event loop accepts before the limit is applied to them."""
MAX_ADMITTED_SHARE = 3 / 4
"""Maximum share of connections with a pass. The rest is for new connections."""
MAX_CONNECTIONS_PER_PASS = 16
LOG_SECONDS = 60.0


def compute_max_connections() -> int:
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(4, min(MAX_CONNECTIONS, int(soft * MAX_DESCRIPTORS_SHARE)))


def admit(scope: Scope, holder: str | None) -> bool:
    """Protect the request's connection from being closed in favour of new ones. Return False if there are too many.

    Args:
        holder: the owner of the pass, who gets MAX_CONNECTIONS_PER_PASS connections. None for a secret from the bot's
            settings.
    """
    connection: LimitedProtocol | None = scope["state"].get("connection")
    return connection is None or connection.table.admit(connection, holder)


def allow_body(scope: Scope, max_bytes: int) -> None:
    scope["state"]["limits"].max_bytes = max_bytes


class RequestLimits:
    """ASGI middleware that limits the size of each request's body, and the time of its arrival and its response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await _LimitedRequest(scope, receive, send).run(self._app)
        else:
            await self._app(scope, receive, send)


class _LimitedRequest:
    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.max_bytes = MAX_BODY_BYTES
        self._scope = scope
        self._receive = receive
        self._send = send
        headers = Headers(scope=scope)
        self._declared = int(headers.get("content-length", "0"))  # Only digits, since h11 checks it
        self._is_whole = not self._declared and "transfer-encoding" not in headers
        self._received = 0
        self._waited = 0.0
        self._is_started = False
        self._is_refused = False

    async def run(self, app: ASGIApp) -> None:
        self._scope.setdefault("state", {})["limits"] = self
        try:
            await app(self._scope, self.receive, self.send)
        except ClientDisconnect:
            pass
        except Exception:
            # The client has its response. The handler failed because it lost the body
            if not self._is_refused:
                raise

    async def receive(self) -> Message:
        if self._is_refused:
            return {"type": "http.disconnect"}
        if self._is_whole:
            return await self._receive()
        if self._declared > self.max_bytes:
            return await self._refuse(413, "That is too long.\n")
        loop = asyncio.get_running_loop()
        seconds_left = BODY_SECONDS + self._received / MIN_BODY_BYTES_PER_SECOND - self._waited
        started = loop.time()
        try:
            async with asyncio.timeout(seconds_left):
                message = await self._receive()
        except TimeoutError:
            return await self._refuse(408, "That took too long.\n")
        self._waited += loop.time() - started
        if message["type"] != "http.request":
            return message
        self._received += len(message.get("body", b""))
        if self._received > self.max_bytes:
            return await self._refuse(413, "That is too long.\n")
        self._is_whole = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        if self._is_refused:
            return
        if message["type"] == "http.response.start":
            self._is_started = True
            if not self._is_whole:
                # Otherwise the rest of the body would be read to its end
                message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await self._send(message)
        except TimeoutError as error:
            self._is_refused = True
            connection: LimitedProtocol | None = self._scope["state"].get("connection")
            if connection is not None:
                connection.transport.abort()
            raise ClientDisconnect from error

    async def _refuse(self, status: int, sentence: str) -> Message:
        """Respond at once and close the connection. For the handler the client has disconnected."""
        if not self._is_started:
            response = PlainTextResponse(sentence, status)
            await response(self._scope, self._receive, self.send)
        self._is_refused = True
        return {"type": "http.disconnect"}


class Connections:
    """The open connections of one server.

    If there are too many, the oldest one without a pass is closed. So members can connect regardless of how many
    connections strangers keep open.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._strangers: dict[LimitedProtocol, None] = {}
        self._admitted: dict[LimitedProtocol, str | None] = {}
        self._closed = 0
        self._logged_at: float | None = None

    def add(self, connection: LimitedProtocol) -> None:
        self._strangers[connection] = None
        if len(self._strangers) + len(self._admitted) > self._most:
            self._log_closed()
            oldest = next(iter(self._strangers))
            self.remove(oldest)
            oldest.transport.abort()

    def admit(self, connection: LimitedProtocol, holder: str | None) -> bool:
        """Mark a connection as having a pass. Return False if there are too many of them."""
        held = sum(1 for other in self._admitted.values() if other == holder)
        is_full = len(self._admitted) >= self._most * MAX_ADMITTED_SHARE
        if is_full or (holder is not None and held >= MAX_CONNECTIONS_PER_PASS):
            return False
        if self._strangers.pop(connection, 0) is None:
            self._admitted[connection] = holder
        return True

    def release(self, connection: LimitedProtocol) -> None:
        """Remove the mark of a connection after its request was answered."""
        if connection in self._admitted:
            del self._admitted[connection]
            self._strangers[connection] = None

    def _log_closed(self) -> None:
        """Log closed connections, at most once in LOG_SECONDS, so that strangers can't fill the log."""
        self._closed += 1
        now = time.monotonic()
        if self._logged_at is None or now - self._logged_at >= LOG_SECONDS:
            log.warning("web_connections_full", most=self._most, closed=self._closed)
            self._closed, self._logged_at = 0, now

    def remove(self, connection: LimitedProtocol) -> None:
        self._strangers.pop(connection, None)
        self._admitted.pop(connection, None)


class LimitedProtocol(H11Protocol):
    """Uvicorn's HTTP/1.1 protocol with limits for connections, the time of headers, and the time of closing."""

    transport: _ClosingTransport  # type: ignore[assignment]  # It has all the methods that uvicorn uses

    def __init__(
        self,
        table: Connections,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        # Uvicorn copies this state into the scope of each request
        super().__init__(config, server_state, {**app_state, "connection": self}, _loop)
        self.table = table
        self._header_timer: asyncio.TimerHandle | None = None
        self._discarded = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # As in uvicorn
        super().connection_made(_ClosingTransport(transport, self.loop, self._is_sending))  # type: ignore[arg-type]
        # Uvicorn parses all read bytes at once, and 256 KiB in tiny chunks take half a second
        transport.max_size = MAX_READ_BYTES  # type: ignore[attr-defined]  # Attribute of asyncio's socket transport
        self.table.add(self)
        self._watch_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self.table.remove(self)
        self._stop_header_timer()
        self.transport.lost()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            self._discarded += len(data)
            if self._discarded > MAX_UNREAD_BYTES:
                self.transport.abort()
            return
        super().data_received(data)
        self._watch_headers()

    def on_response_complete(self) -> None:
        self.table.release(self)
        super().on_response_complete()
        self._watch_headers()

    def shutdown(self) -> None:
        if self._is_sending():
            self.transport.abort()  # Shutdown doesn't wait for the rest of a request
        else:
            super().shutdown()

    def send_400_response(self, msg: str) -> None:
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            # The handler's own response can't follow this one
            cycle.disconnected = True
            cycle.message_event.set()
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:
            self.transport.close()

    def _watch_headers(self) -> None:
        """Run the timer only while the headers of the next request are awaited."""
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            self._stop_header_timer()
        elif self._header_timer is None:
            self._header_timer = self.loop.call_later(HEADER_SECONDS, self.transport.abort)

    def _stop_header_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _is_sending(self) -> bool:
        """Return True if the client may still be sending a request, which is not read to its end."""
        return self.conn.their_state in (h11.SEND_BODY, h11.ERROR)


class _ClosingTransport:
    """A transport that closes within CLOSE_SECONDS, and lets the client read the response before that.

    Closing a socket with unread data resets the connection, and the response is lost.
    """

    def __init__(
        self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, is_sending: Callable[[], bool]
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._is_sending = is_sending
        self._timer: asyncio.TimerHandle | None = None

    def close(self) -> None:
        if self.is_closing():
            return
        self._timer = self._loop.call_later(CLOSE_SECONDS, self._transport.abort)
        if self._is_sending():
            with contextlib.suppress(OSError, RuntimeError):
                self._transport.write_eof()
                self._transport.resume_reading()
        else:
            self._transport.close()

    def lost(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def is_closing(self) -> bool:
        return self._timer is not None or self._transport.is_closing()

    def write(self, data: bytes) -> None:
        if not self.is_closing():
            self._transport.write(data)

    def abort(self) -> None:
        self._transport.abort()

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)
