"""Structured logging: readable on a terminal, JSON elsewhere, with turn ids and without secrets."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

import structlog

from config.secrets import without_secrets, without_shapes

if TYPE_CHECKING:
    from structlog.typing import EventDict, WrappedLogger

# Libraries whose records below WARNING name URLs with tokens in them, or every step they take.
_CHATTY = (
    "httpx",
    "httpcore",
    "httpx2",
    "httpcore2",
    "telegram",
    "openai",
    "apscheduler",
    "aiosqlite",
    "asyncio",
    "mcp",
    "uvicorn",
)

# libraries whose errors quote what others sent; what of it matters is logged where they are used
_QUOTING = ("mcp.client", "mcp.shared")

_STRANGERS = ("uvicorn.error", "asyncio")
"""Libraries that log what a stranger's connection does: a line for each would fill the disk."""
MAX_LINES = 5
"""Lines with the same words that a logger of these writes in LINES_SECONDS."""
LINES_SECONDS = 60.0
MAX_TEXTS = 100


class RateLimit(logging.Filter):
    """Lets MAX_LINES records with the same words through in LINES_SECONDS. The next one says how many were left out."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        text = str(record.msg)[:200]
        begun, count = self._seen.get(text, (record.created, 0))
        if record.created - begun >= LINES_SECONDS:
            if count > MAX_LINES:
                record.left_out = count - MAX_LINES
            begun, count = record.created, 0
        if text not in self._seen and len(self._seen) >= MAX_TEXTS:
            del self._seen[next(iter(self._seen))]
        self._seen[text] = begun, count + 1
        return count < MAX_LINES


def configure_logging(level: str, style: str) -> None:
    """Send all logging of the process to stderr.

    level: debug, info, warning, error or critical. style: console, json, or auto (console on a terminal).
    """
    console = style == "console" or (style == "auto" and sys.stderr.isatty())
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        *([] if console else [structlog.processors.format_exc_info]),
        _redact_values,
    ]
    renderer: structlog.typing.Processor = (
        # plain: the default shows local variables, message texts among them, and breaks tokens over lines
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback)
        if console
        else structlog.processors.JSONRenderer()
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer, _redact_line],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    for name in _CHATTY:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    for name in _STRANGERS:
        logger = logging.getLogger(name)
        logger.filters = [one for one in logger.filters if not isinstance(one, RateLimit)] + [RateLimit()]
    for name in _QUOTING:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    structlog.configure(
        # first of all: what is not logged need not be looked through for secrets
        processors=[structlog.stdlib.filter_by_level, *shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def _redact_values(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """What is announced as a secret goes before there is JSON around it."""
    return {key: without_secrets(value) if isinstance(value, str) else value for key, value in event.items()}


def _redact_line(_logger: WrappedLogger, _method: str, line: EventDict) -> EventDict:
    # the last processor of the chain gets the rendered line, tracebacks included
    return without_shapes(str(line))  # type: ignore[return-value]  # a renderer's output is the line itself
