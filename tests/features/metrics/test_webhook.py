"""Tests of the bot behind a webhook over real HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx
import pytest

from bot.features.metrics.feature import MetricsFeature
from bot.features.metrics.metrics import serve_metrics
from bot.kernel import App
from bot.telegram.service import run_telegram
from bot.telegram.sources import MAX_UPDATE_BYTES
from tests.conftest import OpenApp
from tests.support.bot_api.server import BotApiServer
from tests.support.features import find_feature
from tests.support.serving import ANN, STRANGER, Serve, list_texts

SECRET = "a-secret-of-the-webhook"
HEADER = "X-Telegram-Bot-Api-Secret-Token"
URL = "https://bot.example.org/telegram"
Hooked = Callable[[], AbstractAsyncContextManager[tuple[App, str]]]


@pytest.fixture
def port() -> int:
    """Return a free port."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def hooked(start: OpenApp, telegram: BotApiServer, port: int) -> Hooked:
    """Return a function that runs the bot with a webhook and yields the App and its web address."""

    @contextlib.asynccontextmanager
    async def served() -> AsyncIterator[tuple[App, str]]:
        async with (
            start(
                telegram_bot_token=BotApiServer.TOKEN,
                telegram_api_url=telegram.url,
                telegram_allowed_ids=str(ANN),
                telegram_webhook_url=URL,
                telegram_webhook_secret=SECRET,
                metrics_port=port,
            ) as app,
            serve_metrics(app, find_feature(app, MetricsFeature).metrics, port),
        ):
            service = asyncio.create_task(run_telegram(app))
            try:
                await app.health.updates.worked.wait()
                telegram.sends_to(f"http://127.0.0.1:{port}")
                yield app, f"http://127.0.0.1:{port}"
            finally:
                service.cancel()
                await asyncio.gather(service, return_exceptions=True)

    return served


async def post(url: str, content: bytes, secret: str | None = SECRET) -> httpx.Response:
    headers = {} if secret is None else {HEADER: secret}
    async with httpx.AsyncClient(timeout=20) as client:
        return await client.post(url, content=content, headers=headers)


