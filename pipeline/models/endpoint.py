"""The address of a model."""

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
        base_url: None is OpenAI's own address.
        why_lost: Says why a connection was lost, if more is known than that.
        extra_body: JSON object that is added to each request, as text.
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
        """The address as it may be stored and shown: without name and password, query and trailing slash."""
        split = urlsplit(self.url)
        return without_shapes(
            urlunsplit((split.scheme, split.netloc.rpartition("@")[2], split.path.rstrip("/"), "", ""))
        )

    @property
    def provider(self) -> Provider:
        return provider_at(self.url)
