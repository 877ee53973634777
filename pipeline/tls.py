"""The certificates that servers are checked against."""

from __future__ import annotations

import functools
import os
import ssl

import certifi


@functools.cache
def tls_context() -> ssl.SSLContext:
    """The one context of all HTTP clients of the process: reading the certificates takes 30 ms and 1 MB each time."""
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    return ssl.create_default_context(cafile=file or (None if folder else certifi.where()), capath=folder)
