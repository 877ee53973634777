"""Asking an endpoint how much its model reads at once: every kind of server says so in a place of its own."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from pipeline.tls import tls_context

if TYPE_CHECKING:
    from collections.abc import Iterable

SECONDS = 2.0
"""How long the question may take in all; the first turn waits for it."""
UNTOLD_TOKENS = 4096
"""What Ollama and LM Studio load a model with unless they are told otherwise, on a machine without a large GPU."""

Answer = TypeVar("Answer", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class SaidWindow:
    """What an endpoint says: all tokens at once, and those of an answer. final: it won't say more once it was used."""

    context_tokens: int | None = None
    output_tokens: int | None = None
    final: bool = True


def _tokens(value: object) -> object:
    """A number of tokens that can be meant, or None: one odd field must not hide the others."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 512 else None


_Tokens = Annotated[int | None, BeforeValidator(_tokens)]


class _Meta(BaseModel):
    """Of llama.cpp. What the model was trained for (n_ctx_train) is not what it was loaded with."""

    n_ctx: _Tokens = None


class _TopProvider(BaseModel):
    """Of OpenRouter."""

    context_length: _Tokens = None
    max_completion_tokens: _Tokens = None


class _Model(BaseModel):
    """An entry of `/v1/models`: of vLLM, OpenRouter, Together, Groq, Mistral and others; OpenAI itself says nothing."""

    id: str
    owned_by: str | None = None
    meta: _Meta | None = None
    max_model_len: _Tokens = None
    top_provider: _TopProvider | None = None
    context_length: _Tokens = None
    context_window: _Tokens = None
    max_context_length: _Tokens = None
    max_input_tokens: _Tokens = None
    max_completion_tokens: _Tokens = None
    max_output_tokens: _Tokens = None

    def window(self) -> SaidWindow | None:
        meta, top = self.meta or _Meta(), self.top_provider or _TopProvider()
        context = _first(
            (meta.n_ctx, self.max_model_len, top.context_length, self.context_length, self.context_window)
        ) or _first((self.max_context_length, self.max_input_tokens))
        longest = _first((top.max_completion_tokens, self.max_completion_tokens, self.max_output_tokens))
        return SaidWindow(context, longest) if context else None


class _Listing(BaseModel):
    data: list[_Model] | None = None


class _StudioModel(BaseModel):
    id: str
    loaded_context_length: _Tokens = None


class _StudioListing(BaseModel):
    """LM Studio's own list."""

    data: list[_StudioModel]


class _Loaded(BaseModel):
    model: str
    context_length: _Tokens = None


class _Running(BaseModel):
    """What Ollama has loaded."""

    models: list[_Loaded] | None = None


class _Shown(BaseModel):
    """What Ollama knows of a model. parameters: lines such as `num_ctx 8192`. remote_host: it runs in its cloud."""

    parameters: str = ""
    remote_host: str | None = None
    details: dict[str, Any] = Field(alias="model_info")

    def trained(self) -> int | None:
        return next((t for name, t in self.details.items() if name.endswith(".context_length") and _tokens(t)), None)


class _Slot(BaseModel):
    n_ctx: _Tokens = None


class _Properties(BaseModel):
    """llama.cpp's."""

    default_generation_settings: _Slot


async def ask_window(base_url: str, api_key: str, model: str) -> SaidWindow | None:
    """How much `model` reads and writes, as the endpoint says; None when it can't be asked. Never raises."""
    headers = {"Authorization": f"Bearer {api_key}"}
    try:
        async with (
            asyncio.timeout(SECONDS),
            httpx.AsyncClient(headers=headers, timeout=SECONDS, verify=tls_context()) as client,
        ):
            listing = await _get(client, f"{base_url.rstrip('/')}/models", _Listing)
            if said := _listed(listing, model):
                return said
            root = _root(base_url)
            asked = await asyncio.gather(
                _lm_studio(client, root, model), _ollama(client, root, model), _llama_cpp(client, root)
            )
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError):
        return None
    return next((said for said in asked if said is not None), SaidWindow())


def _listed(listing: _Listing | None, model: str) -> SaidWindow | None:
    entries = (listing.data if listing else None) or []
    found = next((entry for entry in entries if _same(entry.id, model)), None)
    if found is None and len(entries) == 1 and entries[0].owned_by == "llamacpp":
        found = entries[0]  # it has one model and answers to any name
    return found.window() if found else None


async def _lm_studio(client: httpx.AsyncClient, root: str, model: str) -> SaidWindow | None:
    listing = await _get(client, f"{root}/api/v0/models", _StudioListing)
    found = next((entry for entry in listing.data if _same(entry.id, model)), None) if listing else None
    if found is None:
        return None
    loaded = found.loaded_context_length
    return SaidWindow(loaded) if loaded else SaidWindow(UNTOLD_TOKENS, final=False)


async def _ollama(client: httpx.AsyncClient, root: str, model: str) -> SaidWindow | None:
    shown = await _get(client, f"{root}/api/show", _Shown, {"model": model})
    if shown is None:
        return None
    running = await _get(client, f"{root}/api/ps", _Running)
    loaded = next((entry for entry in (running.models if running else None) or [] if _same(entry.model, model)), None)
    if loaded is not None and loaded.context_length:
        return SaidWindow(loaded.context_length)
    if shown.remote_host:
        return SaidWindow(shown.trained())
    # It cuts off what is longer without a word, so the least is assumed until the model is loaded and tells.
    configured = re.search(r"^num_ctx\s+(\d+)\s*$", shown.parameters, re.MULTILINE)
    if configured:
        return SaidWindow(int(configured[1]), final=False)
    return SaidWindow(min(UNTOLD_TOKENS, shown.trained() or UNTOLD_TOKENS), final=False)


async def _llama_cpp(client: httpx.AsyncClient, root: str) -> SaidWindow | None:
    properties = await _get(client, f"{root}/props", _Properties)
    slot = properties.default_generation_settings.n_ctx if properties else None
    return SaidWindow(slot) if slot else None


async def _get(
    client: httpx.AsyncClient, url: str, shape: type[Answer], post: dict[str, str] | None = None
) -> Answer | None:
    """What is at `url`, where it has this shape. Raises httpx.HTTPError when nothing answers."""
    answer = await (client.get(url) if post is None else client.post(url, json=post))
    if answer.status_code != httpx.codes.OK:
        return None
    try:
        return shape.model_validate_json(answer.content)
    except ValidationError:
        return None


def _root(base_url: str) -> str:
    """The address without its path, under which servers have their own APIs beside OpenAI's."""
    split = urlsplit(base_url)
    return f"{split.scheme}://{split.netloc}"


def _same(listed: str, model: str) -> bool:
    """Whether two names are of one model; Ollama adds the tag that it takes when none is given."""
    a, b = listed.lower(), model.lower()
    return a == b or a.removesuffix(":latest") == b.removesuffix(":latest")


def _first(values: Iterable[int | None]) -> int | None:
    return next((value for value in values if value), None)
