"""The objects of a running Mneme: the kernel, which features extend, and the whole."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.jobs.background import BackgroundConsolidation, BackgroundEmbedding, BackgroundImportLearning
from bot.jobs.capturing import BackgroundCapture
from bot.jobs.scheduled import DateOfferJob, Maintenance, WeeklySchedule
from bot.monitoring import Health
from bot.services import MemoryServices
from bot.sessions import SessionRunner
from bot.tasks import BackgroundTasks
from bot.web import InboundRoute
from config.settings import Settings
from memory.clock import Clock
from memory.facts.checker import FactChecker
from memory.log.sessions import SessionService
from memory.store.database import Database
from memory.store.effects import Effects
from pipeline.media.files import MediaSources
from pipeline.media.speech import Speech
from pipeline.models.routing import ModelChoice

if TYPE_CHECKING:
    from bot.jobs.replication import Replication
    from bot.web.metrics import Metrics


@dataclass(frozen=True, slots=True)
class Kernel:
    """The objects that a feature may use.

    Attributes:
        offered_tools: The names of the tools that the model can handle, or None if it can handle any.
        stack: Closes what a feature has opened when the program ends.
    """

    settings: Settings
    clock: Clock
    memory: MemoryServices
    models: ModelChoice
    media: MediaSources
    effects: Effects
    offered_tools: Collection[str] | None
    stack: contextlib.AsyncExitStack


@dataclass(frozen=True, slots=True)
class Jobs:
    """The background jobs. Without an embedding model `embedding` is None, and with memory off `offers` is None."""

    consolidation: BackgroundConsolidation
    capture: BackgroundCapture
    weekly: WeeklySchedule
    offers: DateOfferJob | None
    housekeeping: Maintenance
    embedding: BackgroundEmbedding | None
    importing: BackgroundImportLearning


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
    metrics: Metrics | None
    checker: FactChecker
    features: Sequence[object]  # The features that are on, see bot/feature.py
    replication: Replication | None
    speech: Speech | None

    @property
    def database(self) -> Database:
        return self.memory.database

    @property
    def sessions(self) -> SessionService:
        return self.memory.sessions

    def start_background_work(self) -> None:
        """Start the background jobs. One-off commands don't call this."""
        self.jobs.consolidation.start()
        self.jobs.housekeeping.start(self.tasks)
        if self.jobs.embedding is not None:
            self.jobs.embedding.start(self.tasks)
        if self.settings.memory_enabled:
            self.jobs.capture.start()
            self.jobs.weekly.start(self.tasks)
            self.jobs.importing.start(self.tasks)
