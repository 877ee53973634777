"""The settings of the MCP server."""

from __future__ import annotations

from config.groups import HeaderSecret, SettingsGroup


class McpServerSettings(SettingsGroup):
    mcp_token: HeaderSecret | None = None
    mcp_owner: str | None = None
