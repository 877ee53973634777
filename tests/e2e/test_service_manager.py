"""Tests of the notifications for systemd, with the installed program and a real datagram socket."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bot.kernel import App
from bot.monitoring import Health, ServiceManager, report_status
from bot.telegram.service import run_telegram
from tests.conftest import OpenApp
from tests.support.bot_api.server import BotApiServer
from tests.support.processes import forked_bot
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Holds, Says
from tests.support.starter import Program

pytestmark = pytest.mark.slow

ANN = 1001
ROOT = Path(__file__).parents[2]
WATCHDOG = 2.0
"""Seconds; long enough for a busy machine to feed it three times in it."""


@dataclass(slots=True)
class Systemd:
    """The systemd end of the notification socket."""

    line: socket.socket
    address: str
    heard: list[str]

    async def wait_for_line(self, what: str, within: float = 20) -> None:
        """Wait for a line that begins with `what` and discard earlier lines."""
        async with asyncio.timeout(within):
            while True:
                told = (await asyncio.get_running_loop().sock_recv(self.line, 4096)).decode().splitlines()
                self.heard += told
                if any(line.startswith(what) for line in told):
                    return

    async def has_no_line(self, what: str, within: float) -> bool:
        """Return whether no such line arrives within a number of seconds."""
        try:
            await self.wait_for_line(what, within)
        except TimeoutError:
            return True
        return False

    def forget(self) -> None:
        """Discard all lines that have arrived."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self.line.recv(4096)


@pytest.fixture
def abstract() -> bool:
    """Return whether the notification socket is in the abstract namespace."""
    return False


@pytest.fixture
def systemd(tmp_path: Path, *, abstract: bool) -> Iterator[Systemd]:
    """Open a notification socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        address = f"@mneme-test-{os.getpid()}" if abstract else f"{tmp_path}/notify"
        line.bind(f"\0{address[1:]}" if abstract else address)
        line.setblocking(False)
        yield Systemd(line, address, [])


@pytest.fixture
async def telegram() -> AsyncIterator[BotApiServer]:
    """Run a local Telegram."""
    async with BotApiServer() as server:
        yield server


Run = Callable[[], AbstractAsyncContextManager[Program]]


@pytest.fixture
def run(telegram: BotApiServer, model: ModelServer, systemd: Systemd, tmp_path: Path) -> Run:
    """Return a context manager that runs `mneme run` with only a unit's environment and kills it at the end."""

    @contextlib.asynccontextmanager
    async def running() -> AsyncIterator[Program]:
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "NOTIFY_SOCKET": systemd.address,
            "WATCHDOG_USEC": str(int(WATCHDOG * 1_000_000)),
            "MNEME_DATA_DIR": str(tmp_path / "data"),
            "TELEGRAM_BOT_TOKEN": BotApiServer.TOKEN,
            "TELEGRAM_API_URL": telegram.url,
            "TELEGRAM_ALLOWED_IDS": str(ANN),
            "OPENAI_BASE_URL": model.url,
            "LLM_MODEL": "scripted",
        }
        async with forked_bot(environment, tmp_path) as process:
            yield process

    return running


@pytest.mark.parametrize("abstract", [False, True])
async def test_service_is_ready_after_a_poll_and_feeds_the_watchdog(
    run: Run, systemd: Systemd, telegram: BotApiServer
) -> None:
    async with run() as process:
        await systemd.wait_for_line("READY=1")
        assert any(call.ok for call in telegram.list_calls("getUpdates"))
        for _ in range(3):
            await systemd.wait_for_line("WATCHDOG=1", within=WATCHDOG)
        process.send_signal(signal.SIGTERM)
        await systemd.wait_for_line("STOPPING=1")
        assert await process.wait() == 0
    assert systemd.heard.count("READY=1") == 1
    assert "STATUS=Serving Telegram: 0 answers being written, 0 messages waiting" in systemd.heard


async def test_hanging_program_starves_the_watchdog_and_its_successor_answers(
    run: Run, systemd: Systemd, telegram: BotApiServer
) -> None:
    async with run() as process:
        await systemd.wait_for_line("WATCHDOG=1")
        process.send_signal(signal.SIGSTOP)
        telegram.user_says("hello", chat_id=ANN)
        systemd.forget()
        assert await systemd.has_no_line("WATCHDOG=1", within=WATCHDOG)
        # This is what systemd does then.
        process.kill()
    async with run():
        await systemd.wait_for_line("READY=1")
        await telegram.wait_for(lambda: [message.text for message in telegram.list_sent(ANN)] == ["You said: hello"])


async def test_killed_program_is_silent_and_ready_after_a_restart(run: Run, systemd: Systemd) -> None:
    async with run() as process:
        await systemd.wait_for_line("READY=1")
        process.kill()
        await process.wait()
        systemd.forget()
    async with run():
        await systemd.wait_for_line("READY=1")


async def test_service_is_not_ready_before_the_first_poll(run: Run, systemd: Systemd, telegram: BotApiServer) -> None:
    telegram.fault("getUpdates", stall=True)
    async with run():
        await telegram.wait_for(lambda: telegram.list_calls("getUpdates"))
        assert await systemd.has_no_line("READY=1", within=0.5)