async def request_without_body(port: int, header: str, secret: str = SECRET) -> int:
    """Send a request with this header but no body and return the status."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"POST /telegram HTTP/1.1\r\nHost: x\r\n{HEADER}: {secret}\r\n{header}\r\n\r\n".encode())
    status = int((await reader.readline()).split()[1])
    writer.close()
    await writer.wait_closed()
    return status


def make_update(number: int, text: str, sender: int = ANN) -> bytes:
    person: dict[str, Any] = {"id": sender, "is_bot": False, "first_name": "Ann"}
    chat = {"id": sender, "type": "private", "first_name": "Ann"}
    message = {"message_id": number, "date": 1_770_000_000, "chat": chat, "from": person, "text": text}
    return json.dumps({"update_id": number, "message": message}).encode()


async def count_updates(app: App) -> int:
    """Return the number of updates in the inbox, in any state."""
    return int(await app.database.value("SELECT count(*) FROM inbox") or 0)


async def test_webhook_updates_are_answered_without_polling(hooked: Hooked, telegram: BotApiServer) -> None:
    async with hooked() as (app, url):
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: list_texts(telegram) == ["You said: hello"])
        await telegram.wait_for(lambda: not telegram.pending_update_ids)
        async with httpx.AsyncClient() as client:
            assert (await client.get(f"{url}/healthz")).text == "ok\n"
        assert await app.health.find_trouble() is None
    (call,) = telegram.list_calls("setWebhook")
    assert (call.params["url"], call.params["secret_token"]) == (URL, SECRET)
    assert "message" in call.params["allowed_updates"]
    assert not telegram.list_calls("getUpdates")
    assert not telegram.list_calls("deleteWebhook")


@pytest.mark.parametrize("secret", [None, "", "wrong", SECRET[:-1], f"{SECRET}x", "\u00e9" * 16])
async def test_request_without_the_secret_is_refused(hooked: Hooked, secret: str | None) -> None:
    async with hooked() as (app, url):
        headers = {} if secret is None else {HEADER.encode(): secret.encode("latin-1")}
        async with httpx.AsyncClient() as client:
            answer = await client.post(f"{url}/telegram", content=make_update(1, "let me in"), headers=headers)
        assert answer.status_code == 403
        assert await count_updates(app) == 0


async def test_request_with_invalid_length_or_body_is_refused(hooked: Hooked, port: int) -> None:
    async with hooked() as (app, url):
        # Each is refused before its body arrives. Any number of unauthorised requests delays no other.
        refused = [request_without_body(port, "Content-Length: 100", secret="wrong") for _ in range(50)]
        assert set(await asyncio.gather(*refused, request_without_body(port, "Content-Length: 0"))) == {400, 403}
        assert await request_without_body(port, f"Content-Length: {MAX_UPDATE_BYTES + 1}") == 413
        assert await request_without_body(port, f"Content-Length: {'9' * 10_000}") == 400
        assert await request_without_body(port, "Content-Length: -1") == 400
        assert await request_without_body(port, "Transfer-Encoding: chunked") == 411
        for nothing in (b"", b"{", b"[]", b"{}", b'{"update_id": "x"}', b"\xff", b"[" * 100_000):
            assert (await post(f"{url}/telegram", nothing)).status_code == 400
        assert (await post(f"{url}/elsewhere", make_update(1, "hello"))).status_code == 404
        assert (await post(f"{url}/healthz", make_update(1, "hello"))).status_code == 404
        assert await count_updates(app) == 0


async def test_unreadable_update_is_accepted_and_its_sender_notified(hooked: Hooked, telegram: BotApiServer) -> None:
    """If refused, Telegram would repeat it before all later updates."""
    telegram.register_chat(ANN)
    sound = make_update(7, "hello")
    async with hooked() as (app, url):
        for spoiled in (b"[" * 100_000, b"9" * 10_000):
            assert (await post(f"{url}/telegram", sound[:-1] + b', "x": ' + spoiled + b"}")).status_code == 200
        await telegram.wait_for(lambda: "I couldn't read your last message" in " ".join(list_texts(telegram)))
        assert await count_updates(app) == 0


async def test_update_is_confirmed_only_once_it_is_stored(hooked: Hooked, telegram: BotApiServer) -> None:
    async with hooked() as (app, url):
        async with app.database.transaction() as connection:
            await connection.execute("ALTER TABLE inbox RENAME TO elsewhere")
        assert (await post(f"{url}/telegram", make_update(1, "hello"))).status_code == 503
        assert await app.health.find_trouble() == "the webhook does not work: what was received can't be kept"
        update = telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.webhook_error.startswith("Wrong response from the webhook: 503"))
        assert telegram.pending_update_ids == [update]
        async with app.database.transaction() as connection:
            await connection.execute("ALTER TABLE elsewhere RENAME TO inbox")
        await telegram.wait_for(lambda: list_texts(telegram) == ["You said: hello"])
        assert await app.health.find_trouble() is None


async def test_update_sent_twice_is_answered_once(hooked: Hooked, telegram: BotApiServer) -> None:
    telegram.register_chat(ANN)
    async with hooked() as (app, url):
        answers = await asyncio.gather(*(post(f"{url}/telegram", make_update(7, "hello")) for _ in range(3)))
        assert {answer.status_code for answer in answers} == {200}
        await telegram.wait_for(lambda: list_texts(telegram))
        await app.runner.wait_until_idle(f"telegram:{ANN}")
        assert await count_updates(app) == 1
    assert list_texts(telegram) == ["You said: hello"]


async def test_message_of_a_stranger_is_not_stored(hooked: Hooked, telegram: BotApiServer) -> None:
    async with hooked() as (app, _):
        telegram.user_says("a strange thought", chat_id=STRANGER)
        await telegram.wait_for(lambda: list_texts(telegram, STRANGER))
        assert await count_updates(app) == 0
    assert "This bot is private" in list_texts(telegram, STRANGER)[0]


async def test_webhook_is_restored_if_removed_and_reported_if_unreachable(
    hooked: Hooked, telegram: BotApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.telegram.sources.CHECK_INTERVAL_SECONDS", 0.02)
    async with hooked() as (app, url):
        async with httpx.AsyncClient() as client:
            await client.post(f"{telegram.url}/bot{BotApiServer.TOKEN}/deleteWebhook")
        await telegram.wait_for(lambda: len(telegram.list_calls("setWebhook")) == 2)
        telegram.sends_to("http://127.0.0.1:9")
        telegram.user_says("hello", chat_id=ANN)
        async with asyncio.timeout(20):
            while (trouble := await app.health.find_trouble()) is None:
                pass  # Polling is a way to wait.
        assert trouble == "the webhook does not work: Telegram can't send here (Connection refused)"
        telegram.sends_to(url)
        await telegram.wait_for(lambda: list_texts(telegram) == ["You said: hello"])
        async with asyncio.timeout(20):
            while await app.health.find_trouble() is not None:
                pass


async def test_unreachable_telegram_at_the_start_is_retried(hooked: Hooked, telegram: BotApiServer) -> None:
    telegram.fault("setWebhook", error_code=502, description="Bad Gateway")
    async with hooked():
        assert [call.ok for call in telegram.list_calls("setWebhook")] == [False, True]


async def test_polling_removes_a_leftover_webhook(hooked: Hooked, serve: Serve, telegram: BotApiServer) -> None:
    async with hooked():
        pass
    telegram.user_says("hello", chat_id=ANN)
    async with serve():
        await telegram.wait_for(lambda: list_texts(telegram) == ["You said: hello"])
    assert telegram.list_calls("deleteWebhook")
