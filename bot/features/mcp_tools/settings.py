"""The settings of MCP tools."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from config.groups import FilePath, SettingsGroup
from config.settings import Settings


class McpToolsSettings(SettingsGroup):
    mcp_config: FilePath | None = None
    mcp_tool_tokens: int = Field(default=6000, ge=0, le=1_000_000)


def find_mcp_file(settings: Settings) -> Path:
    """Return the path of the configuration of the servers. The file may be missing."""
    return settings.group(McpToolsSettings).mcp_config or settings.mneme_data_dir / "mcp.json"
