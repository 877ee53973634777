"""/metrics and /healthz on 127.0.0.1, served from a thread: it answers also when the bot's own loop does not."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from concurrent.futures import TimeoutError as TookTooLong
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, TypeVar

import structlog

from bot.monitoring.metrics import ErrorCounter
from config.errors import ConfigurationError
from memory.errors import MnemeError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from bot.app import App
    from bot.monitoring.metrics import Metrics

log = structlog.get_logger(__name__)

PATIENCE = 8.0
"""Seconds that the bot's loop may take to answer; longer than its database may."""

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Page:
    """What goes back for a request."""

    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"


@contextlib.asynccontextmanager
async def observed(app: App, metrics: Metrics, port: int) -> AsyncIterator[None]:
    """Serve metrics and health at `port` for as long as the context is open.

    Raises ConfigurationError for a port that is taken.
    """
    server = _listening(port, app, metrics, asyncio.get_running_loop())
    counter = ErrorCounter(metrics)
    logging.getLogger().addHandler(counter)
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    log.info("metrics_served", url=f"http://127.0.0.1:{port}/metrics")
    try:
        yield
    finally:
        logging.getLogger().removeHandler(counter)
        await asyncio.to_thread(server.shutdown)
        server.server_close()


def _listening(port: int, app: App, metrics: Metrics, loop: asyncio.AbstractEventLoop) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        """Two pages and nothing else."""

        def do_GET(self) -> None:
            """Answer."""
            page = _page(self.path.partition("?")[0], app, metrics, loop)
            self.send_response(page.status)
            self.send_header("Content-Type", page.content_type)
            self.send_header("Content-Length", str(len(page.body)))
            self.end_headers()
            self.wfile.write(page.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the library's own name
            """Say nothing: it is asked every few seconds."""

    try:
        return ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except OSError as error:
        raise ConfigurationError(f"METRICS_PORT {port} can't be used ({error.strerror}): choose another.") from error


def _page(path: str, app: App, metrics: Metrics, loop: asyncio.AbstractEventLoop) -> Page:
    try:
        if path == "/healthz":
            trouble = _ask(app.health.trouble(), loop)
            return Page(200, b"ok\n") if trouble is None else Page(503, f"{trouble}\n".encode())
        if path == "/metrics":
            text = _ask(metrics.page(app.database, app.health, app.lanes), loop)
            return Page(200, text, "text/plain; version=0.0.4; charset=utf-8")
    except TookTooLong:
        return Page(503, b"the bot's loop does not answer\n")
    except MnemeError as error:
        return Page(503, f"{error}\n".encode())
    return Page(404, b"There is /healthz and /metrics.\n")


def _ask(question: Coroutine[object, object, _Answer], loop: asyncio.AbstractEventLoop) -> _Answer:
    asked = asyncio.run_coroutine_threadsafe(question, loop)
    try:
        return asked.result(PATIENCE)
    except TookTooLong:
        asked.cancel()
        raise
