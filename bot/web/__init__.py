"""The one web server of the process: what may be sent to it, and where its page stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pydantic import HttpUrl

PAGE = "page"
"""Where the memory page stands, below WEB_URL."""


@dataclass(frozen=True, slots=True)
class Entrance:
    """Where something may be sent."""

    is_allowed: Callable[[Mapping[str, str]], bool]  # by the headers of the request
    most_bytes: int  # what is longer is not read
    take: Callable[[bytes], Awaitable[tuple[int, str]]]  # what is answered: a status and a sentence


def page_address(url: HttpUrl | None) -> str | None:
    """The address of the memory page for Telegram, which opens HTTPS only; None where there is none."""
    return f"{str(url).rstrip('/')}/{PAGE}/" if url is not None and url.scheme == "https" else None


def host_header(url: HttpUrl) -> str:
    """What a client that asks at `url` names as the host: without the port where it is the scheme's own."""
    usual = {"http": 80, "https": 443}.get(url.scheme)
    return str(url.host) if url.port == usual else f"{url.host}:{url.port}"
