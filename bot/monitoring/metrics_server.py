"""/metrics and /healthz, at the one web server of the process."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING

from bot.monitoring.metrics import ErrorCounter
from bot.web.pages import Page
from bot.web.server import served

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bot.app import App
    from bot.monitoring.metrics import Metrics


@contextlib.asynccontextmanager
async def observed(app: App, metrics: Metrics, port: int) -> AsyncIterator[None]:
    """Serve metrics, health and what else the App has pages for at `port` for as long as the context is open.

    Raises ConfigurationError for a port that is taken.
    """

    async def health() -> Page:
        trouble = await app.health.trouble()
        return Page(200, b"ok\n") if trouble is None else Page(503, f"{trouble}\n".encode())

    async def measured() -> Page:
        text = await metrics.page(app.database, app.health, app.lanes)
        return Page(200, text, "text/plain; version=0.0.4; charset=utf-8")

    app.pages.shown |= {"/healthz": health, "/metrics": measured}
    counter = ErrorCounter(metrics)
    logging.getLogger().addHandler(counter)
    try:
        async with served(app.pages, port):
            yield
    finally:
        logging.getLogger().removeHandler(counter)
