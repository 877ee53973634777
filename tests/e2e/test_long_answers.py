"""Tests of answers that are long or slow to render."""

from __future__ import annotations

import asyncio
import threading

import pytest

from bot.telegram import rendering
from bot.telegram import rendering as layout
from bot.telegram.rendering import MAX_PARTS, Chunk, split_reply
from tests.support.bot_api.server import BotApiServer
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Says
from tests.support.serving import ANN, STRANGER, Serve, list_texts


@pytest.mark.slow
async def test_very_long_answer_is_a_file_below_its_beginning(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    answer = "\n\n".join(f"Paragraph {n}: " + "word " * 100 for n in range(60))
    model.script(Says(answer))
    async with serve():
        telegram.user_says("all of it", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.documents)
        telegram.user_says("next", chat_id=ANN)
        await telegram.wait_for(lambda: "You said: next" in list_texts(telegram))
    assert [document.decode() for document in telegram.documents] == [answer.strip()]
    first, note, file, _ = list_texts(telegram)
    assert first.startswith("Paragraph 0")
    assert note == "[...] The whole answer is in this file."
    assert file == ""


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """An event until which answers that begin with "slow" are being rendered."""
    real, over = rendering.render, threading.Event()

    def slow(markdown: str) -> list[Chunk]:
        if markdown.startswith("slow"):
            over.wait(60)  # A limit, so that a failure of a test ends.
        return real(markdown)

    monkeypatch.setattr(layout, "render", slow)
    monkeypatch.setattr(layout, "RENDER_SECONDS", 60)
    return over


async def test_answer_slow_to_render_delays_no_other_chat(
    serve: Serve, telegram: BotApiServer, model: ModelServer, rendered: threading.Event
) -> None:
    model.script(Says("slow and **late**"))
    async with serve(telegram_allowed_ids=f"{ANN},{STRANGER}"):
        telegram.user_says("first", chat_id=ANN)
        await telegram.wait_for(lambda: model.requests)
        telegram.user_says("second", chat_id=STRANGER)
        await telegram.wait_for(lambda: telegram.list_sent(STRANGER))
        assert telegram.list_sent(ANN) == []
        rendered.set()
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    assert list_texts(telegram) == ["slow and late"]


async def test_answer_too_slow_to_render_is_sent_as_written(
    serve: Serve,
    telegram: BotApiServer,
    model: ModelServer,
    rendered: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(layout, "RENDER_SECONDS", 0.1)
    model.script(Says("slow and **late**"))
    async with serve():
        telegram.user_says("first", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        rendered.set()
    assert list_texts(telegram) == ["slow and **late**"]


@pytest.mark.timeout(60)  # seconds: splitting that isn't linear takes much longer
async def test_ten_million_characters_are_split() -> None:
    for mark in ("1. ", "word ", "<a "):
        assert len(await split_reply(mark * (10_000_000 // len(mark)))) <= MAX_PARTS


async def test_stop_cancels_the_unsent_parts_of_an_answer(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    model.script(Says("\n\n".join("word " * 600 for _ in range(5))))
    held = asyncio.Event()
    telegram.fault("sendMessage", late=held)
    async with serve() as app:
        telegram.user_says("all of it", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        telegram.user_says("/stop", chat_id=ANN)
        while await app.database.value("SELECT count(*) FROM outbox") < 2:
            pass
        held.set()
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
    assert [text[:4] for text in list_texts(telegram)] == ["word", "Noth"]


@pytest.mark.slow
async def test_chat_without_file_permission_gets_the_beginning_as_messages(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    model.script(Says("word " * 7_000))
    telegram.fault("sendDocument", error_code=400, description="Bad Request: not enough rights to send documents")
    async with serve():
        telegram.user_says("all of it", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2 + 5)
    assert telegram.documents == []
