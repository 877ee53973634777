"""Fixtures of most tests: data directory, clock, scripted model, running App."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Protocol

import aiosqlite.core
import hypothesis
import pytest
import structlog

from bot.app import open_app
from bot.features.registry import FEATURES
from bot.kernel import App
from config.models import ModelWindow, load_catalogue
from config.settings import Settings
from memory.store.database import Database
from tests.support.blank import write_blank
from tests.support.fakes import FakeClock, Person
from tests.support.servers.model import ModelServer

# a slow machine is no failure, and nothing is written outside of a test's own folder
hypothesis.settings.register_profile("mneme", deadline=None, database=None, max_examples=25)
hypothesis.settings.register_profile("long", deadline=None, database=None, max_examples=10_000)
hypothesis.settings.load_profile("mneme")
# a test that fails before it has closed its database must not keep pytest from ending: the program waits for no thread
aiosqlite.core.Thread = partial(Thread, daemon=True)  # type: ignore[attr-defined, assignment]  # no choice is offered


_IN_MEMORY = "/dev/shm"  # noqa: S108  # pytest makes a folder there that is the user's alone
_ROOM = 2 * 10**9
_HIDDEN = frozenset(
    (
        *(*Settings.model_fields, "mneme_env_file"),
        *("http_proxy", "https_proxy", "all_proxy", "lc_all", "lc_messages", "lang"),
        *("ssl_cert_file", "ssl_cert_dir"),
    )
)
"""Names of environment variables, in small letters, that no test inherits from the machine."""


def log_plainly() -> None:
    """Log as structlog does by default, but without formatted tracebacks, which are slow."""
    structlog.reset_defaults()
    plain = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*structlog.get_config()["processors"][:-1], plain])


log_plainly()


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


# For Python's own handler, asyncio would install another one at each run of a loop, and `signal` formats the results of
# all fixtures for it, which takes milliseconds.
signal.signal(signal.SIGINT, _interrupt)


@pytest.hookimpl(optionalhook=True)  # so that the tests run without xdist, too
def pytest_xdist_auto_num_workers() -> int:
    """Use two more workers than cores, because many tests wait for processes."""
    return (os.cpu_count() or 1) + 2


def pytest_configure() -> None:
    """Put the folders of the tests in memory if there is room, because most of their time is disk access."""
    with contextlib.suppress(OSError):
        if shutil.disk_usage(_IN_MEMORY).free > _ROOM and os.access(_IN_MEMORY, os.W_OK):
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", _IN_MEMORY)


@pytest.fixture(autouse=True)
def _own_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the machine's settings, .env, proxy, certificates and language from all tests."""
    for name in [name for name in os.environ if name.lower() in _HIDDEN]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MNEME_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TIMEZONE", "UTC")
    # the programs that tests start keep their compiled modules, as everywhere: without, each is compiled at each start
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PTB_TIMEDELTA", "1")
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.001)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def own_logging() -> Iterator[None]:
    """Restore the logging configuration after the test."""
    root = logging.getLogger()
    before = root.handlers, root.level
    levels = {
        name: logger.level for name, logger in root.manager.loggerDict.items() if isinstance(logger, logging.Logger)
    }
    yield
    root.handlers, root.level = before
    for name, level in levels.items():
        logger = logging.getLogger(name)
        if logger.level != level:  # Setting it empties the caches of all loggers.
            logger.setLevel(level)
    log_plainly()


@pytest.fixture
def clock() -> FakeClock:
    """Return a clock that starts on 2026-02-07 12:15 UTC."""
    return FakeClock()


@pytest.fixture(scope="session")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write an empty database to be copied."""
    return write_blank(tmp_path_factory.mktemp("blank") / "mneme.db")


def copy_blank(blank: Path, folder: Path) -> Path:
    """Create the blank database if needed and return its path."""
    if not folder.exists():
        folder.mkdir(mode=0o700)
        shutil.copy(blank, folder)
    return folder / blank.name


@pytest.fixture
async def database(tmp_path: Path, blank: Path, clock: FakeClock) -> AsyncIterator[Database]:
    """Open a fresh database."""
    opened = await Database.open(copy_blank(blank, tmp_path / "data"), clock=clock)
    yield opened
    await opened.close()


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    """Run a scripted model."""
    async with ModelServer() as server:
        yield server


class OpenApp(Protocol):
    """Return a function that opens an App on the test's data directory, repeatedly for restarts."""

    def __call__(self, window: int | None = None, **settings: object) -> AbstractAsyncContextManager[App]: ...


@pytest.fixture
def start(model: ModelServer, clock: FakeClock, tmp_path: Path, blank: Path) -> OpenApp:
    """Opens an App; window: the model's, in tokens; other keyword arguments are settings by their names."""

    @contextlib.asynccontextmanager
    async def opened(window: int | None = None, **settings: object) -> AsyncIterator[App]:
        copy_blank(blank, tmp_path / "data")
        values = {"openai_base_url": model.url, "llm_model": "scripted", "llm_timeout": 20} | settings
        catalogue = load_catalogue()
        if window is not None:
            catalogue = replace(catalogue, default=ModelWindow(window, 4096))
        features = [feature() for feature in FEATURES]  # Looking for those of other packages takes milliseconds.
        async with open_app(Settings.model_validate(values), clock, catalogue, features) as app:
            yield app

    return opened


@pytest.fixture
async def app(start: OpenApp) -> AsyncIterator[App]:
    """Open an App with the scripted model."""
    async with start() as running:
        yield running


@pytest.fixture
def person(app: App) -> Person:
    """Return a person at the console of the App."""
    return Person(app)
