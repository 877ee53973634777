"""/mcp of `mneme run`: memory for programs with a token, over streamable HTTP."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import HttpUrl
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from bot.kernel import App
from bot.mcp_server.server import create_memory_server, find_served_owner
from bot.mcp_server.tools import MemoryTools
from bot.web import build_host_header
from bot.web.limits import admit, allow_body
from bot.web.server import HOST

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

PATH = "/mcp"
MAX_REQUEST_BYTES = 1_000_000
"""Maximum size of a request. An entry of 20,000 characters takes a tenth of it."""


class BearerToken:
    """ASGI middleware that answers requests without the token with 401, without reading them."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._has_token(Headers(scope=scope)):
            if admit(scope, None):
                allow_body(scope, MAX_REQUEST_BYTES)
                await self._app(scope, receive, send)
            else:
                await JSONResponse({"error": "too many requests at a time"}, 503)(scope, receive, send)
            return
        body = {"error": "invalid_token", "error_description": "Show MCP_TOKEN as `Authorization: Bearer ...`."}
        await JSONResponse(body, 401, {"WWW-Authenticate": "Bearer"})(scope, receive, send)

    def _has_token(self, headers: Headers) -> bool:
        scheme, _space, token = headers.get("authorization", "").partition(" ")
        # As bytes, since compare_digest accepts only ASCII text
        return scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self._token)


def build_mcp_app(server: Server[Any], token: str, url: HttpUrl | None, others: Sequence[BaseRoute] = ()) -> Starlette:
    """Create the MCP application.

    Each request is independent of others, in the protocol of 2026-07-28 and earlier ones, so nothing is stored
    between them.

    Args:
        url: the public address, if there is a reverse proxy.
        others: further routes to serve.
    """
    manager = StreamableHTTPSessionManager(
        server,
        json_response=True,
        stateless=True,
        security_settings=_security_settings(url),
        max_request_body_size=MAX_REQUEST_BYTES,
    )
    # The server sends nothing unrequested, so listening (GET) and ending a session (DELETE) get 405
    guarded = BearerToken(manager.handle_request, token)
    return Starlette(routes=[Route(PATH, guarded, methods=["POST"]), *others], lifespan=lambda _: manager.run())


def create_mcp_app(app: App, token: str, others: Sequence[BaseRoute]) -> Starlette:
    settings = app.settings

    async def owner_of() -> str:
        return await find_served_owner(settings, app.memory)

    server = create_memory_server(MemoryTools(app.memory, app.checker), owner_of)
    return build_mcp_app(server, token, settings.web_url, others)


def _security_settings(url: HttpUrl | None) -> TransportSecuritySettings:
    """Accept only requests that name this machine or the public address."""
    # Other web pages can point their domain at 127.0.0.1, and the browser would allow it
    local_hosts = [f"{name}:*" for name in (HOST, "localhost", "[::1]")]
    hosts, origins = [*local_hosts], [f"http://{name}" for name in local_hosts]
    if url is not None:
        hosts.append(build_host_header(url))
        origins.append(f"{url.scheme}://{build_host_header(url)}")
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)
