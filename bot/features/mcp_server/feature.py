"""The feature MCP server, at WEB_PORT. `mneme mcp` serves the same tools without it."""

from __future__ import annotations

from bot.feature import Contributions, Feature
from bot.features.mcp_server import check_packages
from bot.features.mcp_server.settings import McpServerSettings
from bot.kernel import App, Kernel
from bot.web import WebPart
from config.errors import ConfigurationError
from config.settings import Settings


class McpServerFeature(Feature):
    name = "mcp_server"

    def check_settings(self, settings: Settings) -> None:
        if settings.group(McpServerSettings).mcp_token is not None and not settings.memory_enabled:
            raise ConfigurationError(
                "MCP_TOKEN gives other programs access to the memory, but memory is off: set MEMORY_ENABLED=true."
            )

    def why_off(self, settings: Settings) -> str | None:
        return None if settings.group(McpServerSettings).mcp_token is not None else "MCP_TOKEN is not set"

    async def open(self, kernel: Kernel) -> Contributions:
        return Contributions(web=[_create_part])


def _create_part(app: App) -> WebPart:
    check_packages()
    from bot.features.mcp_server.http import create_mcp_part

    token = app.settings.group(McpServerSettings).mcp_token
    assert token is not None, "otherwise it is off"  # noqa: S101
    return create_mcp_part(app, token.get_secret_value())
