"""The check of `mneme doctor`: whether each server starts and offers its tools."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bot.doctor.finding import DoctorContext, Finding, create_failed, create_ok, create_warning
from bot.features.mcp_tools.config import ServerConfig, read_configured
from bot.features.mcp_tools.connection import ServerConnection

CORRECT = "Correct its entry, or remove it with `mneme mcp remove`. Until then, the bot works without it."
LOG_IN = "Log in with `mneme mcp login`. Until then, the bot works without it."
CORRECT_FILE = "Correct the file in MCP_CONFIG (default: mcp.json in the data directory). The bot works without tools."


async def check_tools(context: DoctorContext) -> list[Finding]:
    config = await asyncio.to_thread(read_configured, context.settings)
    if config.trouble is not None:
        return [create_failed("tools", str(config.trouble).rstrip("."), CORRECT_FILE)]
    if config.is_empty:
        return [create_ok("tools", "No MCP server is configured")]
    unusable = [
        create_warning(f"tools of {name}", str(why).rstrip("."), CORRECT) for name, why in config.troubles.items()
    ]
    return [
        *await asyncio.gather(*(_check_server(server, context.settings.mneme_data_dir) for server in config.servers)),
        *unusable,
    ]


async def _check_server(server: ServerConfig, data_directory: Path) -> Finding:
    subject = f"tools of {server.name}"
    connection = ServerConnection(server, lambda: None, data_directory=data_directory)
    connection.start()
    try:
        await connection.tried.wait()
        if connection.trouble is not None:
            needs_login = connection.login is not None and connection.login.needs_login
            return create_warning(subject, str(connection.trouble).rstrip("."), LOG_IN if needs_login else CORRECT)
        enabled = sum(server.offers(tool.name) for tool in connection.tools)
        return create_ok(subject, f"{enabled} of {len(connection.tools)} are on")
    finally:
        await connection.close()
