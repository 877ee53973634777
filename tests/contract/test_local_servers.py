"""Tests of finding model servers on their usual ports."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from pipeline.models.local_servers import LocalServer, find_local_servers
from tests.support.servers.web import Answer, Request, WebServer


@asynccontextmanager
async def serving(body: bytes, status: int = 200, wait: asyncio.Event | None = None) -> AsyncIterator[int]:
    """Serve `body` for every request and yield the port."""

    async def handle(request: Request) -> Answer:
        if wait is not None:
            await wait.wait()
        return Answer(status if request.target == "/v1/models" else 404, body)

    server = WebServer(handle)
    await server.start()
    try:
        yield server.port
    finally:
        await server.stop()


def listing(*names: str) -> bytes:
    return json.dumps({"object": "list", "data": [{"id": name, "object": "model"} for name in names]}).encode()


def find_closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


async def test_server_is_found_with_its_chat_models() -> None:
    async with serving(listing("qwen3:8b", "nomic-embed-text:latest", "llama3.2:3b")) as port:
        found = await find_local_servers({"LM Studio": find_closed_port(), "Ollama": port})
    assert found == [LocalServer("Ollama", f"http://127.0.0.1:{port}/v1", ("qwen3:8b", "llama3.2:3b"))]


async def test_servers_are_returned_in_the_requested_order() -> None:
    async with serving(listing("a")) as first, serving(listing("b")) as second:
        found = await find_local_servers({"LM Studio": second, "llama.cpp": first})
    assert [(server.name, server.models) for server in found] == [("LM Studio", ("b",)), ("llama.cpp", ("a",))]


async def test_server_without_a_model_is_found() -> None:
    async with serving(b'{"object": "list", "data": null}') as port:
        assert [server.models for server in await find_local_servers({"Ollama": port})] == [()]


@pytest.mark.parametrize(
    ("status", "body"),
    [(200, b"<html>hello</html>"), (200, b"[]"), (200, b'{"data": 3}'), (404, listing("a")), (401, b"{}"), (200, b"")],
)
async def test_other_server_is_not_taken_for_a_model_server(status: int, body: bytes) -> None:
    async with serving(body, status) as port:
        assert await find_local_servers({"llama.cpp": port}) == []


async def test_silent_server_does_not_delay_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.models.local_servers._ANSWER_SECONDS", 0.2)
    async with serving(listing("a"), wait=asyncio.Event()) as port, serving(listing("b")) as quick:
        begun = time.monotonic()
        found = await find_local_servers({"LM Studio": port, "Ollama": quick})
    assert [server.name for server in found] == ["Ollama"]
    assert time.monotonic() - begun < 2


async def test_local_servers_are_queried_without_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{find_closed_port()}")
    async with serving(listing("a")) as port:
        assert len(await find_local_servers({"Ollama": port})) == 1
