"""Tests of the limits of the web server, with and without a pass."""

from __future__ import annotations

import asyncio
import logging
import resource
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from bot.web import limits
from tests.support.bot_api.server import BotApiServer
from tests.support.features import needs_feature
from tests.support.memory_clients import TOKEN, find_free_port
from tests.support.mini_apps import RawRequest, enter, mini_app, sign_init_data
from tests.support.processes import bot_environment, running_bot
from tests.support.servers.model import ModelServer
from tests.support.serving import ANN, Serve, wait_for_text

pytestmark = needs_feature("page", "mcp_server")

Connect = Callable[[int], Awaitable[RawRequest]]
MEGABYTE = 1_000_000
CHUNK = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
PROGRAM = (
    f"Authorization: Bearer {TOKEN}",
    "Content-Type: application/json",
    "Accept: application/json, text/event-stream",
)
NO_PASS = "X-Mneme: 1"
STRANGERS = [
    ("POST", "/page/enter"),
    ("POST", "/page/api/import?name=x.json"),
    ("POST", "/page/api/file"),
    ("POST", "/page/api/entries/1/edit"),
    ("GET", "/page/"),
    ("GET", "/page/page.js"),
    ("POST", "/mcp"),
    ("POST", "/elsewhere"),
]
MEMBERS = [
    ("POST", "/page/api/entries/1/edit"),
    ("POST", "/page/api/entries/1/forget"),
    ("POST", "/page/api/file"),
    pytest.param("POST", "/page/api/import?name=x.json&look=1", marks=needs_feature("imports")),
    ("GET", "/page/api/overview"),
]


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    """Open connections and close them at the end of the test."""
    opened: list[RawRequest] = []

    async def open_one(port: int) -> RawRequest:
        opened.append(await RawRequest.open(port))
        return opened[-1]

    yield open_one
    for request in opened:
        await request.close()


@pytest.mark.parametrize(("method", "target"), STRANGERS)
async def test_stranger_sending_endless_body_is_answered_and_closed(
    serve: Serve, connect: Connect, method: str, target: str
) -> None:
    async with mini_app(serve) as (app, _client):
        request = await connect(app.settings.web_port)
        await request.send_head(target, NO_PASS, "Transfer-Encoding: chunked", method=method)
        status = await request.send_without_end(CHUNK, 64 * MEGABYTE)
        assert status is not None
        assert status == 413 or target != "/page/enter"
        await request.read_end()
        assert request.bytes_sent < 16 * MEGABYTE


@pytest.mark.parametrize(("method", "target"), MEMBERS)
async def test_member_sending_endless_body_is_answered_and_closed(
    serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch, method: str, target: str
) -> None:
    from bot.features.page import uploads

    monkeypatch.setattr(uploads, "MAX_UPLOAD_BYTES", 4 * MEGABYTE)
    async with mini_app(serve) as (app, client):
        header = f"X-Mneme: {(await enter(app, client))['x-mneme']}"
        request = await connect(app.settings.web_port)
        await request.send_head(target, header, "Transfer-Encoding: chunked", method=method)
        status = await request.send_without_end(CHUNK, 64 * MEGABYTE)
        assert status in (200, 409, 413)
        await request.read_end()
        assert request.bytes_sent < 24 * MEGABYTE


@pytest.mark.parametrize("length", ["16385", "600000000", "99999999999999999999"])
async def test_enter_with_long_content_length_answers_413_before_the_body(
    serve: Serve, connect: Connect, length: str
) -> None:
    async with mini_app(serve) as (app, _client):
        request = await connect(app.settings.web_port)
        await request.send_head("/page/enter", f"Content-Length: {length}")
        assert await request.read_status() == 413


async def test_mcp_with_endless_body_answers_413(serve: Serve, connect: Connect) -> None:
    async with mini_app(serve) as (app, _client):
        request = await connect(app.settings.web_port)
        await request.send_head("/mcp", *PROGRAM, "Transfer-Encoding: chunked")
        assert await request.send_without_end(CHUNK, 64 * MEGABYTE) == 413
        await request.read_end()
        assert request.bytes_sent < 16 * MEGABYTE


