"""Tests of outages: unusual server responses never end the bot, and retries start soon."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from telegram.error import RetryAfter

from bot.telegram import sources as token_module
from bot.telegram.failures import MAX_FLOOD_PAUSE_SECONDS, to_send_failure
from bot.telegram.service import create_bot, run_telegram
from bot.telegram.sources import (
    CONFLICT_OVER_SECONDS,
    MIN_REPORTED_SECONDS,
    PERMANENT_REFUSAL_SECONDS,
    ConflictLog,
    TokenWatch,
)
from config.errors import ConfigurationError
from config.settings import Settings
from memory.runtime.menu_cache import MenuCache
from memory.store.database import Database
from tests.conftest import OpenApp
from tests.support.bot_api.server import BotApiServer
from tests.support.serving import ANN, Serve, list_texts

ROOT = Path(__file__).parents[2]
OUTAGES: dict[str, dict[str, Any]] = {
    "404": {"error_code": 404},
    "401": {"error_code": 401},
    "a page with 200": {"error_code": 200, "html": True},
    "a page with 404": {"error_code": 404, "html": True},
    "a page with 502": {"error_code": 502, "html": True},
    "no JSON": {"body": b"\xff\x00"},
    "an empty body": {"body": b""},
    "another type": {"body": b"[1, 2]"},
    "nothing in it": {"body": b"{}"},
    "nested without end": {"body": b"[" * 100_000},
    "a number without end": {"body": b'{"ok": true, "result": ' + b"9" * 10_000 + b"}"},
    "good for something else": {"body": b'{"ok": true, "result": true}'},
}


class Stopwatch:
    """Monotonic clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(params=list(OUTAGES))
