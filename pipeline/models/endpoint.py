"""Endpoints: addresses, keys, the SDK's client, and how providers differ. No other module knows a provider by name.

Most differences are learned from refusals. The table of providers holds those that no refusal reveals.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import math
import os
import re
import ssl
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

import certifi

from config.process import loading_for_good
from config.secrets import mask_in_log_line

if TYPE_CHECKING:
    import httpx2
    import openai


CONNECT_SECONDS = 5.0
ANTHROPIC_VERSION = "2023-06-01"

_CODE = re.compile(r"[A-Za-z0-9_.-]{1,40}")
OPENAI_URL = "https://api.openai.com/v1"


async def load_sdk() -> None:
    """Import the SDK in a thread, which takes a second on a small machine.

    It is imported with the first request, since an idle bot doesn't need its 13 MB.
    """
    # While another thread imports it, the module exists already but lacks its client, which it defines last.
    if not hasattr(sys.modules.get("openai"), "AsyncOpenAI"):
        await asyncio.to_thread(_import_sdk)


def _import_sdk() -> None:
    with loading_for_good():
        import openai  # noqa: F401


@functools.cache
def get_tls_context() -> ssl.SSLContext:
    """Return a context for all HTTP clients. It is shared, since reading the certificates takes 30 ms and 1 MB."""
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    return ssl.create_default_context(cafile=file or (None if folder else certifi.where()), capath=folder)


def create_client(
    endpoint: Endpoint,
    *,
    seconds: float,
    retries: int,
    connecting: float = CONNECT_SECONDS,
    connections: int | None = None,
) -> openai.AsyncOpenAI:
    """Create a client for an endpoint. The caller closes it.

    Args:
        seconds: Timeout of a request.
        retries: How often the SDK retries after a temporary failure.
        connecting: Timeout for connecting, in seconds.
        connections: Maximum number of connections. None means the SDK's default.
    """
    import httpx2
    import openai

    hooks = [_add_anthropic_key] if endpoint.provider.uses_messages else []
    limits = openai.DEFAULT_CONNECTION_LIMITS if connections is None else httpx2.Limits(max_connections=connections)
    return openai.AsyncOpenAI(
        api_key=endpoint.api_key,
        base_url=endpoint.base_url,
        max_retries=retries,
        timeout=openai.Timeout(seconds, connect=min(connecting, seconds)),
        http_client=openai.DefaultAsyncHttpxClient(
            verify=get_tls_context(),
            limits=limits,
            trust_env=not is_on_this_machine(endpoint.base_url),
            event_hooks={"request": hooks},
        ),
    )


async def _add_anthropic_key(request: httpx2.Request) -> None:
    request.headers["x-api-key"] = request.headers.pop("authorization").removeprefix("Bearer ")
    request.headers["anthropic-version"] = ANTHROPIC_VERSION


def is_on_this_machine(url: str | None) -> bool:
    """Return True if a URL is on this machine, which a proxy can't reach."""
    host = urlsplit(url or "").hostname or ""
    return host == "localhost" or re.fullmatch(r"127(?:\.\d+){3}|::1", host) is not None


@contextlib.asynccontextmanager
async def idle_timeout(silence: float, seconds: float | None) -> AsyncIterator[Callable[[], None]]:
    """Raise TimeoutError if the block takes longer than `seconds`, or receives nothing for `silence` seconds.

    Yields a function that the block must call whenever it receives data.
    """
    now = asyncio.get_running_loop().time
    end = math.inf if seconds is None else now() + seconds
    async with asyncio.timeout_at(min(now() + silence, end)) as limit:

        def keep_alive() -> None:
            if not limit.expired():
                limit.reschedule(min(now() + silence, end))

        yield keep_alive


def describe_for_log(error: Exception) -> dict[str, object]:
    """Return the fields of an SDK error that may be logged. Its text may not, since providers quote the request."""
    code = str(getattr(error, "code", None) or "")
    return {
        "error": type(error).__name__,
        "status": getattr(error, "status_code", None),
        "code": code if _CODE.fullmatch(code) else None,
    }


def is_refused_connection(error: BaseException | None) -> bool:
    """Return True if nothing listens at the address, for example while a server is starting."""
    seen = 0
    while error is not None and seen < 10:
        if isinstance(error, ConnectionRefusedError):
            return True
        error, seen = error.__cause__ or error.__context__, seen + 1
    return False


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
