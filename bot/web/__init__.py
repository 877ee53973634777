"""The one web server of the process: what it shows, and what may be sent to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import HttpUrl

PAGE = "page"
"""Where the memory page stands, below WEB_URL."""


def page_address(url: HttpUrl | None) -> str | None:
    """Where Telegram opens the memory page; None where it is not served, or not as Telegram wants it."""
    return f"{str(url).rstrip('/')}/{PAGE}/" if url is not None and url.scheme == "https" else None
