"""/mcp of `mneme run`: memory for programs that show a token, by streamable HTTP on 127.0.0.1.

It is served in the bot's own loop, beside and apart from the small server of bot/web/, which runs in threads so that it
answers where this loop does not.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import socket
from typing import TYPE_CHECKING, Any

import structlog
import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.routing import Route

from bot.mcp_server.owner import served_owner
from bot.mcp_server.server import memory_server
from bot.mcp_server.tools import MemoryTools
from config.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from mcp.server.lowlevel.server import Server
    from pydantic import HttpUrl
    from starlette.types import ASGIApp, Receive, Scope, Send

    from bot.app import App

log = structlog.get_logger(__name__)

PATH = "/mcp"
HOST = "127.0.0.1"
MOST_BYTES = 1_000_000
"""How long a request may be: an entry of 20,000 characters takes a tenth."""
CONNECTIONS = 64
"""Connections at a time; who comes when there are so many is told to come again."""
CLOSING_SECONDS = 3
"""How long requests that run when the bot is stopped may take to end."""


class BearerToken:
    """Lets requests through that show the token; all others are answered 401, and nothing of them is read."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or self._is_shown(Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        body = {"error": "invalid_token", "error_description": "Show MCP_TOKEN as `Authorization: Bearer ...`."}
        await JSONResponse(body, 401, {"WWW-Authenticate": "Bearer"})(scope, receive, send)

    def _is_shown(self, headers: Headers) -> bool:
        scheme, _space, token = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self._token)


def mcp_app(server: Server[Any], token: str, url: HttpUrl | None) -> Starlette:
    """What is served. url: the address outside, where a web server in front passes it on.

    Each request stands for itself, in the protocol of 2026-07-28 and those before, so nothing is held between them.
    """
    manager = StreamableHTTPSessionManager(
        server,
        json_response=True,
        stateless=True,
        security_settings=_only_from(url),
        max_request_body_size=MOST_BYTES,
    )
    # nothing is sent that was not asked for: who would listen (GET), or end a session (DELETE), is told 405
    guarded = BearerToken(manager.handle_request, token)
    return Starlette(routes=[Route(PATH, guarded, methods=["POST"])], lifespan=lambda _: manager.run())


@contextlib.asynccontextmanager
async def mcp_served(app: App, token: str) -> AsyncIterator[None]:
    """Serve the App's memory for as long as the context is open. Raises ConfigurationError for a port that is taken."""
    settings = app.settings

    async def owner_of() -> str:
        return await served_owner(settings, app.memory)

    server = memory_server(MemoryTools(app.memory, app.checker), owner_of)
    with contextlib.closing(_listening(settings.web_port)) as listening:
        config = uvicorn.Config(
            mcp_app(server, token, settings.web_url),
            http="h11",
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=CONNECTIONS,
            timeout_graceful_shutdown=CLOSING_SECONDS,
        )
        web = _Server(config)
        serving = asyncio.create_task(web.serve([listening]), name="mcp")
        log.info("mcp_served", url=f"http://{HOST}:{settings.web_port}{PATH}")
        try:
            yield
        finally:
            web.should_exit = True
            await serving


class _Server(uvicorn.Server):
    """Leaves the signals to the bot, which ends it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing."""
        yield


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise ConfigurationError(f"WEB_PORT {port} can't be used ({error.strerror}): choose another.") from error


def _only_from(url: HttpUrl | None) -> TransportSecuritySettings:
    """Requests are taken that name this machine or the address outside: a web page that points a name of its own at
    127.0.0.1 is refused."""
    hosts, origins = [f"{name}:*" for name in (HOST, "localhost", "[::1]")], []
    if url is not None:
        host = f"{url.host}" if url.port in (80, 443) else f"{url.host}:{url.port}"
        hosts.append(host)
        origins.append(f"{url.scheme}://{host}")
    origins += [f"http://{host}" for host in hosts[:3]]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)
