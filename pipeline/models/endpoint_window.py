"""Asking an endpoint how much its model reads at once: every kind of server says so in a place of its own."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pipeline.models.answer_stream import at, items
from pipeline.models.client import is_on_this_machine, tls_context

if TYPE_CHECKING:
    from collections.abc import Iterable

    import httpx

SECONDS = 2.0
"""How long the question may take in all; the first turn waits for it."""
UNTOLD_TOKENS = 4096
"""What Ollama and LM Studio load a model with unless they are told otherwise, on a machine without a large GPU."""

_CONTEXT = (
    ("meta", "n_ctx"),  # llama.cpp; its n_ctx_train is what the model was trained for, not what it was loaded with
    ("max_model_len",),
    ("top_provider", "context_length"),  # OpenRouter
    ("context_length",),
    ("context_window",),
    ("max_context_length",),
    ("max_input_tokens",),
)
# where in an entry of `/v1/models` vLLM, OpenRouter, Together, Groq, Mistral and others say how much a model reads, and
# how long its answers get, in the order of how much is to be believed; OpenAI itself says nothing
_LONGEST = (("top_provider", "max_completion_tokens"), ("max_completion_tokens",), ("max_output_tokens",))


@dataclass(frozen=True, slots=True)
class SaidWindow:
    """What an endpoint says: all tokens at once, and those of an answer. final: it won't say more once it was used.

    blind: whether it says that the model takes no pictures.
    """

    context_tokens: int | None = None
    output_tokens: int | None = None
    final: bool = True
    blind: bool = False


async def ask_window(base_url: str, api_key: str, model: str) -> SaidWindow | None:
    """How much `model` reads and writes, as the endpoint says; None when it can't be asked. Never raises."""
    import httpx  # late: it is seldom asked

    headers = {"Authorization": f"Bearer {api_key}"}
    try:
        async with (
            asyncio.timeout(SECONDS),
            httpx.AsyncClient(
                headers=headers, timeout=SECONDS, verify=tls_context(), trust_env=not is_on_this_machine(base_url)
            ) as client,
        ):
            listing = await _get(client, f"{base_url.rstrip('/')}/models")
            if said_window := _listed(listing, model):
                return said_window
            root = _root(base_url)
            answers = await asyncio.gather(
                _lm_studio(client, root, model), _ollama(client, root, model), _llama_cpp(client, root)
            )
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError):
        return None
    return next((said_window for said_window in answers if said_window is not None), SaidWindow())


def _listed(listing: object, model: str) -> SaidWindow | None:
    entries = items(listing, "data")
    result = _named(entries, "id", model)
    if result is None and len(entries) == 1 and at(entries[0], "owned_by") == "llamacpp":
        result = entries[0]  # it has one model and answers to any name
    context = _first(result, _CONTEXT)
    inputs = at(result, "architecture", "input_modalities")  # OpenRouter
    blind = isinstance(inputs, list) and "image" not in inputs
    return SaidWindow(context, _first(result, _LONGEST), blind=blind) if context else None


async def _lm_studio(client: httpx.AsyncClient, root: str, model: str) -> SaidWindow | None:
    result = _named(items(await _get(client, f"{root}/api/v0/models"), "data"), "id", model)
    if result is None:
        return None
    loaded, blind = _tokens(at(result, "loaded_context_length")), at(result, "type") == "llm"
    return SaidWindow(loaded or UNTOLD_TOKENS, final=loaded is not None, blind=blind)


async def _ollama(client: httpx.AsyncClient, root: str, model: str) -> SaidWindow | None:
    answer = await _get(client, f"{root}/api/show", {"model": model})
    details = at(answer, "model_info")
    if not isinstance(details, dict):
        return None
    capabilities = at(answer, "capabilities")
    blind = isinstance(capabilities, list) and "vision" not in capabilities
    running = await _get(client, f"{root}/api/ps")
    loaded = _tokens(at(_named(items(running, "models"), "model", model), "context_length"))
    trained = next((t for name, t in details.items() if name.endswith(".context_length") and _tokens(t)), None)
    if loaded or at(answer, "remote_host"):  # the latter runs in Ollama's cloud
        return SaidWindow(loaded or trained, blind=blind)
    # It cuts off what is longer without a word, so the least is assumed until the model is loaded and tells.
    configured = re.search(r"^num_ctx\s+(\d+)\s*$", str(at(answer, "parameters")), re.MULTILINE)
    assumed = int(configured[1]) if configured else min(UNTOLD_TOKENS, trained or UNTOLD_TOKENS)
    return SaidWindow(assumed, final=False, blind=blind)


async def _llama_cpp(client: httpx.AsyncClient, root: str) -> SaidWindow | None:
    slot = _tokens(at(await _get(client, f"{root}/props"), "default_generation_settings", "n_ctx"))
    return SaidWindow(slot) if slot else None


async def _get(client: httpx.AsyncClient, url: str, post: dict[str, str] | None = None) -> object:
    """The JSON at `url`; None where there is none. Raises httpx.HTTPError when nothing answers."""
    answer = await (client.get(url) if post is None else client.post(url, json=post))
    try:
        return answer.json() if answer.status_code == HTTPStatus.OK else None
    except (ValueError, RecursionError):
        return None


def _root(base_url: str) -> str:
    """The address without its path, under which servers have their own APIs beside OpenAI's."""
    split = urlsplit(base_url)
    return f"{split.scheme}://{split.netloc}"


def _named(entries: list[object], key: str, model: str) -> object:
    """The entry of a model; Ollama adds the tag that it takes when none is given."""
    target = model.lower().removesuffix(":latest")
    return next((e for e in entries if str(at(e, key)).lower().removesuffix(":latest") == target), None)


def _first(entry: object, places: Iterable[tuple[str, ...]]) -> int | None:
    return next((tokens for place in places if (tokens := _tokens(at(entry, *place)))), None)


def _tokens(value: object) -> int | None:
    """A number of tokens that can be meant, or None: one odd field must not hide the others."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 512 else None
