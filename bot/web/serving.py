"""What `mneme run` serves of memory: /mcp for programs that show a token, and the page as the bot's Mini App."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.routing import Mount

from bot.web import PAGE
from bot.web.asgi import HOST, web_served

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pydantic import HttpUrl

    from bot.app import App


@contextlib.asynccontextmanager
async def memory_served(app: App) -> AsyncIterator[None]:
    """Serve what the settings ask for while the context is open. Raises ConfigurationError for a taken port."""
    settings = app.settings
    routes = []
    if settings.web_url is not None:
        from bot.web.page.mini_app import MiniApp
        from bot.web.page.server import page_app

        routes.append(Mount(f"/{PAGE}", page_app(MiniApp(app, served_hosts(settings.web_url, settings.web_port)))))
    if settings.mcp_token is not None:
        from bot.mcp_server.http import mcp_of

        served = mcp_of(app, settings.mcp_token.get_secret_value(), routes)
    else:
        served = Starlette(routes=routes)
    async with web_served(served, settings.web_port):
        yield


def served_hosts(url: HttpUrl, port: int) -> frozenset[str]:
    """By which names the page may be asked for: the one outside, and this machine's."""
    outside = str(url.host) if url.port in (80, 443) else f"{url.host}:{url.port}"
    return frozenset({outside, f"{HOST}:{port}", f"localhost:{port}"})
