"""The SDK's client for an endpoint: its key and address, whose certificates are trusted, how long it may be silent."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import math
import os
import re
import ssl
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import certifi

from config.process import loading_for_good

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    import openai

    from pipeline.models.endpoint import Endpoint

CONNECTING = 5.0
"""Seconds that a connection may take where nothing else is said."""


async def load_sdk() -> None:
    """Import the SDK, in a thread: it takes a second of a small machine, and chats go on meanwhile.

    It is called when there is something to ask, since it takes 13 MB that a bot to which nobody speaks has no use for.
    """
    # its client comes after all that takes long: while a thread imports it, the module stands there without
    if not hasattr(sys.modules.get("openai"), "AsyncOpenAI"):
        await asyncio.to_thread(_import_sdk)


def _import_sdk() -> None:
    with loading_for_good():
        import openai  # noqa: F401  # for those that use it


@functools.cache
def tls_context() -> ssl.SSLContext:
    """The one context of all HTTP clients of the process: reading the certificates takes 30 ms and 1 MB each time."""
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    return ssl.create_default_context(cafile=file or (None if folder else certifi.where()), capath=folder)


def client_of(
    endpoint: Endpoint,
    *,
    seconds: float,
    retries: int,
    connecting: float = CONNECTING,
    connections: int | None = None,
) -> openai.AsyncOpenAI:
    """A client for `endpoint`, to be closed.

    seconds: for a request; connecting: of these for the connection; retries: the SDK's own; connections: at most.
    """
    import httpx2
    import openai

    limits = openai.DEFAULT_CONNECTION_LIMITS if connections is None else httpx2.Limits(max_connections=connections)
    return openai.AsyncOpenAI(
        api_key=endpoint.api_key,
        base_url=endpoint.base_url,
        max_retries=retries,
        timeout=openai.Timeout(seconds, connect=min(connecting, seconds)),
        http_client=openai.DefaultAsyncHttpxClient(
            verify=tls_context(), limits=limits, trust_env=not is_on_this_machine(endpoint.base_url)
        ),
    )


def is_on_this_machine(url: str | None) -> bool:
    """Whether an address is this machine's own, which a proxy of the environment can't reach."""
    host = urlsplit(url or "").hostname or ""
    return host == "localhost" or re.fullmatch(r"127(?:\.\d+){3}|::1", host) is not None


@contextlib.asynccontextmanager
async def idle_timeout(silence: float, seconds: float | None) -> AsyncIterator[Callable[[], None]]:
    """Raises TimeoutError in a block that takes longer than `seconds`, or hears nothing for `silence` seconds.

    The block calls what it is given whenever it has heard something.
    """
    now = asyncio.get_running_loop().time
    end = math.inf if seconds is None else now() + seconds
    async with asyncio.timeout_at(min(now() + silence, end)) as limit:

        def keep_alive() -> None:
            if not limit.expired():  # the block is on its way out then
                limit.reschedule(min(now() + silence, end))

        yield keep_alive
