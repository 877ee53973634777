"""Clients of the memory: the official MCP client over HTTP and over the pipes of `mneme mcp`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client
from mcp.server.stdio import stdio_server
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.types import TextContent, TextResourceContents

from bot.kernel import App
from bot.web.server import build_web_app, serve_web
from tests.support.processes import ROOT
from tests.support.starter import start_mneme

TOKEN = "a-token-that-programs-show"


def find_free_port() -> int:
    """Return a free port."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextlib.asynccontextmanager
async def served(app: App) -> AsyncIterator[str]:
    """Serve an App's memory at its WEB_PORT and yield the address."""
    from bot.features.mcp_server.http import create_mcp_part

    async with serve_web(build_web_app([create_mcp_part(app, TOKEN)]), app.settings.web_port):
        yield f"http://127.0.0.1:{app.settings.web_port}/mcp"


@contextlib.asynccontextmanager
async def connect_over_http(url: str, mode: str = "auto", token: str = TOKEN) -> AsyncIterator[Client]:
    """A program that shows a token. mode: as the client has it, `legacy` for the protocols before 2026-07-28."""
    async with (
        create_mcp_http_client({"Authorization": f"Bearer {token}"}) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


def build_mneme_command(*arguments: str, **environment: str) -> StdioServerParameters:
    """Return the command that starts `mneme mcp` on the test's data directory."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "bot", "mcp", *arguments],
        env=dict(os.environ) | {"PYTHONPATH": str(ROOT)} | environment,
    )


@contextlib.asynccontextmanager
async def connect_to_new_process(mode: str = "auto", *arguments: str) -> AsyncIterator[Client]:
    """Connect to `mneme mcp` as its parent, as other programs do."""
    async with Client(build_mneme_command(*arguments), mode=mode) as client:
        yield client


@contextlib.asynccontextmanager
async def connect_over_stdio(mode: str = "auto", *arguments: str) -> AsyncIterator[Client]:
    """Connect to a forked `mneme mcp`, for tests that don't measure its startup."""
    async with Client(_open_pipe(*arguments), mode=mode) as client:
        yield client


@contextlib.asynccontextmanager
async def _open_pipe(*arguments: str) -> AsyncIterator[TransportStreams]:
    """Start `mneme mcp`, yield the streams to it, and close its input at the end, which ends it."""
    ours, theirs = socket.socketpair()
    with ours, Path("mcp.log").open("ab") as log:  # noqa: ASYNC230  # A test may block.
        with theirs:
            program = await start_mneme(
                "mcp", *arguments, environment=os.environ, file=theirs.fileno(), error=log.fileno(), folder=Path.cwd()
            )
        with ours.makefile("r", encoding="utf-8") as output, ours.makefile("w", encoding="utf-8") as requests:
            # Both sides of the protocol write and read lines, so the server's streams serve a client, too.
            async with stdio_server(anyio.wrap_file(output), anyio.wrap_file(requests)) as streams:
                try:
                    yield streams
                finally:
                    ours.shutdown(socket.SHUT_WR)
                    async with asyncio.timeout(20):
                        assert await program.wait() == 0


async def call(client: Client, name: str, /, **arguments: object) -> str:
    """Return the text of a tool's result."""
    text, is_error = await call_with_outcome(client, name, **arguments)
    assert not is_error, text
    return text


async def call_refused(client: Client, name: str, /, **arguments: object) -> str:
    """Return the reason of a failed call."""
    text, is_error = await call_with_outcome(client, name, **arguments)
    assert is_error, text
    return text


async def call_with_outcome(client: Client, name: str, /, **arguments: object) -> tuple[str, bool]:
    """Return the text of a tool's result, and whether it is an error."""
    result = await client.call_tool(name, arguments)
    (item,) = result.content
    assert isinstance(item, TextContent)
    return item.text, bool(result.is_error)


async def call_json(client: Client, name: str, /, **arguments: object) -> Any:
    """Return the parsed JSON of a tool's result."""
    return json.loads(await call(client, name, **arguments))


async def read(client: Client, uri: str) -> str:
    """Return the text of a resource."""
    (item,) = (await client.read_resource(uri)).contents
    assert isinstance(item, TextResourceContents)
    return item.text
