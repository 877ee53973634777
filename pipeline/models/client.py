"""Creates the SDK's client for an endpoint, and limits the silence of its answers."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import math
import os
import re
import ssl
import sys
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import certifi

from config.process import loading_for_good
from pipeline.models.endpoint import Endpoint

if TYPE_CHECKING:
    import httpx2
    import openai

CONNECT_SECONDS = 5.0
ANTHROPIC_VERSION = "2023-06-01"


async def load_sdk() -> None:
    """Import the SDK in a thread, which takes a second on a small machine.

    It is imported with the first request, since an idle bot doesn't need its 13 MB.
    """
    # While another thread imports it, the module exists already but lacks its client, which it defines last.
    if not hasattr(sys.modules.get("openai"), "AsyncOpenAI"):
        await asyncio.to_thread(_import_sdk)


def _import_sdk() -> None:
    with loading_for_good():
        import openai  # noqa: F401


@functools.cache
def get_tls_context() -> ssl.SSLContext:
    """Return a context for all HTTP clients. It is shared, since reading the certificates takes 30 ms and 1 MB."""
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    return ssl.create_default_context(cafile=file or (None if folder else certifi.where()), capath=folder)


def create_client(
    endpoint: Endpoint,
    *,
    seconds: float,
    retries: int,
    connecting: float = CONNECT_SECONDS,
    connections: int | None = None,
) -> openai.AsyncOpenAI:
    """Create a client for an endpoint. The caller closes it.

    Args:
        seconds: Timeout of a request.
        retries: How often the SDK retries after a temporary failure.
        connecting: Timeout for connecting, in seconds.
        connections: Maximum number of connections. None means the SDK's default.
    """
    import httpx2
    import openai

    hooks = [_add_anthropic_key] if endpoint.provider.uses_messages else []
    limits = openai.DEFAULT_CONNECTION_LIMITS if connections is None else httpx2.Limits(max_connections=connections)
    return openai.AsyncOpenAI(
        api_key=endpoint.api_key,
        base_url=endpoint.base_url,
        max_retries=retries,
        timeout=openai.Timeout(seconds, connect=min(connecting, seconds)),
        http_client=openai.DefaultAsyncHttpxClient(
            verify=get_tls_context(),
            limits=limits,
            trust_env=not is_on_this_machine(endpoint.base_url),
            event_hooks={"request": hooks},
        ),
    )


async def _add_anthropic_key(request: httpx2.Request) -> None:
    request.headers["x-api-key"] = request.headers.pop("authorization").removeprefix("Bearer ")
    request.headers["anthropic-version"] = ANTHROPIC_VERSION


def is_on_this_machine(url: str | None) -> bool:
    """Return True if a URL is on this machine, which a proxy can't reach."""
    host = urlsplit(url or "").hostname or ""
    return host == "localhost" or re.fullmatch(r"127(?:\.\d+){3}|::1", host) is not None


@contextlib.asynccontextmanager
async def idle_timeout(silence: float, seconds: float | None) -> AsyncIterator[Callable[[], None]]:
    """Raise TimeoutError if the block takes longer than `seconds`, or receives nothing for `silence` seconds.

    Yields a function that the block must call whenever it receives data.
    """
    now = asyncio.get_running_loop().time
    end = math.inf if seconds is None else now() + seconds
    async with asyncio.timeout_at(min(now() + silence, end)) as limit:

        def keep_alive() -> None:
            if not limit.expired():
                limit.reschedule(min(now() + silence, end))

        yield keep_alive


_CODE = re.compile(r"[A-Za-z0-9_.-]{1,40}")


def describe_for_log(error: Exception) -> dict[str, object]:
    """Return the fields of an SDK error that may be logged. Its text may not, since providers quote the request."""
    code = str(getattr(error, "code", None) or "")
    return {
        "error": type(error).__name__,
        "status": getattr(error, "status_code", None),
        "code": code if _CODE.fullmatch(code) else None,
    }


def is_refused_connection(error: BaseException | None) -> bool:
    """Return True if nothing listens at the address, for example while a server is starting."""
    seen = 0
    while error is not None and seen < 10:
        if isinstance(error, ConnectionRefusedError):
            return True
        error, seen = error.__cause__ or error.__context__, seen + 1
    return False
