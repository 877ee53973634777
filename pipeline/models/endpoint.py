"""Addresses and keys of models' APIs, and how the hosted providers differ. No other module knows a provider by name.

Most differences are learned from refusals. The table of providers holds those that no refusal reveals.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit, urlunsplit

from config.secrets import mask_in_log_line

OPENAI_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class Provider:
    """The differences of an API from OpenAI's chat completions.

    Attributes:
        hosts: The domains of its API. Subdomains count too.
        families: Prefixes of the names of its models, which other providers may serve too.
        uses_responses: Its models need the Responses API.
        uses_messages: It has the Messages API.
        takes_temperature: Its models accept a temperature below 1 and work well with it.
        effort_in_object: The effort is sent as `reasoning: {"effort": ...}`.
        marks_cache: Models that cache prompts up to a `cache_control` mark.
        tells_window: `/models` states the context windows.
    """

    name: str
    hosts: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    uses_responses: bool = False
    uses_messages: bool = False
    takes_temperature: bool = True
    effort_in_object: bool = False
    marks_cache: tuple[str, ...] = ()
    tells_window: bool = True


OPENAI = Provider(
    "OpenAI",
    ("api.openai.com",),
    ("gpt-5", "gpt-6", "o1", "o3", "o4"),
    uses_responses=True,
    takes_temperature=False,
    tells_window=False,
)
PROVIDERS = (
    OPENAI,
    Provider(
        "Anthropic",
        ("api.anthropic.com",),
        ("claude",),
        uses_messages=True,
        takes_temperature=False,
        tells_window=False,
    ),
    # Below a temperature of 1, its models may repeat themselves endlessly.
    Provider(
        "Google",
        ("generativelanguage.googleapis.com", "aiplatform.googleapis.com"),
        ("gemini",),
        takes_temperature=False,
    ),
    Provider("OpenRouter", ("openrouter.ai",), effort_in_object=True, marks_cache=("claude",)),
    Provider("DeepSeek", ("api.deepseek.com",), ("deepseek",), takes_temperature=False),
    Provider("Moonshot", ("api.moonshot.ai", "api.moonshot.cn", "api.kimi.com"), ("kimi",), takes_temperature=False),
    Provider("Mistral", ("api.mistral.ai",), ("mistral", "magistral")),
)
OTHER = Provider("OpenAI-compatible")


def get_provider(url: str | None) -> Provider:
    """Return the provider at a URL. None means OpenAI's own URL."""
    host = urlsplit(url or OPENAI_URL).hostname or ""
    for provider in PROVIDERS:
        if any(host == domain or host.endswith(f".{domain}") for domain in provider.hosts):
            return provider
    return OTHER


def takes_low_temperature(url: str | None, model: str) -> bool:
    """Return True if a temperature below 1 works well with a model."""
    name = model.lower().rpartition("/")[2]
    makers = (provider for provider in PROVIDERS if name.startswith(provider.families or ("/",)))
    return all(provider.takes_temperature for provider in (get_provider(url), *makers))


def is_own_server(url: str | None) -> bool:
    """Return True if a URL is in a private network, where people run their own models."""
    host = urlsplit(url or OPENAI_URL).hostname or ""
    try:
        return not ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith((".local", ".lan", ".internal", ".home.arpa"))


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
