"""Model servers near by: what answers on a usual port is found, and nothing else is taken for one."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from pipeline.local.local_servers import LocalServer, find_local_servers
from tests.support.servers.web import Answer, Request, WebServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@asynccontextmanager
async def serving(body: bytes, status: int = 200, wait: asyncio.Event | None = None) -> AsyncIterator[int]:
    """A server that answers everything with `body`; its port."""

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


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


async def test_a_server_is_found_with_its_models_but_for_those_that_cannot_talk() -> None:
    async with serving(listing("qwen3:8b", "nomic-embed-text:latest", "llama3.2:3b")) as port:
        found = await find_local_servers({"LM Studio": closed_port(), "Ollama": port})
    assert found == [LocalServer("Ollama", f"http://127.0.0.1:{port}/v1", ("qwen3:8b", "llama3.2:3b"))]


async def test_several_servers_come_in_the_order_they_are_asked_for() -> None:
    async with serving(listing("a")) as first, serving(listing("b")) as second:
        found = await find_local_servers({"LM Studio": second, "llama.cpp": first})
    assert [(server.name, server.models) for server in found] == [("LM Studio", ("b",)), ("llama.cpp", ("a",))]


async def test_a_server_that_has_no_model_yet_is_found_without_any() -> None:
    async with serving(b'{"object": "list", "data": null}') as port:
        assert [server.models for server in await find_local_servers({"Ollama": port})] == [()]


@pytest.mark.parametrize(
    ("status", "body"),
    [(200, b"<html>hello</html>"), (200, b"[]"), (200, b'{"data": 3}'), (404, listing("a")), (401, b"{}"), (200, b"")],
)
async def test_what_is_no_model_server_is_not_taken_for_one(status: int, body: bytes) -> None:
    async with serving(body, status) as port:
        assert await find_local_servers({"llama.cpp": port}) == []


async def test_what_never_answers_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.local.local_servers._ANSWER_SECONDS", 0.2)
    async with serving(listing("a"), wait=asyncio.Event()) as port, serving(listing("b")) as quick:
        begun = time.monotonic()
        found = await find_local_servers({"LM Studio": port, "Ollama": quick})
    assert [server.name for server in found] == ["Ollama"]
    assert time.monotonic() - begun < 2


async def test_no_proxy_is_asked_for_what_is_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{closed_port()}")
    async with serving(listing("a")) as port:
        assert len(await find_local_servers({"Ollama": port})) == 1
