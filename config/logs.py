"""Structured logging: readable on a terminal, JSON elsewhere, with turn IDs and without secrets."""

from __future__ import annotations

import logging
import sys

import structlog
from structlog.typing import EventDict, WrappedLogger

from config.secrets import mask_in_log_line, mask_secrets

# Below WARNING, these libraries log URLs that contain tokens, or every step.
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
    "ddgs",
    "primp",
    "uvicorn",
)

# The errors of these libraries quote foreign text. Mneme logs the relevant errors itself.
_QUOTING = ("mcp.client", "mcp.shared")

_RATE_LIMITED = ("uvicorn.error", "asyncio")
"""These libraries log errors of any client's connection. Without a limit, an attacker could fill the disk."""
MAX_LINES = 5
LINES_SECONDS = 60.0
MAX_TEXTS = 100


class RateLimit(logging.Filter):
    """Drops repeated records. The first record after LINES_SECONDS says how many were dropped."""

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

    Args:
        level: debug, info, warning, error or critical.
        style: console, json, or auto (console on a terminal).
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
        # The default formatter would show local variables, including texts of messages, and wrap tokens.
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
    for name in _RATE_LIMITED:
        logger = logging.getLogger(name)
        logger.filters = [f for f in logger.filters if not isinstance(f, RateLimit)] + [RateLimit()]
    for name in _QUOTING:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    structlog.configure(
        # Filter by level first, so that dropped records aren't searched for secrets.
        processors=[structlog.stdlib.filter_by_level, *shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def _redact_values(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Mask announced secrets before the values become JSON."""
    return {key: mask_secrets(value) if isinstance(value, str) else value for key, value in event.items()}


def _redact_line(_logger: WrappedLogger, _method: str, line: EventDict) -> EventDict:
    # The last processor gets the rendered line, including tracebacks.
    return mask_in_log_line(str(line))  # type: ignore[return-value]  # The output of a renderer is a string.
