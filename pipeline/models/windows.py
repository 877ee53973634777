"""Asks an endpoint for the context window of a model. Servers have a dozen ways to state it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pipeline.models.client import is_on_this_machine, tls_context
from pipeline.models.values import at, items

if TYPE_CHECKING:
    import httpx

TIMEOUT_SECONDS = 2.0
"""Timeout for all requests together. The first turn waits for them."""
DEFAULT_LOCAL_TOKENS = 4096
"""The window that Ollama and LM Studio use by default on a machine without a large GPU."""

_CONTEXT = (
    ("meta", "n_ctx"),  # llama.cpp. Its n_ctx_train is the window that the model was trained for, not the loaded one.
    ("max_model_len",),
    ("top_provider", "context_length"),  # OpenRouter
    ("context_length",),
    ("context_window",),
    ("max_context_length",),
    ("max_input_tokens",),
)
# Fields in the entries of `/v1/models`, most reliable first: vLLM, OpenRouter, Together, Groq, Mistral and others.
# OpenAI itself states neither limit.
_OUTPUT = (("top_provider", "max_completion_tokens"), ("max_completion_tokens",), ("max_output_tokens",))


@dataclass(frozen=True, slots=True)
class SaidWindow:
    """The window of a model as its endpoint states it, in tokens. None means that it is not stated.

    Attributes:
        context_tokens: The prompt and the answer together.
        output_tokens: The longest answer.
        final: False if the endpoint may state more once the model is loaded.
        blind: The model accepts no images.
    """

    context_tokens: int | None = None
    output_tokens: int | None = None
    final: bool = True
    blind: bool = False


async def ask_window(base_url: str, api_key: str, model: str) -> SaidWindow | None:
    """Ask the endpoint for the window of a model. Return None if it can't be reached. Never raises."""
    import httpx  # Most processes never need it.

    headers = {"Authorization": f"Bearer {api_key}"}
    try:
        async with (
            asyncio.timeout(TIMEOUT_SECONDS),
            httpx.AsyncClient(
                headers=headers,
                timeout=TIMEOUT_SECONDS,
                verify=tls_context(),
                trust_env=not is_on_this_machine(base_url),
            ) as client,
        ):
            listing = await _get(client, f"{base_url.rstrip('/')}/models")
            if said_window := _from_listing(listing, model):
                return said_window
            root = _root(base_url)
            answers = await asyncio.gather(
                _lm_studio(client, root, model), _ollama(client, root, model), _llama_cpp(client, root)
            )
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError):
        return None
    return next((said_window for said_window in answers if said_window is not None), SaidWindow())


def _from_listing(listing: object, model: str) -> SaidWindow | None:
    entries = items(listing, "data")
    result = _find_model(entries, "id", model)
    if result is None and len(entries) == 1 and at(entries[0], "owned_by") == "llamacpp":
        result = entries[0]  # llama.cpp has a single model, and accepts any name for it.
    context = _first(result, _CONTEXT)
    inputs = at(result, "architecture", "input_modalities")  # OpenRouter
    blind = isinstance(inputs, list) and "image" not in inputs
    return SaidWindow(context, _first(result, _OUTPUT), blind=blind) if context else None


async def _lm_studio(client: httpx.AsyncClient, root: str, model: str) -> SaidWindow | None:
    result = _find_model(items(await _get(client, f"{root}/api/v0/models"), "data"), "id", model)
    if result is None:
        return None
    loaded, blind = _tokens(at(result, "loaded_context_length")), at(result, "type") == "llm"
    return SaidWindow(loaded or DEFAULT_LOCAL_TOKENS, final=loaded is not None, blind=blind)


async def _ollama(client: httpx.AsyncClient, root: str, model: str) -> SaidWindow | None:
    answer = await _get(client, f"{root}/api/show", {"model": model})
    details = at(answer, "model_info")
    if not isinstance(details, dict):
        return None
    capabilities = at(answer, "capabilities")
    blind = isinstance(capabilities, list) and "vision" not in capabilities
    running = await _get(client, f"{root}/api/ps")
    loaded = _tokens(at(_find_model(items(running, "models"), "model", model), "context_length"))
    trained = next((t for name, t in details.items() if name.endswith(".context_length") and _tokens(t)), None)
    if loaded or at(answer, "remote_host"):  # With a remote host, the model runs in Ollama's cloud.
        return SaidWindow(loaded or trained, blind=blind)
    # Ollama silently cuts longer prompts, so assume the smallest window until the model is loaded.
    configured = re.search(r"^num_ctx\s+(\d+)\s*$", str(at(answer, "parameters")), re.MULTILINE)
    assumed = int(configured[1]) if configured else min(DEFAULT_LOCAL_TOKENS, trained or DEFAULT_LOCAL_TOKENS)
    return SaidWindow(assumed, final=False, blind=blind)


async def _llama_cpp(client: httpx.AsyncClient, root: str) -> SaidWindow | None:
    slot = _tokens(at(await _get(client, f"{root}/props"), "default_generation_settings", "n_ctx"))
    return SaidWindow(slot) if slot else None


async def _get(client: httpx.AsyncClient, url: str, post: dict[str, str] | None = None) -> object:
    """Return the JSON at `url`, or None if it is missing. Raises httpx.HTTPError if the server can't be reached."""
    answer = await (client.get(url) if post is None else client.post(url, json=post))
    try:
        return answer.json() if answer.status_code == HTTPStatus.OK else None
    except (ValueError, RecursionError):
        return None


def _root(base_url: str) -> str:
    split = urlsplit(base_url)
    return f"{split.scheme}://{split.netloc}"


def _find_model(entries: list[object], key: str, model: str) -> object:
    """Return the entry of a model. Ollama adds `:latest` to names without a tag."""
    target = model.lower().removesuffix(":latest")
    return next((e for e in entries if str(at(e, key)).lower().removesuffix(":latest") == target), None)


def _first(entry: object, places: Iterable[tuple[str, ...]]) -> int | None:
    return next((tokens for place in places if (tokens := _tokens(at(entry, *place)))), None)


def _tokens(value: object) -> int | None:
    """Return the value if it is a plausible number of tokens, or None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 512 else None
