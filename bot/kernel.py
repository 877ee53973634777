"""The objects of a running Mneme: the kernel, which features extend, and the whole."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from bot.jobs.background import BackgroundConsolidation
from bot.jobs.due import Due
from bot.jobs.scheduled import Maintenance
from bot.languages import Languages
from bot.models import ModelSetup
from bot.monitoring import Health, Measurement, Safeguard
from bot.services import MemoryServices
from bot.sessions import SessionRunner
from bot.tasks import BackgroundTasks, Job, Periodic
from bot.telegram.part import Connection, TelegramPart
from bot.web import InboundRoute, WebPart
from config.settings import Settings
from memory.clock import Clock
from memory.facts.checker import FactChecker
from memory.log.sessions import SessionService
from memory.runtime.usage import UsageLog
from memory.store.database import Database
from memory.store.effects import Effects
from memory.transfer.file_importer import FileImporter
from pipeline.media.files import MediaSources
from pipeline.models.routing import ModelChoice


@dataclass(frozen=True, slots=True)
class Kernel:
    """The objects that a feature may use.

    Attributes:
        setup: The model, with its prompt style, its abilities and the tools that it can handle.
        models: The model of each chat.
        checker: Verifies what tools and imports learn.
        tasks: Runs what a turn leaves to do. One-off commands wait for it. Other work is a job.
        stack: Closes what a feature has opened when the program ends.
    """

    settings: Settings
    clock: Clock
    memory: MemoryServices
    setup: ModelSetup
    models: ModelChoice
    checker: FactChecker
    usage: UsageLog
    media: MediaSources
    effects: Effects
    languages: Languages
    tasks: BackgroundTasks
    stack: contextlib.AsyncExitStack


@dataclass(frozen=True, slots=True)
class Jobs:
    consolidation: BackgroundConsolidation
    housekeeping: Maintenance
    of_features: Sequence[Job]
    periodic: Sequence[Periodic]
    quiet: Callable[[], Awaitable[None]]  # Waits until no user is waiting for the model


@dataclass(frozen=True, slots=True)
class App:
    """A running Mneme without its channels."""

    settings: Settings
    clock: Clock
    memory: MemoryServices
    models: ModelChoice
    runner: SessionRunner
    jobs: Jobs
    tasks: BackgroundTasks
    health: Health
    media: MediaSources  # A channel registers here that it can fetch files
    inbound_routes: dict[str, InboundRoute]  # Handlers of the web server by path, registered even if none runs
    checker: FactChecker
    servers: Sequence[Callable[[App], contextlib.AbstractAsyncContextManager[None]]]
    web: Sequence[Callable[[App], WebPart]]
    telegram: Sequence[Callable[[Connection], TelegramPart]]
    features: Sequence[object]  # The features that are on, see bot/feature.py
    importer: FileImporter | None
    safeguards: Sequence[Safeguard]
    measurements: Sequence[Measurement]
    due: Due

    @property
    def database(self) -> Database:
        return self.memory.database

    @property
    def sessions(self) -> SessionService:
        return self.memory.sessions

    def start_background_work(self) -> None:
        """Start the background jobs. One-off commands don't call this."""
        self.jobs.consolidation.start()
        self.jobs.housekeeping.start(self.tasks, self.jobs.quiet)
        for job in self.jobs.of_features:
            job.start(self.tasks)


Server = Callable[[App], contextlib.AbstractAsyncContextManager[None]]
"""Serves something while the context is open. Raises ConfigurationError if it can't."""


@contextlib.asynccontextmanager
async def serve_features(app: App) -> AsyncIterator[None]:
    """Keep the servers of all features open until the context ends. Raises ConfigurationError if one can't be."""
    async with contextlib.AsyncExitStack() as stack:
        for serve in app.servers:
            await stack.enter_async_context(serve(app))
        if app.web:
            from bot.web.server import build_web_app, serve_web  # Most bots serve nothing

            web_app = build_web_app([create(app) for create in app.web])
            await stack.enter_async_context(serve_web(web_app, app.settings.web_port))
        yield
