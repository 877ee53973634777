"""Checks the environment variables that all HTTP clients read: proxies and certificates."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterable
from pathlib import Path

from config.errors import ConfigurationError

_PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


def check_environment() -> None:
    """Raise ConfigurationError if HTTP clients can't use one of the variables. The text names it."""
    _check_certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    names = [name for name in os.environ if name.upper() in _PROXY_VARIABLES and os.environ[name]]
    if not names or _is_usable():
        return
    for name in names:
        value = os.environ.pop(name)
        try:
            if _is_usable():
                raise ConfigurationError(_explain(name, value))
        finally:
            os.environ[name] = value
    raise ConfigurationError(f"{', '.join(names)} can't be used by HTTP clients: correct them, or unset them.")


def _is_usable() -> bool:
    import httpx  # Only imported if one of these variables is set.

    try:
        httpx.Client(verify=False).close()  # noqa: S501  # It sends nothing, and loading certificates is slow.
    except (httpx.InvalidURL, ValueError, ImportError):
        return False
    return True


def _explain(name: str, value: str) -> str:
    if name.upper() == "NO_PROXY":
        bad = ", ".join(_find_bad_items(name, value.split(","))) or value
        return f"{name} has {bad} in it, which HTTP clients can't read: name hosts and addresses, no IPv6 networks."
    if value.lower().startswith("socks"):
        return f"{name} names a SOCKS proxy, but only HTTP proxies work: set an address with http://, or unset it."
    return f"{name} is no address of a proxy such as http://localhost:3128: correct it, or unset it."


def _find_bad_items(name: str, items: Iterable[str]) -> Iterable[str]:
    for item in items:
        os.environ[name] = item
        if not _is_usable():
            yield item.strip()


def _check_certificates(file: str | None, folder: str | None) -> None:
    if file:
        try:
            ssl.create_default_context(cafile=file)
        except (OSError, ssl.SSLError) as error:
            reason = "it does not exist" if isinstance(error, FileNotFoundError) else "it can't be read"
            raise ConfigurationError(
                f"SSL_CERT_FILE names {file}, but {reason}: name a file with certificates, or unset it."
            ) from error
    if folder and not Path(folder).is_dir():
        raise ConfigurationError(f"SSL_CERT_DIR names {folder}, but that is no folder: correct it, or unset it.")
