"""Access to the opened features of a running App."""

from __future__ import annotations

from typing import TypeVar

from bot.features.mcp_tools.feature import McpToolsFeature
from bot.features.mcp_tools.tools import McpTools
from bot.kernel import App

Opened = TypeVar("Opened")


def opened(app: App, kind: type[Opened]) -> Opened:
    """Return the feature of that class. It must be on."""
    return next(feature for feature in app.features if isinstance(feature, kind))


def connected_tools(app: App) -> McpTools:
    tools = opened(app, McpToolsFeature).tools
    assert tools is not None
    return tools
