"""Access to the MCP tools of a running App."""

from __future__ import annotations

from bot.features.mcp_tools.tools import McpTools
from bot.kernel import App


def connected_tools(app: App) -> McpTools:
    (tools,) = app.tool_sources
    assert isinstance(tools, McpTools)
    return tools
