"""What is known of one model at its endpoint: what it refuses, how much it reads; asked, remembered, used."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field, replace
from datetime import timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

import structlog

from config.models import ModelWindow
from config.secrets import without_shapes
from memory.clock import system_clock
from memory.errors import StoreError
from memory.service.endpoints import EndpointFacts
from pipeline.models.client import is_on_this_machine, tls_context
from pipeline.models.request_body import Part
from pipeline.models.sending import at, items

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from datetime import datetime

    import httpx

    from memory.clock import Clock
    from memory.service.endpoints import EndpointStore

log = structlog.get_logger(__name__)

ASK_AGAIN = timedelta(days=1)
"""How long what an endpoint said of a model's window is believed: servers are started anew with other options."""
UNREACHABLE = timedelta(minutes=10)
"""How long an endpoint that did not answer is left alone with this question."""
OPENAI = "https://api.openai.com/v1"
"""Lists its models without a word about their windows, so it is not asked."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where an OpenAI-compatible API is."""

    base_url: str | None  # None: OpenAI's own
    api_key: str
    # why a connection was lost, where more is known than that it was
    why_lost: Callable[[], Awaitable[str]] | None = None

    @property
    def address(self) -> str:
        """Where it is, as it may be stored and shown: without name and password, query and a slash at its end."""
        split = urlsplit(self.base_url or OPENAI)
        return without_shapes(
            urlunsplit((split.scheme, split.netloc.rpartition("@")[2], split.path.rstrip("/"), "", ""))
        )


@dataclass(eq=False)
class EndpointCapabilities:
    """The facts about one model at its endpoint."""

    model: str
    store: EndpointStore | None = None  # None: they last as long as the process
    clock: Clock = system_clock
    asks: bool = False  # whether the endpoint is asked how much its models read
    afresh: bool = False  # what was stored before is not believed
    _url: str | None = field(default=None, init=False)
    _facts: EndpointFacts = field(default_factory=EndpointFacts, init=False)
    _silent_until: datetime | None = field(default=None, init=False)

    @property
    def told(self) -> bool:
        """Whether the endpoint itself has said how much the model reads."""
        return self._facts.context_tokens is not None

    @property
    def is_kept(self) -> bool:
        """Whether what is learned of it outlasts the program, so that there may be something to recall."""
        return self.store is not None

    @property
    def refused(self) -> frozenset[Part]:
        return frozenset(part for part in Part if part.value in self._facts.refused)

    def window(self, assumed: ModelWindow) -> ModelWindow:
        """How much the model reads and writes: as the endpoint says, if it is asked, else as is assumed."""
        if not self.asks:
            return assumed
        context = self._facts.context_tokens or assumed.max_input_tokens
        longest = self._facts.output_tokens or assumed.max_output_tokens
        # some servers call the whole window an answer, which would leave no room for the question
        return ModelWindow(context, max(1, min(longest, context // 2)))

    async def recall(self, endpoint: Endpoint) -> None:
        """Read the stored facts on the endpoint, once. What can't be read counts as unknown."""
        url = endpoint.address
        if url == self._url:
            return
        if self.store is not None and not self.afresh:
            try:
                self._facts = await self.store.read(url, self.model)
            except StoreError as error:
                log.warning("endpoint_facts_not_read", error=error.loggable)
        self._url = url

    async def learn_refused(self, refused: frozenset[Part]) -> None:
        self._facts = replace(self._facts, refused=self._facts.refused | {part.value for part in refused})
        await self._keep(lambda store, url: store.learn_refused(url, self.model, self._facts.refused))

    async def ask(self, endpoint: Endpoint) -> None:
        """Ask the endpoint how much the model reads, if that is not known or long ago. Never raises."""
        await self.recall(endpoint)
        if not self.asks or self._url == OPENAI or not self._is_time(self.clock()):
            return
        said_window = await ask_window(endpoint.base_url or OPENAI, endpoint.api_key, self.model)
        if said_window is None:
            self._silent_until = self.clock() + UNREACHABLE
            return
        asked_at = self.clock() if said_window.final else None
        log.info(
            "endpoint_window", model=self.model, context_tokens=said_window.context_tokens, final=said_window.final
        )
        self._facts = replace(
            self._facts,
            context_tokens=said_window.context_tokens,
            output_tokens=said_window.output_tokens,
            asked_at=asked_at,
        )
        facts = (said_window.context_tokens, said_window.output_tokens, asked_at)
        await self._keep(lambda store, url: store.learn_window(url, self.model, *facts))
        if said_window.blind and Part.IMAGES not in self.refused:
            await self.learn_refused(frozenset({Part.IMAGES}))

    async def _keep(self, learn: Callable[[EndpointStore, str], Awaitable[None]]) -> None:
        if self.store is None or self._url is None:
            return
        try:
            await learn(self.store, self._url)
        except StoreError as error:  # such as a full disk: then it is learned again after a restart
            log.warning("endpoint_facts_not_kept", error=error.loggable)

    def _is_time(self, now: datetime) -> bool:
        if self._silent_until is not None and now < self._silent_until:
            return False
        return self._facts.asked_at is None or now >= self._facts.asked_at + ASK_AGAIN


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
    """What an endpoint says: all tokens at once, and those of an answer. final: it won't say more once it was used."""

    context_tokens: int | None = None  # all at once
    output_tokens: int | None = None  # of an answer
    final: bool = True  # it won't say more once the model was used
    blind: bool = False  # it says that the model takes no pictures


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
