"""Logins at MCP servers: a user with a terminal and a browser."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx

from bot.features.mcp_tools.config import HttpServer, OAuthClient
from bot.features.mcp_tools.login import Terminal, log_in
from bot.features.mcp_tools.logins import FOLDER, Login, LoginFile
from memory.clock import Clock, system_clock
from tests.support.servers.authorization import Protected

_ADDRESS = re.compile(r"^https?://\S+$", re.MULTILINE)


class User:
    """A user with a terminal and a browser.

    Attributes:
        shown: The texts in the terminal.
    """

    def __init__(self) -> None:
        self.shown: list[str] = []
        self._shown = asyncio.Event()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()

    @property
    def terminal(self) -> Terminal:
        return Terminal(self._show, self._read())

    def enters(self, line: str | None) -> None:
        """Enter a line. None ends the input."""
        self._lines.put_nowait(line)

    async def waits_for_address(self) -> str:
        """Return the address that the terminal shows to open in a browser."""
        await asyncio.wait_for(self._shown.wait(), 20)
        return find_address(self.shown[0])

    async def waits_for_text(self, text: str) -> None:
        async with asyncio.timeout(20):
            while not any(text in shown for shown in self.shown):
                self._shown.clear()
                await self._shown.wait()

    def _show(self, text: str) -> None:
        self.shown.append(text)
        self._shown.set()

    async def _read(self) -> AsyncIterator[str]:
        while (line := await self._lines.get()) is not None:
            yield line


def find_address(text: str) -> str:
    match = _ADDRESS.search(text)
    assert match is not None, text
    return match[0]


async def open_here(address: str) -> httpx.Response:
    """Open an address in a browser on this machine."""
    async with httpx.AsyncClient(trust_env=False) as browser:
        return await browser.get(address)


def find_file(data: Path, server: Protected | None = None, name: str = "calendar") -> LoginFile:
    return LoginFile(data / FOLDER, name, server.url if server is not None else None)


async def log_in_here(
    server: Protected,
    data: Path,
    name: str = "calendar",
    clock: Clock = system_clock,
    oauth: OAuthClient | None = None,
) -> Login:
    """Log in with a browser on this machine."""
    user = User()
    http = HttpServer(server.url, oauth=oauth or OAuthClient())
    login = asyncio.create_task(log_in(name, http, find_file(data, server, name), clock, user.terminal))
    address = asyncio.create_task(user.waits_for_address())
    await asyncio.wait((login, address), return_when=asyncio.FIRST_COMPLETED)
    if address.done():
        page = await open_here(await server.open_in_browser(address.result()))
        assert page.status_code == 200
    address.cancel()
    return await login