@pytest.mark.parametrize(
    "body",
    [
        b"Content-Length: 100\r\n\r\nshort",
        b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        b"Content-Length: 5\r\n\r\nhello, and more than that",
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\nx",
        b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel",
        b"Transfer-Encoding: gzip\r\n\r\nx",
    ],
)
async def test_body_other_than_declared_leaves_no_traceback(
    serve: Serve, connect: Connect, caplog: pytest.LogCaptureFixture, body: bytes
) -> None:
    async with mini_app(serve) as (app, client):
        request = await connect(app.settings.web_port)
        await request.send(b"POST /page/enter HTTP/1.1\r\nHost: memory.example.org\r\n" + body)
        await request.close()
        assert (await client.get("")).status_code == 200
    assert not [record for record in caplog.records if record.exc_info or record.levelno >= logging.ERROR]


async def test_slow_body_is_answered_408(serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.05)
    async with mini_app(serve) as (app, _client):
        request = await connect(app.settings.web_port)
        await request.send_head("/page/enter", "Content-Length: 100")
        assert await request.read_status() == 408
        await request.read_end()


@needs_feature("imports")
async def test_long_body_at_a_good_rate_is_received(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 5)
    async with mini_app(serve) as (app, client):
        shown = await enter(app, client)
        answer = await client.post("api/import?name=x.json&look=1", headers=shown, content=b" " * (20 * MEGABYTE))
        assert answer.status_code == 409


