"""The feature MCP tools."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from bot.doctor.finding import DoctorContext, Finding
from bot.feature import Contributions, Feature
from bot.features.mcp_tools.settings import McpToolsSettings, find_mcp_file
from bot.kernel import Kernel
from bot.telegram.part import Connection, TelegramPart
from config.settings import Settings
from config.texts import N_, _

if TYPE_CHECKING:
    from bot.features.mcp_tools.tools import McpTools

REPORT_INTERVAL_SECONDS = 5.0
"""Interval between checks for ended logins that the owner doesn't know about."""
_LOGIN_ENDED = N_(
    "I can't use the tools of {server} any more, because my login there has ended. Please run"
    " `mneme mcp login {server}` on my machine."
)


async def check(context: DoctorContext) -> list[Finding]:
    from bot.features.mcp_tools.check import check_tools

    return await check_tools(context)


class McpToolsFeature(Feature):
    name = "mcp_tools"
    sets_up_tools = True
    checks: ClassVar = {"tools": check}
    tools: McpTools | None = None

    def why_off(self, settings: Settings) -> str | None:
        file = find_mcp_file(settings)
        if settings.group(McpToolsSettings).mcp_config is None and not file.exists():
            return f"there is no {file}: `mneme mcp add` adds a server"
        return None

    def set_up(self, env_file: Path) -> None:
        from bot.features.mcp_tools.setup import offer_tools

        offer_tools(env_file)

    async def open(self, kernel: Kernel) -> Contributions:
        from bot.features.mcp_tools.approval import Approvals
        from bot.features.mcp_tools.commands import ToolCommands, ToolReport
        from bot.features.mcp_tools.config import read_configured
        from bot.features.mcp_tools.tools import McpTools
        from pipeline.tools.send_file import create_send_file

        settings = kernel.settings
        if kernel.setup.tools is not None:  # A small model can handle only the tools of the memory
            return Contributions()
        config = await asyncio.to_thread(read_configured, settings)
        approvals = Approvals(kernel.memory.preferences)
        max_tokens = settings.group(McpToolsSettings).mcp_tool_tokens
        data_directory = settings.mneme_data_dir
        tools = McpTools(config, approvals, kernel.effects.record, max_tokens, data_directory, kernel.clock)
        self.tools = tools
        tools.start()  # Connects in the background, so that no server delays the start
        kernel.stack.push_async_callback(tools.close)
        report = ToolReport(tools, kernel.models)
        commands = [] if config.is_empty else [ToolCommands(approvals, report)]
        sending = [] if config.is_empty else [create_send_file()]
        return Contributions(
            commands=commands,
            tools=sending,
            tool_sources=[tools],
            status=[report.groups],
            telegram=[] if config.is_empty else [self._create_part],
        )

    def _create_part(self, connection: Connection) -> TelegramPart:
        async def tell(server: str) -> None:
            await connection.access.notify_owners(lambda: _(_LOGIN_ENDED, server=server))

        async def report() -> None:
            if self.tools is not None:
                await self.tools.report_ended_logins(tell)

        connection.tasks.every(REPORT_INTERVAL_SECONDS, report, "mcp logins")
        return TelegramPart()
