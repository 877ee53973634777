"""Tests of the MCP server process: authorization, hostile requests, start and end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client

from bot.cli.main import main
from bot.feature import check_settings
from bot.features.mcp_server.feature import McpServerFeature
from bot.features.mcp_server.http import MAX_REQUEST_BYTES
from bot.features.mcp_server.server import create_memory_server
from bot.features.mcp_server.tools import MemoryTools
from bot.kernel import App
from bot.services import MemoryServices
from config.errors import ConfigurationError
from config.loading import load_settings
from config.settings import Settings
from memory.clock import system_clock
from memory.facts.checker import FactChecker
from memory.store.database import Database
from memory.store.entry import NewEntry
from memory.text.tokens import TokenCounter
from tests.conftest import OpenApp
from tests.support.blank import write_blank
from tests.support.bot_api.server import BotApiServer
from tests.support.memory_clients import (
    TOKEN,
    call,
    call_with_outcome,
    connect_over_http,
    connect_over_stdio,
    connect_to_new_process,
    find_free_port,
    served,
)
from tests.support.processes import ROOT, bot_environment, forked_bot
from tests.support.servers.model import ModelServer
from tests.support.starter import start_mneme

MINE = "console:local"
ARGUMENTS = {
    "memory_recall": "queries",
    "memory_get": "name",
    "memory_forget": "name",
    "memory_learn": "text",
    "search": "query",
    "fetch": "id",
}
"""The tools that take a text, and how they call it."""
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
HEADERS = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json, text/event-stream"}


@pytest.fixture
async def app(start: OpenApp) -> AsyncIterator[App]:
    """Run an App with one memory."""
    async with start(web_port=find_free_port(), web_url="https://memory.example.org") as running:
        await running.memory.entries.add(MINE, NewEntry("The lighthouse is red", name="lighthouse"))
        yield running


@pytest.fixture
async def url(app: App) -> AsyncIterator[str]:
    """Serve the App and return the address."""
    async with served(app) as address:
        yield address


async def post(url: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> httpx.Response:
    content = json.dumps(INITIALIZE).encode() if body is None else body
    async with httpx.AsyncClient(timeout=20) as client:
        return await client.post(
            url, content=content, headers={"Content-Type": "application/json"} | HEADERS | (headers or {})
        )


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        "Bearer wrong",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Basic {TOKEN}",
        TOKEN,
        "Bearer \xe9",
    ],
)
async def test_request_without_the_token_is_refused(url: str, authorization: str | None) -> None:
    headers = {} if authorization is None else {b"Authorization": authorization.encode("latin-1")}
    async with httpx.AsyncClient() as client:
        response = await client.post(url, json=INITIALIZE, headers=headers)
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == "Bearer"
    assert "mneme" not in response.text.replace("MCP", "").lower()


async def test_request_body_without_the_token_is_not_read(url: str) -> None:
    port = int(url.split(":")[2].partition("/")[0])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Length: 900000000\r\n\r\n")
    assert b"401" in await reader.readline()
    writer.close()


async def test_token_is_accepted_in_common_spellings(url: str) -> None:
    for authorization in (f"bearer {TOKEN}", f"BEARER  {TOKEN}"):
        assert (await post(url, headers={"Authorization": authorization})).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:8765"}, 200),
        ({"Host": "memory.example.org"}, 200),
        ({"Origin": "https://memory.example.org"}, 200),
        ({"Origin": "http://localhost:6274"}, 200),
        ({"Host": "rebound.example.com"}, 421),
        ({"Host": "127.0.0.1.example.com:8765"}, 421),
        ({"Host": "memory.example.org.evil.com"}, 421),
        ({"Origin": "https://evil.com"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content-Type": "text/plain"}, 400),
    ],
)
async def test_request_for_another_host_or_origin_is_refused(url: str, headers: dict[str, str], status: int) -> None:
    assert (await post(url, headers=headers)).status_code == status


async def test_malformed_request_is_refused_and_the_server_continues(url: str) -> None:
    deep = b"[" * 200_000 + b"]" * 200_000
    for body in (b"", b"nonsense", b"[]", b"{}", b'{"jsonrpc": "2.0"}', b"\x00\xff", deep):
        assert 400 <= (await post(url, body)).status_code < 500
    assert (await post(url, b" " * (MAX_REQUEST_BYTES + 1))).status_code == 413
    async with httpx.AsyncClient(headers=HEADERS) as client:
        assert (await client.get(url)).status_code == 405
        assert (await client.delete(url)).status_code == 405
        assert (await client.get(url.replace("/mcp", "/"))).status_code == 404
    async with connect_over_http(url) as client:
        assert "red" in await call(client, "memory_recall", queries=["lighthouse"])


@pytest.mark.parametrize("arguments", [{}, {"queries": []}, {"queries": "x", "limit": 0}, {"queries": ["x"], "y": 1}])
async def test_wrong_arguments_are_explained_in_a_sentence(url: str, arguments: dict[str, object]) -> None:
    async with connect_over_http(url) as client:
        text, is_error = await call_with_outcome(client, "memory_recall", **arguments)
    assert is_error
    assert text.startswith("the arguments are wrong: ")
    assert "\n" not in text


HOSTILE = st.text(max_size=300) | st.sampled_from(
    [
        "../../etc/passwd",
        "' OR 1=1 --",
        "#1",
        "a" * 5_000,
        "memory://long-term",
        "{{7*7}}",
        "%00",
        "NEAR(a b)",
        "[" * 99,
    ]
)


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(HOSTILE, min_size=1, max_size=10))
def test_any_text_is_answered_or_refused_in_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, hostile: list[str]
) -> None:
    async def owner_of() -> str:
        return MINE

    async def ask_all(folder: Path) -> None:
        chosen = Settings.model_validate({"mneme_data_dir": folder})
        database = await Database.open(write_blank(folder / "mneme.db"))
        memory = MemoryServices(chosen, database, TokenCounter(), system_clock)
        await memory.entries.add(MINE, NewEntry("The lighthouse is red", name="lighthouse"))
        async with Client(
            create_memory_server(MemoryTools(memory, FactChecker(None)), owner_of), raise_exceptions=True
        ) as client:
            for text in hostile:
                for tool, argument in ARGUMENTS.items():
                    answer, is_error = await call_with_outcome(client, tool, **{argument: text})
                    assert "failed (" not in answer
                    assert is_error or tool not in ("memory_get", "search", "fetch") or json.loads(answer)
        await database.close()

    asyncio.run(ask_all(tmp_path_factory.mktemp("hostile")))


async def test_port_in_use_is_reported(app: App, url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"Port \d+ is in use: choose another with WEB_PORT\."):
        async with served(app):
            pass


@pytest.mark.parametrize("token", ["short", "with spaces in it, and long", "\u00e9" * 20])
def test_guessable_token_is_refused(tmp_path: Path, token: str) -> None:
    (tmp_path / ".env").write_text(f"MCP_TOKEN={token}\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="MCP_TOKEN is not valid: use 16 to 256"):
        load_settings()


def test_disabled_memory_is_not_served(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"MCP_TOKEN={TOKEN}\nMEMORY_ENABLED=false\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="set MEMORY_ENABLED=true"):
        check_settings(load_settings(), [McpServerFeature()])


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("bot.features.mcp_server.importlib.util.find_spec", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["mneme", "mcp"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert "needs the package mcp: see docs/mcp.md." in capsys.readouterr().err


async def test_mcp_packages_are_loaded_only_if_served() -> None:
    heavy = {"mcp", "starlette", "uvicorn", "bot.features.mcp_server.server"}
    program = f"import sys, bot.cli.main, bot.app, bot.telegram.service; sys.exit(bool({heavy} & set(sys.modules)))"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    assert await process.wait() == 0


async def test_bot_process_serves_mcp_and_ends_at_a_signal(
    telegram: BotApiServer, model: ModelServer, tmp_path: Path
) -> None:
    port = find_free_port()
    environment = bot_environment(telegram, model, 1001) | {"MCP_TOKEN": TOKEN, "WEB_PORT": str(port)}
    async with forked_bot(environment, tmp_path) as process:
        telegram.user_says("/remember The lighthouse is red", chat_id=1001)
        await telegram.wait_for(lambda: telegram.list_sent(1001))
        async with connect_over_http(f"http://127.0.0.1:{port}/mcp") as client:
            assert "red" in await call(client, "memory_recall", queries=["lighthouse"])
            async with connect_over_stdio() as beside:
                assert "red" in await call(beside, "memory_recall", queries=["lighthouse"])
            process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(20):
                assert await process.wait() == 0
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert TOKEN not in log
    assert "Traceback" not in log


async def test_stdio_client_that_ends_stops_its_server(tmp_path: Path) -> None:
    async with connect_to_new_process() as client:
        await call(client, "memory_learn", text="The lighthouse is red")
        assert len(_list_server_processes()) == 1
    assert _list_server_processes() == []


def _list_server_processes() -> list[str]:
    """Return the child processes that serve memory."""
    ours = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text(encoding="utf-8").split()
    commands = [Path(f"/proc/{child}/cmdline").read_bytes() for child in ours]
    return [command.decode() for command in commands if b"bot\0mcp" in command]


async def test_server_killed_while_writing_leaves_a_consistent_memory(tmp_path: Path) -> None:
    learned = 0
    for written_before_the_kill in (1, 3, 6):
        ours, theirs = socket.socketpair()
        with theirs, (tmp_path / "log").open("ab") as log:
            process = await start_mneme(
                "mcp", environment=os.environ, file=theirs.fileno(), error=log.fileno(), folder=tmp_path
            )
        reader, writer = await asyncio.open_connection(sock=ours)
        writer.write(f"{json.dumps(INITIALIZE)}\n".encode())
        await reader.readline()
        for number in range(20):
            text = f"Kill {written_before_the_kill}, thing number {number}"
            params = {"name": "memory_learn", "arguments": {"text": text}}
            request = {"jsonrpc": "2.0", "id": number + 2, "method": "tools/call", "params": params}
            writer.write(f"{json.dumps(request)}\n".encode())
        for _ in range(written_before_the_kill):
            assert b"not confirmed" in await reader.readline()
        process.kill()
        await process.wait()
        writer.close()
        learned += written_before_the_kill
    database = await Database.open(tmp_path / "data" / "mneme.db")
    row = await database.row(
        "SELECT (SELECT count(*) FROM entries), (SELECT count(*) FROM changes), (SELECT count(*) FROM names)"
    )
    assert row is not None
    entries, changes, names = row
    await database.close()
    assert learned <= entries == changes == names
    async with connect_over_stdio() as client:
        assert "thing number 0" in await call(client, "memory_recall", queries=["Kill thing number 0"])
        assert "not confirmed" in await call(client, "memory_learn", text="After all kills")
