"""The web server in the bot's event loop, with starlette and uvicorn. Only imported if something is served.

`mneme run` serves metrics and the webhook at METRICS_PORT (bot/features/metrics), and at WEB_PORT /mcp for programs
with a token and the memory page as the bot's Mini App.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from typing import cast

import structlog
import uvicorn
from pydantic import HttpUrl
from starlette.applications import Starlette

from bot.web import WebPart, build_host_header
from bot.web.limits import BACKLOG, Connections, LimitedProtocol, RequestLimits, compute_max_connections
from config.errors import ConfigurationError

log = structlog.get_logger(__name__)

HOST = "127.0.0.1"
CLOSING_SECONDS = 3


@contextlib.asynccontextmanager
async def serve_web(app: Starlette, port: int, setting: str = "WEB_PORT") -> AsyncIterator[None]:
    """Serve `app` until the context ends. Raises ConfigurationError if the port is in use.

    Args:
        setting: the setting or option that chooses the port.
    """
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
        reason = "is in use" if error.errno == errno.EADDRINUSE else f"can't be used ({error.strerror})"
        raise ConfigurationError(f"Port {port} {reason}: choose another with {setting}.") from error


def build_web_app(parts: Sequence[WebPart]) -> Starlette:
    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for part in parts:
                if part.lifespan is not None:
                    await stack.enter_async_context(part.lifespan())
            yield

    return Starlette(routes=[route for part in parts for route in part.routes], lifespan=lifespan)


def list_served_hosts(url: HttpUrl, port: int) -> frozenset[str]:
    return frozenset({build_host_header(url), f"{HOST}:{port}", f"localhost:{port}"})
