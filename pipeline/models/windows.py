"""Asks an endpoint for the context window of a model. Servers have a dozen ways to state it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pipeline.models.endpoint import get_tls_context, is_on_this_machine
from pipeline.models.events import get_items, get_value

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
class StatedWindow:
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


async def ask_window(base_url: str, api_key: str, model: str) -> StatedWindow | None:
    """Ask the endpoint for the window of a model. Return None if it can't be reached. Never raises."""
    import httpx  # Most processes never need it.

    headers = {"Authorization": f"Bearer {api_key}"}
    try:
        async with (
            asyncio.timeout(TIMEOUT_SECONDS),
            httpx.AsyncClient(
                headers=headers,
                timeout=TIMEOUT_SECONDS,
                verify=get_tls_context(),
                trust_env=not is_on_this_machine(base_url),
            ) as client,
        ):
            listing = await _get(client, f"{base_url.rstrip('/')}/models")
            if said_window := _read_listing(listing, model):
                return said_window
            root = _get_root(base_url)
            answers = await asyncio.gather(
                _ask_lm_studio(client, root, model), _ask_ollama(client, root, model), _ask_llama_cpp(client, root)
            )
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError):
        return None
    return next((said_window for said_window in answers if said_window is not None), StatedWindow())


def _read_listing(listing: object, model: str) -> StatedWindow | None:
    entries = get_items(listing, "data")
    result = _find_model(entries, "id", model)
    if result is None and len(entries) == 1 and get_value(entries[0], "owned_by") == "llamacpp":
        result = entries[0]  # llama.cpp has a single model, and accepts any name for it.
    context = _find_first(result, _CONTEXT)
    inputs = get_value(result, "architecture", "input_modalities")  # OpenRouter
    blind = isinstance(inputs, list) and "image" not in inputs
    return StatedWindow(context, _find_first(result, _OUTPUT), blind=blind) if context else None


async def _ask_lm_studio(client: httpx.AsyncClient, root: str, model: str) -> StatedWindow | None:
    result = _find_model(get_items(await _get(client, f"{root}/api/v0/models"), "data"), "id", model)
    if result is None:
        return None
    loaded, blind = _parse_tokens(get_value(result, "loaded_context_length")), get_value(result, "type") == "llm"
    return StatedWindow(loaded or DEFAULT_LOCAL_TOKENS, final=loaded is not None, blind=blind)


async def _ask_ollama(client: httpx.AsyncClient, root: str, model: str) -> StatedWindow | None:
    answer = await _get(client, f"{root}/api/show", {"model": model})
    details = get_value(answer, "model_info")
    if not isinstance(details, dict):
        return None
    capabilities = get_value(answer, "capabilities")
    blind = isinstance(capabilities, list) and "vision" not in capabilities
    running = await _get(client, f"{root}/api/ps")
    loaded = _parse_tokens(get_value(_find_model(get_items(running, "models"), "model", model), "context_length"))
    trained = next((t for name, t in details.items() if name.endswith(".context_length") and _parse_tokens(t)), None)
    if loaded or get_value(answer, "remote_host"):  # With a remote host, the model runs in Ollama's cloud.
        return StatedWindow(loaded or trained, blind=blind)
    # Ollama silently cuts longer prompts, so assume the smallest window until the model is loaded.
    configured = re.search(r"^num_ctx\s+(\d+)\s*$", str(get_value(answer, "parameters")), re.MULTILINE)
    assumed = int(configured[1]) if configured else min(DEFAULT_LOCAL_TOKENS, trained or DEFAULT_LOCAL_TOKENS)
    return StatedWindow(assumed, final=False, blind=blind)


async def _ask_llama_cpp(client: httpx.AsyncClient, root: str) -> StatedWindow | None:
    slot = _parse_tokens(get_value(await _get(client, f"{root}/props"), "default_generation_settings", "n_ctx"))
    return StatedWindow(slot) if slot else None


async def _get(client: httpx.AsyncClient, url: str, post: dict[str, str] | None = None) -> object:
    """Return the JSON at `url`, or None if it is missing. Raises httpx.HTTPError if the server can't be reached."""
    answer = await (client.get(url) if post is None else client.post(url, json=post))
    try:
        return answer.json() if answer.status_code == HTTPStatus.OK else None
    except (ValueError, RecursionError):
        return None


def _get_root(base_url: str) -> str:
    split = urlsplit(base_url)
    return f"{split.scheme}://{split.netloc}"


def _find_model(entries: list[object], key: str, model: str) -> object:
    """Return the entry of a model. Ollama adds `:latest` to names without a tag."""
    target = model.lower().removesuffix(":latest")
    return next((e for e in entries if str(get_value(e, key)).lower().removesuffix(":latest") == target), None)


def _find_first(entry: object, places: Iterable[tuple[str, ...]]) -> int | None:
    return next((tokens for place in places if (tokens := _parse_tokens(get_value(entry, *place)))), None)


def _parse_tokens(value: object) -> int | None:
    """Return the value if it is a plausible number of tokens, or None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 512 else None
