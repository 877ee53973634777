"""The SDK's client for an endpoint, made in one place: its key and address, and whose certificates are trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.tls import tls_context

if TYPE_CHECKING:
    import httpx
    import openai

    from pipeline.endpoint.known_endpoint import Endpoint

CONNECTING = 5.0
"""Seconds that a connection may take where nothing else is said."""


def load_sdk() -> None:
    """Import the SDK, which takes a second: a program that stays does it before anybody waits for an answer."""
    import openai  # noqa: F401  # for those that use it


def client_of(
    endpoint: Endpoint,
    *,
    seconds: float,
    retries: int,
    connecting: float = CONNECTING,
    limits: httpx.Limits | None = None,
) -> openai.AsyncOpenAI:
    """A client for `endpoint`, to be closed.

    seconds: for a request; connecting: of these for the connection; retries: the SDK's own; limits: of connections.
    """
    import openai

    pool = {} if limits is None else {"limits": limits}
    return openai.AsyncOpenAI(
        api_key=endpoint.api_key,
        base_url=endpoint.base_url,
        max_retries=retries,
        timeout=openai.Timeout(seconds, connect=min(connecting, seconds)),
        # newer SDKs bring an httpx of their own
        http_client=openai.DefaultAsyncHttpxClient(verify=tls_context(), **pool),  # type: ignore[arg-type]
    )
