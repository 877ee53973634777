"""What is counted for Prometheus, and its page. Made only where METRICS_PORT is set: nobody else loads its library."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from bot.web.server import Page, served
from memory.mail.pruning import table_counts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bot.app import App
    from bot.monitoring import Health
    from bot.sessions import SessionQueues
    from memory.service.usage import TokenUse
    from memory.store.database import Database
    from pipeline.models.routing import Meter
    from pipeline.turn import Turn

SYSTEM_BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 300)
TURN_BUCKETS = (0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600)


class Metrics:
    """The counters of one process. Observing costs microseconds; what is counted in the store waits for a question."""

    def __init__(self) -> None:
        self._registry = of = CollectorRegistry()
        ProcessCollector(registry=of)
        self._turns = Counter("mneme_turns", "Turns by their outcome.", ["outcome"], registry=of)
        self._turn_seconds = Histogram("mneme_turn_seconds", "Time of whole turns.", buckets=TURN_BUCKETS, registry=of)
        self._system_seconds = Histogram(
            "mneme_system_seconds", "Time of turns in each system.", ["system"], buckets=SYSTEM_BUCKETS, registry=of
        )
        self._tokens = Counter("mneme_tokens", "Tokens of model calls.", ["model", "purpose", "kind"], registry=of)
        self._errors = Counter("mneme_errors", "Lines of the log that are errors.", ["logger"], registry=of)
        self._running = Gauge("mneme_sessions_running", "Sessions that are at work.", registry=of)
        self._waiting = Gauge("mneme_queue_length", "Messages that wait for their turn.", registry=of)
        self._inbox = Gauge("mneme_inbox_length", "Messages that were received and not finished.", registry=of)
        self._outbox = Gauge("mneme_outbox_length", "Replies that are not sent yet.", registry=of)
        self._memories = Gauge("mneme_memories", "Live memories by kind.", ["kind"], registry=of)
        self._healthy = Gauge("mneme_healthy", "1 while polling and the database live.", registry=of)
        for outcome in ("answered", "stopped", "failed"):
            self._turns.labels(outcome)  # so that a rate can be told from the first one on

    def turn_finished(self, turn: Turn) -> None:
        self._turns.labels(str(turn.outcome)).inc()
        self._turn_seconds.observe(sum(turn.timings.values()))
        for system, seconds in turn.timings.items():
            self._system_seconds.labels(system).observe(seconds)

    def tokens_used(self, use: TokenUse) -> None:
        kinds = {"prompt": use.prompt_tokens, "cached": use.cached_tokens, "completion": use.completion_tokens}
        for kind, number in kinds.items():
            self._tokens.labels(use.model, use.purpose, kind).inc(number)

    def error_logged(self, logger: str) -> None:
        self._errors.labels(logger).inc()

    async def page(self, database: Database, health: Health, lanes: SessionQueues) -> bytes:
        """Everything in the text format of Prometheus. Raises StoreError."""
        running, waiting = lanes.load()
        self._running.set(running)
        self._waiting.set(waiting)
        result = await table_counts(database)
        self._inbox.set(result.inbox)
        self._outbox.set(result.outbox)
        self._memories.clear()
        for kind, number in result.memories.items():
            self._memories.labels(kind).set(number)
        self._healthy.set(await health.trouble() is None)
        return generate_latest(self._registry)


class CountingMeter:
    """A Meter whose calls are counted for Prometheus, too."""

    def __init__(self, meter: Meter, metrics: Metrics) -> None:
        self._meter = meter
        self._metrics = metrics

    async def record(self, use: TokenUse) -> None:
        self._metrics.tokens_used(use)
        await self._meter.record(use)

    async def tokens_today(self) -> int:
        return await self._meter.tokens_today()


class ErrorCounter(logging.Handler):
    """Counts what is logged as an error, whoever logs it."""

    def __init__(self, metrics: Metrics) -> None:
        super().__init__(logging.ERROR)
        self._metrics = metrics

    def emit(self, record: logging.LogRecord) -> None:
        self._metrics.error_logged(record.name)


@contextlib.asynccontextmanager
async def observed(app: App, metrics: Metrics, port: int) -> AsyncIterator[None]:
    """Serve metrics, health and what else the App has pages for at `port` for as long as the context is open.

    Raises ConfigurationError for a port that is taken.
    """

    async def health() -> Page:
        trouble = await app.health.trouble()
        return Page(200, b"ok\n") if trouble is None else Page(503, f"{trouble}\n".encode())

    async def measured() -> Page:
        text = await metrics.page(app.database, app.health, app.runner.lanes)
        return Page(200, text, "text/plain; version=0.0.4; charset=utf-8")

    app.pages.shown |= {"/healthz": health, "/metrics": measured}
    counter = ErrorCounter(metrics)
    logging.getLogger().addHandler(counter)
    try:
        async with served(app.pages, port):
            yield
    finally:
        logging.getLogger().removeHandler(counter)
