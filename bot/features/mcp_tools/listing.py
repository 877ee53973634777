"""Filters for the list of tools that a server returns."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from mcp.types import Tool

log = structlog.get_logger(__name__)

MAX_TOOL_CHARS = 100_000
"""Limit for the description and for the schema of a tool. Longer ones are left out."""


def drop_unreadable_tools(message: object) -> None:
    """Remove invalid tools from a listing, since the library would refuse the whole listing."""
    from mcp.types import Tool
    from pydantic import ValidationError

    result = getattr(getattr(message, "message", None), "result", None)
    tools = result.get("tools") if isinstance(result, dict) else None
    if not isinstance(tools, list):
        return
    readable = []
    for tool in tools:
        schema = tool.get("inputSchema") if isinstance(tool, dict) else None
        if not isinstance(schema, dict) or schema.setdefault("type", "object") != "object":
            continue
        with contextlib.suppress(ValidationError):
            Tool.model_validate(tool)
            readable.append(tool)
    if len(readable) < len(tools):
        log.warning("mcp_tools_unreadable", left_out=len(tools) - len(readable))
        tools[:] = readable


def is_bounded(tool: Tool) -> bool:
    described = len(tool.name) + len(tool.description or "") + len(tool.title or "")
    return described <= MAX_TOOL_CHARS and len(json.dumps(tool.input_schema)) <= MAX_TOOL_CHARS