async def test_stop_notifies_waiting_users_and_keeps_finished_answers(
    run: Run, systemd: Systemd, telegram: BotApiServer, model: ModelServer
) -> None:
    model.script(Says("The first."), Holds("The sec"), Says("The second."))
    async with run() as process:
        telegram.user_says("one", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        telegram.user_says("two", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_drafts(ANN))
        await model.wait_for(lambda: len(model.requests) == 2)
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
    assert [message.text for message in telegram.list_sent(ANN)] == [
        "The first.",
        "I have to restart. Your message is safe: I'll answer it when I'm back.",
    ]
    async with run():
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 3)
    assert telegram.list_sent(ANN)[2].text == "The second."


async def test_stop_is_not_delayed_by_an_unresponsive_telegram(
    run: Run, telegram: BotApiServer, model: ModelServer
) -> None:
    model.script(Holds("thinking"))
    async with run() as process:
        telegram.user_says("one", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_drafts(ANN))
        telegram.fault("sendMessage", stall=True, times=None)
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(15):
            assert await process.wait() == 0


async def test_second_bot_on_the_same_folder_is_refused(run: Run, systemd: Systemd, tmp_path: Path) -> None:
    async with run():
        await systemd.wait_for_line("READY=1")
        (tmp_path / "log").write_bytes(b"")
        async with run() as second:
            assert await second.wait() == 1
    said = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    assert said[-1] == f"mneme: A bot is running on {tmp_path / 'data'}: stop it first, or set another MNEME_DATA_DIR."


@dataclass(slots=True)
class Stopwatch:
    """Monotonic clock that is moved by hand."""

    now: float = 0

    def __call__(self) -> float:
        return self.now


@contextlib.asynccontextmanager
async def _serve_with_status(app: App, systemd: Systemd) -> AsyncIterator[None]:
    service = asyncio.create_task(run_telegram(app))
    try:
        async with report_status(ServiceManager(systemd.address, WATCHDOG / 10), app.health, app.runner.queues):
            yield
    finally:
        service.cancel()
        await asyncio.gather(service, return_exceptions=True)


@pytest.fixture
async def served(start: OpenApp, telegram: BotApiServer) -> AsyncIterator[tuple[App, Stopwatch]]:
    """Run an App in this process with a stopwatch as its monotonic clock."""
    async with start(
        telegram_bot_token=BotApiServer.TOKEN, telegram_api_url=telegram.url, telegram_allowed_ids=str(ANN)
    ) as app:
        stopwatch = Stopwatch()
        yield replace(app, health=Health(app.database, stopwatch)), stopwatch


async def test_poll_that_never_returns_starves_the_watchdog(
    served: tuple[App, Stopwatch], systemd: Systemd, telegram: BotApiServer
) -> None:
    app, stopwatch = served
    async with _serve_with_status(app, systemd):
        await systemd.wait_for_line("READY=1")
        await telegram.wait_for(lambda: telegram.polled)
        stopwatch.now += 60
        await systemd.wait_for_line("WATCHDOG=1")  # Within the timeout of a poll.
        stopwatch.now += 600
        await systemd.wait_for_line("STATUS=Stuck: polling has come to a standstill")
        assert await systemd.has_no_line("WATCHDOG=1", within=WATCHDOG / 3)
        assert await app.health.find_trouble() == "polling has come to a standstill"


async def test_unreachable_telegram_still_feeds_the_watchdog(
    served: tuple[App, Stopwatch], systemd: Systemd, telegram: BotApiServer
) -> None:
    app, _ = served
    async with _serve_with_status(app, systemd):
        await systemd.wait_for_line("READY=1")
        await telegram.stop()
        await systemd.wait_for_line("STATUS=Telegram is out of reach, trying again: ")
        await systemd.wait_for_line("WATCHDOG=1")
        assert (await app.health.find_trouble() or "").startswith("polling does not work: ")
        await telegram.start()
        await systemd.wait_for_line("STATUS=Serving Telegram: ")
        assert await app.health.find_trouble() is None


async def test_start_without_network_becomes_ready_after_a_timeout(
    served: tuple[App, Stopwatch], systemd: Systemd, telegram: BotApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.monitoring.START_TIMEOUT_SECONDS", 0.1)
    await telegram.stop()
    app, _ = served
    async with _serve_with_status(app, systemd):
        await systemd.wait_for_line("READY=1")
    assert any(line.startswith("STATUS=Telegram is out of reach") for line in systemd.heard)


async def test_missing_database_table_starves_the_watchdog(served: tuple[App, Stopwatch], systemd: Systemd) -> None:
    app, _ = served
    async with _serve_with_status(app, systemd):
        await systemd.wait_for_line("READY=1")
        async with app.database.transaction() as connection:
            await connection.execute("ALTER TABLE jobs RENAME TO elsewhere")
        await systemd.wait_for_line("STATUS=Stuck: Database error ")
        async with app.database.transaction() as connection:
            await connection.execute("ALTER TABLE elsewhere RENAME TO jobs")
        await systemd.wait_for_line("WATCHDOG=1")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, ServiceManager()),
        ({"NOTIFY_SOCKET": ""}, ServiceManager()),
        ({"NOTIFY_SOCKET": "@x"}, ServiceManager("@x")),
        ({"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "3000000"}, ServiceManager("@x", 3.0)),
        ({"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "soon"}, ServiceManager("@x")),
        ({"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"}, ServiceManager("@x")),
    ],
)
def test_environment_selects_the_socket(environment: dict[str, str], expected: ServiceManager) -> None:
    assert ServiceManager.from_environment(environment) == expected


def test_missing_or_dead_socket_is_no_failure(tmp_path: Path) -> None:
    ServiceManager().send("READY=1")
    ServiceManager(str(tmp_path / "nobody")).send("READY=1")
