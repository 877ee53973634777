"""Metrics for Prometheus, and their server. Only imported if METRICS_PORT is set."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from http import HTTPStatus

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bot.kernel import App
from bot.monitoring import Health, Measurement
from bot.sessions import SessionQueues
from bot.web import InboundRoute
from bot.web.limits import admit, allow_body
from bot.web.server import serve_web
from memory.errors import StoreError
from memory.mail.pruning import count_tables
from memory.runtime.usage import TokenUse
from memory.store.database import Database
from pipeline.turn import Turn

CostOf = Callable[["TokenUse"], "float | None"]
"""Returns the cost of a model call in US dollars, or None if it is unknown."""

SYSTEM_BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 300)
TURN_BUCKETS = (0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600)


class Metrics:
    """The counters of one process. Observing takes microseconds. Figures from the database are read on request."""

    def __init__(self, cost_of: CostOf | None = None) -> None:
        self._cost_of = cost_of
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._turns = Counter("mneme_turns", "Turns by their outcome.", ["outcome"], registry=registry)
        self._turn_seconds = Histogram(
            "mneme_turn_seconds", "Time of whole turns.", buckets=TURN_BUCKETS, registry=registry
        )
        self._system_seconds = Histogram(
            "mneme_system_seconds",
            "Time of turns in each system.",
            ["system"],
            buckets=SYSTEM_BUCKETS,
            registry=registry,
        )
        self._tokens = Counter(
            "mneme_tokens", "Tokens of model calls.", ["model", "purpose", "kind"], registry=registry
        )
        self._cost = Counter(
            "mneme_cost_dollars", "Cost of model calls with a known price.", ["model", "purpose"], registry=registry
        )
        self._errors = Counter("mneme_errors", "Lines of the log that are errors.", ["logger"], registry=registry)
        self._running = Gauge("mneme_sessions_running", "Sessions that are at work.", registry=registry)
        self._waiting = Gauge("mneme_queue_length", "Messages that wait for their turn.", registry=registry)
        self._inbox = Gauge("mneme_inbox_length", "Messages that were received and not finished.", registry=registry)
        self._outbox = Gauge("mneme_outbox_length", "Replies that are not sent yet.", registry=registry)
        self._memories = Gauge("mneme_memories", "Live memories by kind.", ["kind"], registry=registry)
        self._healthy = Gauge("mneme_healthy", "1 while polling and the database live.", registry=registry)
        self._measurements: dict[str, Gauge] = {}
        for outcome in ("answered", "stopped", "failed"):
            self._turns.labels(outcome)  # So that a rate can be computed from the first turn on

    def count_turn(self, turn: Turn) -> None:
        self._turns.labels(str(turn.outcome)).inc()
        self._turn_seconds.observe(sum(turn.timings.values()))
        for system, seconds in turn.timings.items():
            self._system_seconds.labels(system).observe(seconds)

    def count_tokens(self, use: TokenUse) -> None:
        kinds = {"prompt": use.prompt_tokens, "cached": use.cached_tokens, "completion": use.completion_tokens}
        for kind, number in kinds.items():
            self._tokens.labels(use.model, use.purpose, kind).inc(number)
        cost = self._cost_of(use) if self._cost_of is not None else None
        if cost is not None:
            self._cost.labels(use.model, use.purpose).inc(cost)

    def count_error(self, logger: str) -> None:
        self._errors.labels(logger).inc()

    async def render(
        self, database: Database, health: Health, queues: SessionQueues, measurements: Sequence[Measurement] = ()
    ) -> bytes:
        running, waiting = queues.measure_load()
        self._running.set(running)
        self._waiting.set(waiting)
        result = await count_tables(database)
        self._inbox.set(result.inbox)
        self._outbox.set(result.outbox)
        # Otherwise a kind without memories would keep its last number
        self._memories.clear()
        for kind, number in result.memories.items():
            self._memories.labels(kind).set(number)
        self._healthy.set(await health.find_trouble() is None)
        for measurement in measurements:
            if (value := measurement.read()) is not None:  # An unknown value has no gauge, instead of a gauge of 0
                self._get_gauge(measurement).set(value)
        return generate_latest(self._registry)

    def _get_gauge(self, measurement: Measurement) -> Gauge:
        if (gauge := self._measurements.get(measurement.name)) is None:
            gauge = Gauge(measurement.name, measurement.description, registry=self._registry)
            self._measurements[measurement.name] = gauge
        return gauge


class ErrorCounter(logging.Handler):
    def __init__(self, metrics: Metrics) -> None:
        super().__init__(logging.ERROR)
        self._metrics = metrics

    def emit(self, record: logging.LogRecord) -> None:
        self._metrics.count_error(record.name)


@contextlib.asynccontextmanager
async def serve_metrics(app: App, metrics: Metrics, port: int) -> AsyncIterator[None]:
    """Serve metrics, health and the app's inbound routes. Raises ConfigurationError if the port is in use."""

    async def health(request: Request) -> Response:
        trouble = await app.health.find_trouble()
        return PlainTextResponse("ok\n") if trouble is None else PlainTextResponse(f"{trouble}\n", 503)

    async def show_metrics(request: Request) -> Response:
        try:
            text = await metrics.render(app.database, app.health, app.runner.queues, app.measurements)
        except StoreError as error:
            return PlainTextResponse(f"{error}\n", 503)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def handle_inbound(request: Request) -> Response:
        status, sentence = await _receive(request, app.inbound_routes.get(request.url.path))
        return PlainTextResponse(sentence, status)

    routes = [
        Route("/healthz", health),
        Route("/metrics", show_metrics),
        Route("/{path:path}", handle_inbound, methods=["GET", "POST"]),
    ]
    counter = ErrorCounter(metrics)
    logging.getLogger().addHandler(counter)
    try:
        async with serve_web(Starlette(routes=routes), port, "METRICS_PORT"):
            yield
    finally:
        logging.getLogger().removeHandler(counter)


async def _receive(request: Request, route: InboundRoute | None) -> tuple[int, str]:
    """Handle a request with a body. The body of a refused request is not read."""
    if route is None:
        return HTTPStatus.NOT_FOUND, "nothing is taken here\n"
    if not route.is_allowed(request.headers):
        return HTTPStatus.FORBIDDEN, "you may not send anything here\n"
    if not admit(request.scope, None):
        return HTTPStatus.SERVICE_UNAVAILABLE, "too many requests at a time\n"
    length = request.headers.get("content-length", "")
    # A body without a declared length could grow without end
    if not length.isdecimal():
        return HTTPStatus.LENGTH_REQUIRED, "say how long it is\n"
    if int(length) > route.max_bytes:
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "that is too long\n"
    allow_body(request.scope, route.max_bytes)
    return await route.take(await request.body())
