"""Tests of hostile MCP servers: an attack ends its own call only."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.features.mcp_tools.bounds import MAX_MESSAGE_BYTES, MAX_MINUTE_BYTES, ByteLimiter, TooMuch, parse_message
from config.json_stream import TooComplex
from tests.conftest import OpenApp
from tests.support.fakes import Person
from tests.support.features import find_mcp_tools
from tests.support.mcp_servers import Servers, call_tools, wait_until
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Says

SCRIPT = str(Path(__file__).parents[2] / "support" / "servers" / "hostile_mcp.py")
MAX_GROWTH_KB = 120_000


@pytest.fixture
def servers(tmp_path: Path) -> Servers:
    return Servers(tmp_path)


@contextlib.asynccontextmanager
async def hostile(way: str) -> AsyncIterator[dict[str, object]]:
    """Start the server and yield its configuration entry."""
    if way == "stdio":
        yield {"command": sys.executable, "args": [SCRIPT]}
        return
    events = ["events"] if way == "events" else []
    child = await asyncio.create_subprocess_exec(sys.executable, SCRIPT, "0", *events, stdout=asyncio.subprocess.PIPE)
    assert child.stdout is not None
    try:
        port = int(await asyncio.wait_for(child.stdout.readline(), 20))
        yield {"url": f"http://127.0.0.1:{port}/mcp"}
    finally:
        child.kill()
        await child.wait()


def read_resident_kb() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0])


@pytest.mark.parametrize("way", ["stdio", "json", "events"])
@pytest.mark.parametrize("kind", ["endless", "flood", "nested", "items"])
async def test_attack_ends_its_call_and_the_server_restarts(
    start: OpenApp, model: ModelServer, servers: Servers, monkeypatch: pytest.MonkeyPatch, way: str, kind: str
) -> None:
    # A quarter, because all of it would be received and parsed. test_flow_of_small_messages_ends_at_the_limit has all.
    monkeypatch.setattr("bot.features.mcp_tools.bounds.MAX_MINUTE_BYTES", MAX_MINUTE_BYTES // 4)
    async with hostile(way) as entry, start(mcp_config=servers(trial=entry)) as app:
        person = Person(app)
        await wait_until(lambda: find_mcp_tools(app).list_states()[0].trouble is None)
        before = read_resident_kb()
        async with asyncio.timeout(25):
            results = await call_tools(person, model, ("trial__attack", {"kind": kind}))
        assert read_resident_kb() - before < MAX_GROWTH_KB
        assert results
        async with asyncio.timeout(25):
            while await call_tools(person, model, ("trial__attack", {"kind": "hello"})) != ["hello"]:
                await wait_until(lambda: find_mcp_tools(app).list_states()[0].trouble is None)


@pytest.mark.parametrize("way", ["stdio", "json", "events"])
async def test_lone_surrogate_is_replaced_and_the_rest_kept(
    start: OpenApp, model: ModelServer, servers: Servers, way: str
) -> None:
    async with hostile(way) as entry, start(mcp_config=servers(trial=entry)) as app:
        results = await call_tools(Person(app), model, ("trial__attack", {"kind": "half"}))
    assert results == ["half \ufffd, whole \U0001f600, \\ud83d"]
    tool = model.requests[-1].body["tools"][-1]["function"]
    assert tool["description"] == "Attack, half an emoji: \ufffd"


async def test_lone_surrogate_in_arguments_is_repaired(start: OpenApp, model: ModelServer, servers: Servers) -> None:
    async with hostile("stdio") as entry, start(mcp_config=servers(trial=entry)) as app:
        model.script(Calls((("trial__attack", '{"kind": "\\ud83d"}'),)), Says("Done \ud83d."))
        assert await Person(app).says("Please do it") == "Done \ufffd."
    assert str(model.requests[-1].last) == "\ufffd"


def test_flow_of_small_messages_ends_at_the_limit() -> None:
    ended: list[bool] = []
    limiter = ByteLimiter(lambda: ended.append(True))
    for _ in range(MAX_MINUTE_BYTES // 1_000_000):
        limiter.add(1_000_000, 0)
    with pytest.raises(TooMuch):
        limiter.add(1_000_000, 0)
    assert ended == [True]
    with pytest.raises(TooMuch):
        ByteLimiter(lambda: None).add(1, MAX_MESSAGE_BYTES + 1)


MANY_ITEMS = b'{"jsonrpc":"2.0","id":1,"result":{"a":[' + b"[]," * 300_000


@pytest.mark.parametrize("line", [b"[[", b"{}", b"\xff", b"Listening on port 80"])
def test_line_that_is_no_message_is_an_error(line: bytes) -> None:
    assert isinstance(parse_message(line), ValueError)


@pytest.mark.parametrize("line", [b"[" * 1_000, MANY_ITEMS], ids=["nested", "items"])
def test_line_with_too_many_items_ends_the_connection(line: bytes) -> None:
    with pytest.raises(TooComplex):
        parse_message(line)
