"""The address and key of a model's API."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit, urlunsplit

from config.secrets import mask_in_log_line
from pipeline.models.providers import OPENAI_URL, Provider, get_provider


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address and key of an OpenAI-compatible API.

    Attributes:
        base_url: None means OpenAI's own address.
        explain_loss: Returns the reason why a connection was lost. None for servers that Mneme doesn't run itself.
        extra_body: A JSON object, as text, that is merged into each request.
    """

    base_url: str | None
    api_key: str
    explain_loss: Callable[[], Awaitable[str]] | None = None
    extra_body: str | None = None

    @property
    def url(self) -> str:
        return self.base_url or OPENAI_URL

    @property
    def address(self) -> str:
        """The URL without credentials, query and trailing slash, so that it may be stored and shown."""
        split = urlsplit(self.url)
        return mask_in_log_line(
            urlunsplit((split.scheme, split.netloc.rpartition("@")[2], split.path.rstrip("/"), "", ""))
        )

    @property
    def extra_fields(self) -> dict[str, object]:
        return _parse_object(self.extra_body) if self.extra_body else {}

    @property
    def provider(self) -> Provider:
        return get_provider(self.url)


@lru_cache
def _parse_object(text: str) -> dict[str, object]:
    return dict(json.loads(text))
