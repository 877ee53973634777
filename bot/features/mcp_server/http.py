"""/mcp of `mneme run`: memory for programs with a token, over streamable HTTP."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import HttpUrl
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from bot.features.mcp_server.server import create_memory_server, find_served_owner
from bot.features.mcp_server.tools import MemoryTools
from bot.kernel import App
from bot.web import WebPart, build_host_header
from bot.web.limits import admit, allow_body
from bot.web.server import HOST

if TYPE_CHECKING:
    pass

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


def create_mcp_part(app: App, token: str) -> WebPart:
    """Return the route of the MCP server, for requests with the token.

    Each request is independent of others, in the protocol of 2026-07-28 and earlier ones, so nothing is stored
    between them.
    """
    settings = app.settings

    async def find_owner() -> str:
        return await find_served_owner(settings, app.memory)

    manager = StreamableHTTPSessionManager(
        create_memory_server(MemoryTools(app.memory, app.checker), find_owner),
        json_response=True,
        stateless=True,
        security_settings=_security_settings(settings.web_url),
        max_request_body_size=MAX_REQUEST_BYTES,
    )
    # The server sends nothing unrequested, so listening (GET) and ending a session (DELETE) get 405
    return WebPart([Route(PATH, BearerToken(manager.handle_request, token), methods=["POST"])], manager.run)


def _security_settings(url: HttpUrl | None) -> TransportSecuritySettings:
    """Accept only requests that name this machine or the public address."""
    # Other web pages can point their domain at 127.0.0.1, and the browser would allow it
    local_hosts = [f"{name}:*" for name in (HOST, "localhost", "[::1]")]
    hosts, origins = [*local_hosts], [f"http://{name}" for name in local_hosts]
    if url is not None:
        hosts.append(build_host_header(url))
        origins.append(f"{url.scheme}://{build_host_header(url)}")
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)
