"""The web server in the bot's own loop, for what talks with memory: starlette and uvicorn, imported where it is used.

Beside it, the one of bot/web/server.py tells how the bot is: from threads, so that it answers where this loop does not.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING

import structlog
import uvicorn

from config.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from starlette.applications import Starlette

log = structlog.get_logger(__name__)

HOST = "127.0.0.1"
CONNECTIONS = 64
"""Connections at a time; who comes when there are so many is told to come again."""
CLOSING_SECONDS = 3
"""How long requests that run when the bot is stopped may take to end."""


@contextlib.asynccontextmanager
async def web_served(app: Starlette, port: int) -> AsyncIterator[None]:
    """Serve `app` for as long as the context is open. Raises ConfigurationError for a port that is taken."""
    with contextlib.closing(_listening(port)) as listening:
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=CONNECTIONS,
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
