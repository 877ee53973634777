"""The address and key of a model's API."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from config.secrets import without_shapes
from pipeline.models.providers import OPENAI_URL, Provider, provider_at


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address and key of an OpenAI-compatible API.

    Attributes:
        base_url: None means OpenAI's own address.
        why_lost: Returns the reason why a connection was lost. None for servers that Mneme doesn't run itself.
        extra_body: A JSON object, as text, that is merged into each request.
    """

    base_url: str | None
    api_key: str
    why_lost: Callable[[], Awaitable[str]] | None = None
    extra_body: str | None = None

    @property
    def url(self) -> str:
        return self.base_url or OPENAI_URL

    @property
    def address(self) -> str:
        """The URL without credentials, query and trailing slash, so that it may be stored and shown."""
        split = urlsplit(self.url)
        return without_shapes(
            urlunsplit((split.scheme, split.netloc.rpartition("@")[2], split.path.rstrip("/"), "", ""))
        )

    @property
    def provider(self) -> Provider:
        return provider_at(self.url)
