"""The web server in the bot's event loop, with starlette and uvicorn. Only imported if something is served.

`mneme run` serves metrics and the webhook at METRICS_PORT (bot/features/metrics), and at WEB_PORT /mcp for programs
with a token and the memory page as the bot's Mini App.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import cast

import structlog
import uvicorn
from pydantic import HttpUrl
from starlette.applications import Starlette
from starlette.routing import Mount

from bot.kernel import App
from bot.web import PAGE, build_host_header
from bot.web.limits import BACKLOG, Connections, LimitedProtocol, RequestLimits, compute_max_connections
from config.errors import ConfigurationError

log = structlog.get_logger(__name__)

HOST = "127.0.0.1"
CLOSING_SECONDS = 3


@contextlib.asynccontextmanager
async def serve_web(app: Starlette, port: int, setting: str = "WEB_PORT") -> AsyncIterator[None]:
    """Serve `app` until the context ends. Raises ConfigurationError if the port is in use."""
    with contextlib.closing(_listen(port, setting)) as listening:
        connections = Connections(compute_max_connections())
        config = uvicorn.Config(
            RequestLimits(app),
            # Uvicorn calls it like the class
            http=cast("type[asyncio.Protocol]", partial(LimitedProtocol, connections)),
            backlog=BACKLOG,
            ws="none",
            # With `auto` a failed start of the app would count as an app without a start
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=CLOSING_SECONDS,
        )
        server = _Server(config)
        serving = asyncio.create_task(server.serve([listening]), name="web")
        log.info("web_served", url=f"http://{HOST}:{port}")
        try:
            yield
        finally:
            server.should_exit = True
            await serving


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _listen(port: int, setting: str) -> socket.socket:
    try:
        # Listen here, since uvicorn ends the process if the port is in use
        return socket.create_server((HOST, port))
    except OSError as error:
        raise ConfigurationError(f"{setting} {port} can't be used ({error.strerror}): choose another.") from error


@contextlib.asynccontextmanager
async def serve_memory(app: App) -> AsyncIterator[None]:
    """Serve memory page and MCP until the context ends. Raises ConfigurationError if the port is in use."""
    settings = app.settings
    routes = []
    if settings.web_url is not None:
        from bot.web.page.mini_app import MiniApp
        from bot.web.page.server import build_page_app

        routes.append(
            Mount(f"/{PAGE}", build_page_app(MiniApp(app, list_served_hosts(settings.web_url, settings.web_port))))
        )
    if settings.mcp_token is not None:
        from bot.mcp_server.http import create_mcp_app

        served = create_mcp_app(app, settings.mcp_token.get_secret_value(), routes)
    else:
        served = Starlette(routes=routes)
    async with serve_web(served, settings.web_port):
        yield


def list_served_hosts(url: HttpUrl, port: int) -> frozenset[str]:
    return frozenset({build_host_header(url), f"{HOST}:{port}", f"localhost:{port}"})
