"""The certificates that servers are checked against."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    import ssl


@functools.cache
def tls_context() -> ssl.SSLContext:
    """The one context of all HTTP clients of the process: reading the certificates takes 30 ms and 1 MB each time."""
    return httpx.create_ssl_context()
