"""Tests of context windows: the endpoint overrides the table, and a setting overrides both."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from config.models import load_catalogue
from pipeline.models.windows import StatedWindow, ask_window
from tests.conftest import OpenApp
from tests.support.fakes import FakeClock, Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import ChatRequest, Fails, Says
from tests.support.servers.web import Answer, Request, WebServer

DEFAULT = load_catalogue().default


def listing(**fields: Any) -> dict[str, object]:
    return {"object": "list", "data": [{"id": "other", "max_model_len": 1111}, {"id": "scripted"} | fields]}


LLAMA_CPP = listing(owned_by="llamacpp", meta={"n_ctx_train": 131072, "n_params": 8030261248, "size": 1})
OLLAMA = {"parameters": 'stop "<|eot_id|>"', "model_info": {"general.basename": "x", "llama.context_length": 131072}}


@pytest.mark.parametrize(
    ("pages", "said"),
    [
        ({"/v1/models": listing(max_model_len=16384)}, StatedWindow(16384)),
        ({"/v1/models": listing(max_context_length=32000)}, StatedWindow(32000)),
        ({"/v1/models": listing(context_window=131072, max_completion_tokens=8192)}, StatedWindow(131072, 8192)),
        (
            {"/v1/models": listing(context_length=400000, top_provider={"max_completion_tokens": 128000})},
            StatedWindow(400000, 128000),
        ),
        ({"/v1/models": listing(owned_by="llamacpp", meta={"n_ctx": 6144, "n_ctx_train": 131072})}, StatedWindow(6144)),
        ({"/v1/models": LLAMA_CPP, "/props": {"default_generation_settings": {"n_ctx": 4096}}}, StatedWindow(4096)),
        (
            {"/v1/models": listing(), "/api/v0/models": listing(state="loaded", loaded_context_length=8192)},
            StatedWindow(8192),
        ),
        (
            {"/v1/models": listing(), "/api/v0/models": listing(state="not-loaded", max_context_length=131072)},
            StatedWindow(4096, final=False),
        ),
        ({"/v1/models": listing(), "/api/show": OLLAMA, "/api/ps": {"models": []}}, StatedWindow(4096, final=False)),
        (
            {"/v1/models": listing(), "/api/show": OLLAMA | {"parameters": "num_ctx             16384\nstop x"}},
            StatedWindow(16384, final=False),
        ),
        ({"/api/show": OLLAMA | {"remote_host": "https://ollama.example"}}, StatedWindow(131072)),
        (
            {
                "/api/show": OLLAMA,
                "/api/ps": {"models": [{"model": "scripted:latest", "context_length": 32768}]},
            },
            StatedWindow(32768),
        ),
        ({"/v1/models": listing()}, StatedWindow()),
        ({"/v1/models": listing(max_model_len="many", context_length=None, meta={"n_ctx": 0})}, StatedWindow()),
        ({"/v1/models": ["nonsense"], "/api/show": 3, "/props": {}}, StatedWindow()),
        ({}, StatedWindow()),
    ],
)
async def test_window_is_read_from_every_kind_of_server(
    model: ModelServer, pages: dict[str, object], said: StatedWindow
) -> None:
    model.pages = pages
    assert await ask_window(model.url, "key", "scripted") == said


async def test_window_query_to_a_silent_server_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(request: Request) -> Answer | None:
        await asyncio.Event().wait()
        return None

    monkeypatch.setattr("pipeline.models.windows.TIMEOUT_SECONDS", 0.1)
    server = WebServer(never)
    await server.start()
    try:
        assert await ask_window(f"http://127.0.0.1:{server.port}/v1", "key", "scripted") is None
    finally:
        await server.stop()


async def test_window_is_known_before_first_request_and_after_restart(start: OpenApp, model: ModelServer) -> None:
    model.pages = {"/v1/models": listing(max_model_len=5000)}
    async with start() as app:
        assert app.models.usual.window == DEFAULT
        await Person(app).says("x" * 30_000)
        assert app.models.usual.window.max_input_tokens == 5000
    assert model.requests[0].tokens < 5000
    async with start() as app:
        await Person(app).says("Hello")
        assert app.models.usual.window.max_input_tokens == 5000
    assert model.visited == ["/v1/models"]


async def test_window_is_queried_again_after_a_day(start: OpenApp, model: ModelServer, clock: FakeClock) -> None:
    model.pages = {"/v1/models": listing(max_model_len=5000)}
    async with start() as app:
        person = Person(app)
        await person.says("Hello")
        model.pages = {"/v1/models": listing(max_model_len=9000)}
        clock.forward(hours=23)
        await person.says("Hello")
        assert app.models.usual.window.max_input_tokens == 5000
        clock.forward(hours=2)
        await person.says("Hello")
        assert app.models.usual.window.max_input_tokens == 9000


async def test_window_of_ollama_is_small_until_the_model_is_loaded(start: OpenApp, model: ModelServer) -> None:
    model.pages = {"/v1/models": listing(), "/api/show": OLLAMA}

    def answer(request: ChatRequest) -> Says:
        model.pages["/api/ps"] = {"models": [{"model": "scripted", "context_length": 24576}]}
        return Says("Hello.")

    model.otherwise = answer
    windows = []
    async with start() as app:
        person = Person(app)
        for _ in range(3):
            await person.says("Hello")
            windows.append(app.models.usual.window.max_input_tokens)
    assert windows == [4096, 24576, 24576]
    assert model.visited.count("/api/show") == 2


async def test_window_setting_overrides_all_without_a_query(start: OpenApp, model: ModelServer) -> None:
    model.pages = {"/v1/models": listing(max_model_len=5000)}
    async with start() as app:
        await Person(app).says("Hello")
    model.visited.clear()
    async with start(llm_context_tokens=12_000) as app:
        await Person(app).says("Hello")
        assert app.models.usual.window.max_input_tokens == 12_000
        assert "12,000" in await Person(app).says("/status")
    assert model.visited == []


async def test_window_of_a_refusing_endpoint_is_from_the_table(start: OpenApp, model: ModelServer) -> None:
    model.otherwise = lambda _: Fails(401)
    async with start() as app:
        await Person(app).says("Hello")
        assert app.models.usual.window == DEFAULT


async def test_key_in_an_address_is_not_stored(start: OpenApp, model: ModelServer) -> None:
    secret = model.url.replace("127.0.0.1", "olena:hunter2@127.0.0.1")
    async with start(openai_base_url=secret) as app:
        await Person(app).says("Hello")
        rows = await app.database.rows("SELECT * FROM endpoints")
    assert rows
    assert "hunter2" not in str([tuple(row) for row in rows])
