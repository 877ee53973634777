"""Answers that are long or hard to render hold up nobody, and arrive in a form that can be read."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING

from bot.telegram import rendering
from bot.telegram import rendering as layout
from bot.telegram.rendering import MAX_PARTS, split_reply
from tests.support.servers.model import Says
from tests.support.serving import ANN, STRANGER, texts

if TYPE_CHECKING:
    import pytest

    from bot.telegram.rendering import Chunk
    from tests.support.servers.model import ModelServer
    from tests.support.servers.telegram import BotApiServer
    from tests.support.serving import Serve


async def test_an_answer_of_more_than_a_handful_of_parts_is_a_file_with_its_beginning_above_it(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    answer = "\n\n".join(f"Paragraph {n}: " + "word " * 100 for n in range(100))
    model.script(Says(answer))
    async with serve():
        telegram.user_says("all of it", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.documents)
        telegram.user_says("next", chat_id=ANN)
        await telegram.wait_for(lambda: "You said: next" in texts(telegram))
    assert [document.decode() for document in telegram.documents] == [answer.strip()]
    first, note, file, _ = texts(telegram)
    assert first.startswith("Paragraph 0")
    assert note == "[...] The whole answer is in this file."
    assert file == ""


async def test_an_answer_that_is_slow_to_render_holds_up_no_other_chat(
    serve: Serve, telegram: BotApiServer, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, over = rendering.render, threading.Event()

    def slow(markdown: str) -> list[Chunk]:
        if markdown.startswith("slow"):
            over.wait(60)  # at most, or a failure of this test would never end
        return real(markdown)

    monkeypatch.setattr(layout, "render", slow)
    monkeypatch.setattr(layout, "RENDER_SECONDS", 0.5)
    model.script(Says("slow and **late**"))
    async with serve(telegram_allowed_ids=f"{ANN},{STRANGER}"):
        telegram.user_says("first", chat_id=ANN)
        await telegram.wait_for(lambda: model.requests)
        telegram.user_says("second", chat_id=STRANGER)
        await telegram.wait_for(lambda: telegram.sent(STRANGER))
        assert telegram.sent(ANN) == []
        await telegram.wait_for(lambda: telegram.sent(ANN))
        over.set()
    assert texts(telegram) == ["slow and **late**"]  # as it was written: rendering had its time


async def test_ten_million_characters_become_a_few_messages_at_once() -> None:
    began = time.perf_counter()
    for mark in ("1. ", "word ", "<a "):
        assert len(await split_reply(mark * (10_000_000 // len(mark)))) <= MAX_PARTS
    assert time.perf_counter() - began < 5


async def test_stop_ends_the_parts_of_an_answer_that_were_not_sent_yet(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    model.script(Says("\n\n".join("word " * 600 for _ in range(5))))
    held = asyncio.Event()
    telegram.fault("sendMessage", late=held)
    async with serve() as app:
        telegram.user_says("all of it", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.sent(ANN))
        telegram.user_says("/stop", chat_id=ANN)
        while await app.database.value("SELECT count(*) FROM outbox") < 2:
            pass
        held.set()
        await telegram.wait_for(lambda: len(telegram.sent(ANN)) == 2)
    assert [text[:4] for text in texts(telegram)] == ["word", "Noth"]


async def test_a_chat_that_takes_no_files_gets_the_beginning_as_messages(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    model.script(Says("word " * 20_000))
    telegram.fault("sendDocument", error_code=400, description="Bad Request: not enough rights to send documents")
    async with serve():
        telegram.user_says("all of it", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.sent(ANN)) == 2 + 5)
    assert telegram.documents == []