@pytest.mark.parametrize("begun", [b"", b"GET / HT", b"GET /page/ HTTP/1.1\r\nHost: memory.example.org\r\n"])
async def test_connection_without_complete_headers_is_closed(
    serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr(limits, "HEADER_SECONDS", 0.05)
    async with mini_app(serve) as (app, _client):
        request = await connect(app.settings.web_port)
        await request.send(begun)
        await request.read_end()


async def test_next_request_on_a_kept_connection_has_a_header_limit(
    serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with mini_app(serve) as (app, _client):
        request = await connect(app.settings.web_port)
        await request.send_head("/page/", method="GET")
        assert await request.read_status() == 200
        monkeypatch.setattr(limits, "HEADER_SECONDS", 0.05)
        await request.send_head("/page/", method="GET")
        await request.send(b"GET /page/")
        await request.read_end()


async def test_members_are_served_while_strangers_hold_slow_requests(serve: Serve, connect: Connect) -> None:
    async with mini_app(serve) as (app, client):
        shown = await enter(app, client)
        held = []
        for number in range(300):
            request = await connect(app.settings.web_port)
            if number % 3:
                await request.send_head("/page/enter", "Content-Length: 100")
            elif number % 2:
                await request.send(b"GET /page")
            held.append(request)
        assert (await client.get("api/overview", headers=shown)).status_code == 200
        assert (await client.get("")).status_code == 200
        mcp = await connect(app.settings.web_port)
        await mcp.send_head("/mcp", *PROGRAM, "Content-Length: 2")
        await mcp.send(b"{}")
        assert await mcp.read_status() == 400
        newcomer = await client.post("enter", content=sign_init_data(ANN, app.clock(), query_id="x"))
        assert newcomer.status_code == 403


async def test_member_with_slow_request_keeps_its_connection(serve: Serve, connect: Connect) -> None:
    async with mini_app(serve) as (app, client):
        header = f"X-Mneme: {(await enter(app, client))['x-mneme']}"
        member = await connect(app.settings.web_port)
        await member.send_head("/page/api/file", header, "Content-Length: 2", "Expect: 100-continue")
        assert await member.read_status() == 100  # The server awaits its body.
        await member.read_status()  # The empty line after that.
        for _ in range(limits.MAX_CONNECTIONS + 50):
            await connect(app.settings.web_port)
        await client.get("api/overview", headers={"x-mneme": "x"})
        await member.send(b"{}")
        assert await member.read_status() == 422


async def test_member_can_not_take_all_connections(serve: Serve, connect: Connect) -> None:
    async with mini_app(serve) as (app, client):
        header = f"X-Mneme: {(await enter(app, client))['x-mneme']}"
        held = []
        for _ in range(limits.MAX_CONNECTIONS_PER_PASS + 4):
            request = await connect(app.settings.web_port)
            await request.send_head("/page/api/file", header, "Content-Length: 100")
            held.append(request)
        answers = asyncio.as_completed([request.read_status() for request in held])
        assert [await next(answers) for _ in range(4)] == [429] * 4  # The others wait for their bodies.
        mcp = await connect(app.settings.web_port)
        await mcp.send_head("/mcp", *PROGRAM, "Content-Length: 2")
        await mcp.send(b"{}")
        assert await mcp.read_status() == 400


@needs_feature("imports")
async def test_member_uploads_one_file_at_a_time(serve: Serve, connect: Connect) -> None:
    async with mini_app(serve) as (app, client):
        shown = await enter(app, client)
        first = await connect(app.settings.web_port)
        header = f"X-Mneme: {shown['x-mneme']}"
        await first.send_head("/page/api/import?name=x.json", header, "Content-Length: 9", "Expect: 100-continue")
        assert await first.read_status() == 100  # The server awaits its body.
        second = await client.post("api/import?name=x.json", headers=shown, content=b"{}")
        assert "Another file is being imported." in second.json()["error"]


async def test_open_connections_and_descriptors_are_bounded(serve: Serve, connect: Connect) -> None:
    async with mini_app(serve) as (app, client):
        held = [await connect(app.settings.web_port) for _ in range(2 * limits.MAX_CONNECTIONS)]
        assert (await client.get("")).status_code == 200
        ended = [asyncio.create_task(request.read_end()) for request in held]
        done, _waiting = await asyncio.wait(ended, timeout=5, return_when=asyncio.FIRST_COMPLETED)
        assert done
        assert sum(task.done() for task in ended) >= limits.MAX_CONNECTIONS


@pytest.mark.slow
async def test_bot_answers_while_strangers_hold_more_connections_than_descriptors(
    telegram: BotApiServer, model: ModelServer, connect: Connect, tmp_path: Path
) -> None:
    port = find_free_port()
    served = {"MCP_TOKEN": TOKEN, "WEB_PORT": str(port), "WEB_URL": "https://memory.example.org"}
    environment = bot_environment(telegram, model, ANN) | served
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))  # The bot inherits this.
    try:
        async with running_bot(environment, tmp_path):
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1_024), hard))
            telegram.user_says("hello", chat_id=ANN)
            await wait_for_text(telegram, "You said: hello")
            for number in range(300):
                request = await connect(port)
                if number % 2:
                    await request.send_head("/mcp", "Content-Length: 50")
            telegram.user_says("and now?", chat_id=ANN)
            await wait_for_text(telegram, "You said: and now?")
            program = await connect(port)
            await program.send_head("/mcp", *PROGRAM, "Content-Length: 2")
            await program.send(b"{}")
            assert await program.read_status() == 400
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert log.count("web_connections_full") == 1
    assert len(log.splitlines()) < 100


def test_connections_stay_a_share_of_the_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _kind: (256, 4096))
    assert limits.compute_max_connections() == 32


async def test_same_warning_is_logged_a_few_times_a_minute(serve: Serve, connect: Connect, own_logging: None) -> None:
    from config.logs import configure_logging

    configure_logging("warning", "json")
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger().addHandler(handler)
    async with mini_app(serve) as (app, _client):
        for _ in range(50):
            request = await connect(app.settings.web_port)
            await request.send(b"nonsense\r\n\r\n")
            assert await request.read_status() == 400
            await request.close()
    logging.getLogger().removeHandler(handler)
    assert 1 <= sum("Invalid HTTP request" in line for line in lines) <= 5