def outage(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return the fault that answers every call."""
    return OUTAGES[request.param]


@pytest.mark.slow
async def test_bot_recovers_after_any_outage_without_a_restart(
    serve: Serve, telegram: BotApiServer, outage: dict[str, Any]
) -> None:
    async with serve() as app:
        polls = len(telegram.list_calls("getUpdates"))
        telegram.fault("*", times=None, **outage)
        telegram.user_says("hello", chat_id=ANN)  # Ends the poll that began earlier.
        await telegram.wait_for(lambda: len(telegram.list_calls("getUpdates")) >= polls + 3)
        assert await app.health.find_trouble() is not None
        telegram.user_says("are you there?", chat_id=ANN)
        telegram.clear_faults()
        await telegram.wait_for(lambda: "are you there?" in " ".join(list_texts(telegram)), timeout=15)
        await telegram.wait_for(lambda: telegram.polled)
        assert await app.health.find_trouble() is None


@pytest.mark.slow
async def test_start_during_an_outage_waits_for_its_end(
    serve: Serve, telegram: BotApiServer, outage: dict[str, Any]
) -> None:
    async with serve():
        pass
    telegram.fault("*", times=2, **outage)
    async with serve(ready=False):
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: "You said: hello" in list_texts(telegram))


async def test_reply_held_by_an_outage_arrives_seconds_after_it(serve: Serve, telegram: BotApiServer) -> None:
    async with serve():
        telegram.fault("sendMessage", error_code=200, html=True, times=None)
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_calls("sendMessage")) == 3)
        telegram.clear_faults()
        await telegram.wait_for(lambda: telegram.list_sent(ANN), timeout=15)
    assert list_texts(telegram) == ["You said: hello"]


@pytest.mark.parametrize("code", [404, 401])
async def test_token_that_never_worked_ends_the_bot(start: OpenApp, telegram: BotApiServer, code: int) -> None:
    telegram.fault("getMe", error_code=code, times=None)
    async with start(telegram_bot_token=telegram.TOKEN, telegram_api_url=telegram.url) as app:
        with pytest.raises(ConfigurationError, match="refuses TELEGRAM_BOT_TOKEN"):
            await run_telegram(app)


async def test_token_other_than_the_working_one_is_refused_at_once(
    serve: Serve, start: OpenApp, telegram: BotApiServer
) -> None:
    async with serve():
        pass
    async with start(telegram_bot_token="1234567:a-typo-in-it", telegram_api_url=telegram.url) as app:
        with pytest.raises(ConfigurationError, match="refuses TELEGRAM_BOT_TOKEN"):
            await run_telegram(app)


@pytest.fixture
def watch(database: Database) -> tuple[TokenWatch, Stopwatch, list[timedelta]]:
    """Return a token watch, its clock and the durations reported to the owner."""
    stopwatch, told = Stopwatch(), list[timedelta]()
    made = TokenWatch(MenuCache(database, "telegram"), "1:x", stopwatch)

    async def tell(duration: timedelta) -> None:
        told.append(duration)

    made.tell = tell
    return made, stopwatch, told


def test_second_poller_is_logged_at_once_every_hour_and_at_its_end() -> None:
    stopwatch = Stopwatch()
    conflicts = ConflictLog(stopwatch)
    with capture_logs() as logs:
        for _ in range(61):
            conflicts.record_conflict()
            stopwatch.now += 60
            conflicts.record_success()  # Between two conflicts polls succeed
        assert [entry["event"] for entry in logs] == ["polling_conflict", "polling_conflict"]
        stopwatch.now += CONFLICT_OVER_SECONDS
        conflicts.record_success()
        conflicts.record_success()
        conflicts.record_conflict()
    assert [entry["event"] for entry in logs[2:]] == ["polling_conflict_over", "polling_conflict"]


async def test_token_refusal_is_permanent_after_ten_uninterrupted_minutes(
    watch: tuple[TokenWatch, Stopwatch, list[timedelta]],
) -> None:
    token, stopwatch, _ = watch
    with capture_logs() as logs:
        assert "worked before" in token.record_refusal()
        stopwatch.now += PERMANENT_REFUSAL_SECONDS - 1
        assert "worked before" in token.record_refusal()
        token.record_other_failure()
        stopwatch.now += 2
        token.record_refusal()
        assert [token.is_permanent] == [False]
        stopwatch.now += PERMANENT_REFUSAL_SECONDS
        assert "refused for 10 minutes: copy TELEGRAM_BOT_TOKEN" in token.record_refusal()
        assert [token.is_permanent] == [True]
    assert [entry["event"] for entry in logs] == ["token_refused"] * 3 + ["token_refused_for_good"]
    await token.record_acceptance()
    assert [token.is_permanent] == [False]


async def test_owner_is_told_once_of_lasting_token_refusals(
    watch: tuple[TokenWatch, Stopwatch, list[timedelta]],
) -> None:
    token, stopwatch, told = watch
    token.record_refusal()
    stopwatch.now += MIN_REPORTED_SECONDS - 1
    await token.record_acceptance()
    assert told == []
    token.record_refusal()
    stopwatch.now += 65
    token.record_other_failure()
    await token.record_acceptance()
    await token.record_acceptance()
    assert told == [timedelta(seconds=65)]


async def test_owner_is_told_in_the_chat_of_a_refused_token(
    serve: Serve, telegram: BotApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_module, "MIN_REPORTED_SECONDS", 0.0)
    async with serve() as app:
        telegram.fault("getUpdates", error_code=401, times=None)
        telegram.user_says("hello", chat_id=ANN)
        # An answer to earlier updates may still be on its way, so the refusals go on until the bot has noticed them.
        await telegram.wait_for(lambda: app.health.updates.trouble is not None)
        assert "token" in str(await app.health.find_trouble())
        telegram.clear_faults()
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
    assert any("Telegram rejected my token" in text for text in list_texts(telegram))


async def test_log_and_status_show_neither_token_nor_whole_pages(serve: Serve, telegram: BotApiServer) -> None:
    async with serve():
        pass
    telegram.fault("*", error_code=404, times=2)
    telegram.fault("*", error_code=502, html=True, times=1)
    with capture_logs() as logs:
        async with serve(ready=False) as app:
            await telegram.wait_for(lambda: telegram.polled)
            assert await app.health.find_trouble() is None
    assert telegram.TOKEN not in str(logs)
    assert all(len(str(entry)) < 500 for entry in logs)


def test_retry_after_is_limited() -> None:
    assert to_send_failure(RetryAfter(10**9)).pause == MAX_FLOOD_PAUSE_SECONDS


@pytest.mark.parametrize("unit", ["mneme.service", "mneme@.service"])
def test_systemd_restarts_unless_the_configuration_is_wrong(unit: str) -> None:
    lines = (ROOT / "deploy" / unit).read_text(encoding="utf-8").splitlines()
    assert {"Restart=always", "RestartPreventExitStatus=2", "StartLimitIntervalSec=0"} <= set(lines)


async def test_local_bot_api_server_bypasses_the_proxy(telegram: BotApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    settings = Settings.model_validate({"telegram_bot_token": telegram.TOKEN, "telegram_api_url": telegram.url})
    async with create_bot(settings) as bot:
        assert bot.username == "mneme_test_bot"
