"""Tests of metrics, health and the log line of a turn."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

import httpx
import pytest

from bot.features.metrics.feature import MetricsFeature
from bot.features.metrics.metrics import Metrics, serve_metrics
from bot.kernel import App
from bot.telegram.service import run_telegram
from config.errors import ConfigurationError
from config.logs import configure_logging
from memory.runtime.usage import TokenUse
from pipeline.order import ORDER
from tests.conftest import OpenApp
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import Person
from tests.support.features import find_feature
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Fails, Holds

ANN = 1001

Observed = Callable[[], AbstractAsyncContextManager[tuple[App, str]]]


@pytest.fixture
async def telegram() -> AsyncIterator[BotApiServer]:
    """Run a local Telegram."""
    async with BotApiServer() as server:
        yield server


@pytest.fixture
def port() -> int:
    """Return a free port."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def serve(start: OpenApp, telegram: BotApiServer, port: int, own_logging: None) -> Observed:
    """Return a function that runs the bot with metrics and yields the App and their address."""

    @contextlib.asynccontextmanager
    async def served() -> AsyncIterator[tuple[App, str]]:
        configure_logging("error", "json")
        async with start(
            telegram_bot_token=BotApiServer.TOKEN,
            telegram_api_url=telegram.url,
            telegram_allowed_ids=str(ANN),
            metrics_port=port,
        ) as app:
            service = asyncio.create_task(run_telegram(app))
            try:
                async with serve_metrics(app, find_feature(app, MetricsFeature).metrics, port):
                    await app.health.updates.worked.wait()
                    yield app, f"http://127.0.0.1:{port}"
            finally:
                service.cancel()
                await asyncio.gather(service, return_exceptions=True)

    return served


async def fetch_page(url: str) -> httpx.Response:
    async with httpx.AsyncClient(timeout=20) as client:
        return await client.get(url)


async def wait_for_health(status: int, url: str) -> str:
    """Wait until /healthz has this status and return its text."""
    async with asyncio.timeout(20):
        while (answer := await fetch_page(f"{url}/healthz")).status_code != status:
            pass
    return answer.text


async def read_metrics(url: str) -> dict[str, float]:
    """Return the samples by name and labels, as Prometheus writes them."""
    text = (await fetch_page(f"{url}/metrics")).text
    lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


async def test_metrics_count_turns_systems_and_tokens(
    serve: Observed, telegram: BotApiServer, model: ModelServer
) -> None:
    model.script(Fails(401, "bad key"))
    async with serve() as (app, url):
        for count, text in enumerate(("one", "two", "/remember The hive is in Poltava"), start=1):
            telegram.user_says(text, chat_id=ANN)
            await telegram.wait_for(lambda count=count: len(telegram.list_sent(ANN)) == count)  # type: ignore[misc]
            await app.runner.wait_until_idle(f"telegram:{ANN}")
        async with asyncio.timeout(20):  # Sent messages are settled a moment later.
            while (found := await read_metrics(url))["mneme_outbox_length"]:
                pass
    assert found['mneme_turns_total{outcome="failed"}'] == 1
    assert found['mneme_turns_total{outcome="answered"}'] == 1
    assert found['mneme_turns_total{outcome="stopped"}'] == 0
    assert found["mneme_turn_seconds_count"] == 2
    for place in ORDER[:5]:
        assert found[f'mneme_system_seconds_count{{system="{place.system}"}}'] == 2
    assert found['mneme_tokens_total{kind="prompt",model="scripted",purpose="turn"}'] > 0
    # The price of the scripted model is unknown.
    assert not any(name.startswith("mneme_cost_dollars_total") for name in found)
    assert found['mneme_memories{kind="note"}'] == 1
    assert (found["mneme_queue_length"], found["mneme_inbox_length"]) == (0, 0)
    assert found["mneme_healthy"] == 1


async def test_metrics_of_priced_model_count_its_cost(start: OpenApp, model: ModelServer) -> None:
    metrics = Metrics(lambda use: use.cost_usd)
    metrics.count_tokens(TokenUse("dear", "turn", 1_000, 10, cost_usd=0.25))
    metrics.count_tokens(TokenUse("unknown", "turn", 1_000, 10))
    async with start() as app:
        page = (await metrics.render(app.database, app.health, app.runner.queues)).decode()
    assert 'mneme_cost_dollars_total{model="dear",purpose="turn"} 0.25' in page
    assert 'mneme_cost_dollars_total{model="unknown"' not in page


async def test_metrics_count_waiting_messages_and_failures(
    serve: Observed, telegram: BotApiServer, model: ModelServer
) -> None:
    held = Holds("thinking")
    model.script(held)
    async with serve() as (app, url):
        telegram.user_says("one", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_drafts(ANN))
        telegram.user_says("two", chat_id=ANN)
        await telegram.wait_for(lambda: app.runner.queues.count_waiting(f"telegram:{ANN}") == 1)
        found = await read_metrics(url)
        assert (found["mneme_sessions_running"], found["mneme_queue_length"], found["mneme_inbox_length"]) == (1, 1, 2)
        telegram.fault("sendMessage", stall=True)
        held.release.set()
        await telegram.wait_for(lambda: telegram.list_calls("sendMessage"))
        assert (await read_metrics(url))["mneme_outbox_length"] >= 1
        telegram.fault("getUpdates", error_code=409)
        telegram.user_says("three", chat_id=ANN)
        await telegram.wait_for(lambda: any(call.error_code == 409 for call in telegram.list_calls("getUpdates")))
        async with asyncio.timeout(20):
            while 'mneme_errors_total{logger="bot.telegram.sources"}' not in await read_metrics(url):
                pass  # Polling is a way to wait.


async def test_health_is_200_or_503_with_the_reason(serve: Observed, telegram: BotApiServer) -> None:
    async with serve() as (app, url):
        assert (await fetch_page(f"{url}/healthz")).status_code == 200
        await telegram.stop()
        assert (await wait_for_health(503, url)).startswith("polling does not work: ")
        await telegram.start()
        assert await wait_for_health(200, url) == "ok\n"
        async with app.database.transaction() as connection:
            await connection.execute("ALTER TABLE jobs RENAME TO elsewhere")
        assert (await fetch_page(f"{url}/healthz")).status_code == 503
        assert (await fetch_page(f"{url}/anything")).status_code == 404


async def test_port_in_use_is_one_sentence(start: OpenApp, port: int) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        async with start(metrics_port=port) as app:
            with pytest.raises(ConfigurationError, match=f"Port {port} is in use: choose another with METRICS_PORT"):
                async with serve_metrics(app, find_feature(app, MetricsFeature).metrics, port):
                    pass


async def test_prometheus_is_loaded_only_if_configured() -> None:
    program = "import sys, bot.cli, bot.app, bot.telegram.service; sys.exit('prometheus_client' in sys.modules)"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, env={"PYTHONPATH": ":".join(sys.path), "PTB_TIMEDELTA": "1"}
    )
    assert await process.wait() == 0


async def test_turn_logs_one_line_with_the_time_of_each_system(
    start: OpenApp, own_logging: None, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logging("info", "json")
    async with start() as app:
        await Person(app).says("hello")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    (finished,) = [line for line in lines if line["event"] == "turn_finished"]
    assert finished["turn"]
    assert finished["session"] == "console:local"
    assert finished["outcome"] == "answered"
    assert [place.system for place in ORDER if place.system in finished["ms"]] == [place.system for place in ORDER]
