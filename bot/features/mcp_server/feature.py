"""The feature MCP server, at WEB_PORT. `mneme mcp` serves the same tools without it."""

from __future__ import annotations

from bot.feature import Contributions, Feature
from bot.features.mcp_server import check_packages
from bot.kernel import App, Kernel
from bot.web import WebPart
from config.settings import Settings


class McpServerFeature(Feature):
    name = "mcp_server"

    def why_off(self, settings: Settings) -> str | None:
        return None if settings.mcp_token is not None else "MCP_TOKEN is not set"

    async def open(self, kernel: Kernel) -> Contributions:
        return Contributions(web=[_create_part])


def _create_part(app: App) -> WebPart:
    check_packages()
    from bot.features.mcp_server.http import create_mcp_part

    assert app.settings.mcp_token is not None, "otherwise it is off"  # noqa: S101
    return create_mcp_part(app, app.settings.mcp_token.get_secret_value())
