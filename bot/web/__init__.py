"""The web server of the process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import HttpUrl

if TYPE_CHECKING:
    from starlette.routing import BaseRoute


PAGE = "page"


@dataclass(frozen=True, slots=True)
class WebPart:
    """Routes of a feature at WEB_PORT.

    Attributes:
        lifespan: Creates a context that is open while the server runs.
    """

    routes: Sequence[BaseRoute]
    lifespan: Callable[[], AbstractAsyncContextManager[None]] | None = None


@dataclass(frozen=True, slots=True)
class InboundRoute:
    """A route that accepts request bodies.

    Attributes:
        is_allowed: checks the headers of a request.
        take: handles a body. Returns the status and text of the response.
    """

    is_allowed: Callable[[Mapping[str, str]], bool]
    max_bytes: int
    take: Callable[[bytes], Awaitable[tuple[int, str]]]


def get_page_address(url: HttpUrl | None) -> str | None:
    """Return the address of the memory page for Telegram, which opens only HTTPS, or None."""
    return f"{str(url).rstrip('/')}/{PAGE}/" if url is not None and url.scheme == "https" else None


def build_host_header(url: HttpUrl) -> str:
    """Return the `Host` header of requests to `url`. It omits the scheme's default port."""
    default_port = {"http": 80, "https": 443}.get(url.scheme)
    return str(url.host) if url.port == default_port else f"{url.host}:{url.port}"
