"""The connection to one server. A single task opens, keeps and closes it, and reconnects when it is lost.

The library's cancel scopes belong to the task that enters them. The library stops the server's process properly only if
a scope is cancelled, not if the task is. So only that task opens and closes connections.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from enum import Enum, auto
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, TextIO

import anyio
import structlog

from bot.features.mcp_tools.bounds import MAX_MESSAGE_BYTES, ByteLimiter
from bot.features.mcp_tools.config import HttpServer, ServerConfig, StdioServer, Trouble
from bot.features.mcp_tools.listing import drop_unreadable_tools, is_bounded
from bot.features.mcp_tools.logins import find_login_file
from bot.features.mcp_tools.renewal import LoginRenewer
from config.process import get_program_version
from config.texts import N_
from config.waiting import Backoff
from memory.clock import Clock, system_clock

if TYPE_CHECKING:
    import httpx2
    from mcp import Client
    from mcp.client._transport import TransportStreams
    from mcp.types import CallToolResult, Tool

log = structlog.get_logger(__name__)

START_SECONDS = 90.0
"""How long a server may take until it has listed its tools. npx and uvx may download it first."""
ANSWER_SECONDS = 20.0
"""Timeout for a request to an HTTP server other than a tool call."""
LIVENESS_SECONDS = 10.0
"""After a call has timed out, the server must answer a request within this time, or it is restarted."""
CALL_SECONDS = 60.0
MIN_STABLE_SECONDS = 60.0
"""A connection that lasted this long resets the backoff between attempts."""
MAX_PAUSE_SECONDS = 300.0
MAX_TOOLS = 1_000
"""Stop listing tools after this many, since a server may never end its list."""

STARTING = N_("It is starting.")
NOT_INSTALLED = N_("Its program {program} is not installed, or can't be run.")
NO_PACKAGE = N_("The package mcp is missing: run `make mcp`, or `pip install mcp`.")
ENDED = N_("Its program has stopped: `mneme mcp test {name}` shows its messages.")
SILENT = N_("It didn't answer within {seconds} seconds.")
REFUSES = N_("{host} returned error {status}: check its url and headers.")
UNREACHABLE = N_("{host} can't be reached.")
REFUSES_SOMEWHERE = N_("It returned error {status}.")
UNREACHABLE_SOMEWHERE = N_("It can't be reached.")
TOO_MUCH = N_("It sends more than {n} MB in one answer, or without a pause.")
FAILED = N_("It doesn't answer like an MCP server ({error}).")


class CallFailed(Exception):
    """Raised if a call fails. The text tells the model why."""


class _Signal(Enum):
    """An event for the task of a connection."""

    LOST = auto()
    UNANSWERED = auto()
    TOOLS_CHANGED = auto()


class _ConnectionLost(Exception):
    """Raised if the server has closed the connection."""


class ServerConnection:
    """The connection to one server.

    Args:
        on_tools: Called when the tools of the server have changed.
        errors: Receives the standard error of the server's program. None discards it.
        data_directory: Contains the logins. Without it, no login is used.

    Attributes:
        login: The login at the server, or None if it can't have one.
        trouble: The reason why the server's tools can't be used now, or None.
        tried: Set after the first attempt to connect, successful or not.
    """

    def __init__(
        self,
        config: ServerConfig,
        on_tools: Callable[[], None],
        errors: TextIO | None = None,
        data_directory: Path | None = None,
        clock: Clock = system_clock,
    ) -> None:
        self.config = config
        self.tools: tuple[Tool, ...] = ()
        self.trouble: Trouble | None = Trouble(STARTING)
        self.tried = asyncio.Event()
        self._pauses = Backoff(MAX_PAUSE_SECONDS)
        self._on_tools = on_tools
        self._errors = errors
        self._client: Client | None = None
        self._signals: asyncio.Queue[_Signal] = asyncio.Queue()
        self._status: int | None = None
        self._is_too_much = False
        self._life: anyio.CancelScope | None = None
        self._task: asyncio.Task[None] | None = None
        file = find_login_file(data_directory, config) if data_directory is not None else None
        self.login = LoginRenewer(config.name, file, clock, self._report_lost) if file is not None else None

    def start(self) -> None:
        self._task = asyncio.create_task(self._stay_connected(), name=f"mcp {self.config.name}")

    async def close(self) -> None:
        if self._life is not None:
            self._life.cancel()
        elif self._task is not None:  # The task has not started yet.
            self._task.cancel()
        if self._task is not None:
            await asyncio.wait([self._task])
        if self.login is not None:
            await self.login.close()

    async def call(self, tool: str, arguments: Mapping[str, object]) -> CallToolResult:
        """Call a tool. The result may be an error that the tool reports. Raises CallFailed for other errors."""
        client, name = self._client, self.config.name
        if client is None:
            raise CallFailed(self._explain_login() or f"the server {name} is off now: go on without it, and say so")
        from mcp.shared.exceptions import MCPError
        from mcp.types import CONNECTION_CLOSED, CallToolResult, TextContent

        try:
            async with asyncio.timeout(CALL_SECONDS):
                return await client.call_tool(tool, dict(arguments), read_timeout_seconds=CALL_SECONDS)
        except TimeoutError:
            self._signals.put_nowait(_Signal.UNANSWERED)
            raise CallFailed(f"{tool} of {name} did not answer within {CALL_SECONDS:g} seconds") from None
        except MCPError as error:
            if (reason := self._explain_login()) is not None:
                raise CallFailed(reason) from None
            if error.code == CONNECTION_CLOSED or self._client is not client:
                raise CallFailed(
                    f"the server {name} ended before it answered; whether it has done anything is not known"
                ) from None
            return CallToolResult(content=[TextContent(text=error.message)], is_error=True)
        except Exception as error:
            # For example, the answer may not match the server's own schema.
            log.warning("mcp_call_failed", server=name, error=type(error).__name__)
            raise CallFailed(f"{name} gave an answer that can't be used ({type(error).__name__})") from error

    def _explain_login(self) -> str | None:
        """Return the reason for the model if the server rejects the connection because of its login."""
        if self.login is None or self.login.trouble is None:
            return None
        if self.login.needs_login:
            command = f"`mneme mcp login {self.config.name}`"
            return f"the owner of the bot must run {command} on its machine: go on without this tool, and say so"
        return f"the login at {self.config.name} does not work now: go on without it, and say so"

    async def _stay_connected(self) -> None:
        with anyio.CancelScope() as self._life:
            while True:
                self.trouble = await self._connect()
                self.tools = ()
                self._on_tools()
                self.tried.set()
                log.warning("mcp_server_off", server=self.config.name, reason=self.trouble.text)
                await self._pause()

    async def _pause(self) -> None:
        """Wait before the next attempt to connect. A new login ends the pause."""
        if self.login is None:
            await self._pauses.wait()
        elif await self.login.wait_for_change(self._pauses.next()):
            self._pauses.reset()

    async def _connect(self) -> Trouble:
        """Connect and serve until the connection is lost. Return the reason."""
        self._status = None
        self._is_too_much = False
        self._signals = asyncio.Queue()  # A signal of the former connection must not end this one
        if self.login is not None:
            self.login.begin()
        try:
            with anyio.CancelScope(deadline=anyio.current_time() + START_SECONDS) as opening:
                await self._serve(opening)
        except ImportError:
            return Trouble(NO_PACKAGE)
        except Exception as error:
            log.debug("mcp_connection_failed", server=self.config.name, exc_info=True)
            return self._explain(error)
        return Trouble(SILENT, {"seconds": f"{START_SECONDS:g}"})

    @property
    def _start_seconds(self) -> float:
        """Return how long the server may take to answer. A program may first be downloaded."""
        return START_SECONDS if isinstance(self.config.transport, StdioServer) else ANSWER_SECONDS

    async def _serve(self, opening: anyio.CancelScope) -> None:
        from mcp import Client
        from mcp.types import Implementation, ToolListChangedNotification

        async def on_message(message: object) -> None:
            if isinstance(message, ToolListChangedNotification):
                self._signals.put_nowait(_Signal.TOOLS_CHANGED)

        # Discard signals of the previous connection.
        self._signals = asyncio.Queue()
        client = Client(
            _watch(self._open_transport(), self._report_lost),
            client_info=Implementation(name="mneme", version=get_program_version()),
            message_handler=on_message,
            read_timeout_seconds=self._start_seconds,
            cache=None,
        )
        async with client:
            await self._list_tools(client)
            # The server is ready, so remove the deadline.
            opening.deadline = math.inf
            self._client, self.trouble = client, None
            since = anyio.current_time()
            self.tried.set()
            log.info("mcp_server_on", server=self.config.name, tools=len(self.tools))
            try:
                while True:
                    signal = await self._signals.get()
                    if signal is _Signal.LOST:
                        raise _ConnectionLost
                    # After an unanswered call, this also checks that the server is alive.
                    with anyio.fail_after(LIVENESS_SECONDS):
                        await self._list_tools(client)
            finally:
                self._client = None
                if anyio.current_time() - since > MIN_STABLE_SECONDS:
                    self._pauses.reset()

    async def _list_tools(self, client: Client) -> None:
        tools: list[Tool] = []
        cursor: str | None = None
        while len(tools) < MAX_TOOLS:
            page = await client.list_tools(cursor=cursor)
            tools += filter(is_bounded, page.tools)
            cursor = page.next_cursor
            if cursor is None:
                break
        self.tools = tuple(tools[:MAX_TOOLS])
        self._on_tools()

    @contextlib.asynccontextmanager
    async def _open_transport(self) -> AsyncIterator[TransportStreams]:
        limiter = ByteLimiter(self._end_too_much)
        match self.config.transport:
            case StdioServer() as program:
                from bot.features.mcp_tools.stdio import program_streams

                with _open_null_device() if self._errors is None else contextlib.nullcontext(self._errors) as errors:
                    async with program_streams(program, errors, limiter) as streams:
                        yield streams
            case HttpServer(sse=True) as server:
                from mcp.client.sse import sse_client

                client = partial(self._create_http_client, limiter)
                async with sse_client(server.url, dict(server.headers), httpx_client_factory=client) as streams:
                    yield streams
            case HttpServer() as server:
                import httpx2
                from mcp.client.streamable_http import streamable_http_client

                timeout = httpx2.Timeout(ANSWER_SECONDS, read=CALL_SECONDS + ANSWER_SECONDS)
                async with (
                    self._create_http_client(limiter, server.headers, timeout) as http,
                    streamable_http_client(server.url, http_client=http) as streams,
                ):
                    yield streams

    def _create_http_client(
        self,
        limiter: ByteLimiter,
        headers: Mapping[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        from bot.features.mcp_tools.http import TokenAuth, create_client

        login = TokenAuth(self.login) if self.login is not None else auth
        return create_client(limiter, self._record_status, headers, timeout, login)

    def _record_status(self, status: int) -> None:
        self._status = status

    def _end_too_much(self) -> None:
        self._is_too_much = True
        self._report_lost()

    def _report_lost(self) -> None:
        self._signals.put_nowait(_Signal.LOST)

    def _explain(self, error: BaseException) -> Trouble:
        """Return the reason why the connection failed, without any text from the server."""
        if self._is_too_much:
            return Trouble(TOO_MUCH, {"n": MAX_MESSAGE_BYTES // 1024**2})
        if self.login is not None and self.login.trouble is not None:
            return self.login.trouble
        # The library's task groups wrap the original error.
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        transport = self.config.transport
        if isinstance(transport, HttpServer):
            if (trouble := self._explain_http(error, transport.host)) is not None:
                return trouble
        elif isinstance(error, OSError | ValueError) and self._client is None:
            return Trouble(NOT_INSTALLED, {"program": PurePath(transport.command).name})
        elif isinstance(error, _ConnectionLost) or _is_closed(error):
            return Trouble(ENDED, {"name": self.config.name})
        if _is_timeout(error):
            return Trouble(
                SILENT, {"seconds": f"{LIVENESS_SECONDS if isinstance(error, TimeoutError) else self._start_seconds:g}"}
            )
        return Trouble(FAILED, {"error": type(error).__name__})

    def _explain_http(self, error: BaseException, host: str) -> Trouble | None:
        import httpx2

        if isinstance(error, httpx2.HTTPStatusError):
            self._status = error.response.status_code
        if self._status is not None and self._status >= 400:
            return Trouble(REFUSES, {"host": host, "status": self._status}, otherwise=REFUSES_SOMEWHERE)
        if isinstance(error, httpx2.TransportError | _ConnectionLost):
            return Trouble(UNREACHABLE, {"host": host}, otherwise=UNREACHABLE_SOMEWHERE)
        return None


@contextlib.asynccontextmanager
async def _watch(
    transport: AbstractAsyncContextManager[TransportStreams], lost: Callable[[], None]
) -> AsyncIterator[TransportStreams]:
    """Wrap a transport to report when the server closes it, which the library doesn't report before the next call."""
    async with transport as (incoming, outgoing):
        from mcp.shared.message import SessionMessage

        passed_on, messages = anyio.create_memory_object_stream[SessionMessage | Exception]()

        async def pass_on() -> None:
            with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                async with passed_on, incoming:
                    async for message in incoming:
                        drop_unreadable_tools(message)
                        await passed_on.send(message)
            lost()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pass_on)
            yield messages, outgoing
            tasks.cancel_scope.cancel()


def _is_closed(error: BaseException) -> bool:
    from mcp.shared.exceptions import MCPError
    from mcp.types import CONNECTION_CLOSED

    return isinstance(error, MCPError) and error.code == CONNECTION_CLOSED


def _is_timeout(error: BaseException) -> bool:
    from mcp.shared.exceptions import MCPError
    from mcp.types import REQUEST_TIMEOUT

    return isinstance(error, TimeoutError) or (isinstance(error, MCPError) and error.code == REQUEST_TIMEOUT)


def _open_null_device() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123  # The caller closes it.
