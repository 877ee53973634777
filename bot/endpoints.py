"""Endpoints as settings name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.models.endpoint import Endpoint

if TYPE_CHECKING:
    from pydantic import HttpUrl, SecretStr


def endpoint_at(url: HttpUrl | None, key: SecretStr | None) -> Endpoint:
    """The endpoint at an address with a key; servers that need no key are given one all the same."""
    return Endpoint(str(url) if url else None, key.get_secret_value() if key else "none")
