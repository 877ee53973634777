"""Facts about a model at its endpoint: the parts of a request that it refuses, and its context window."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

import structlog

from config.models import ModelWindow
from memory.clock import Clock, system_clock
from memory.errors import StoreError
from memory.runtime.endpoints import EndpointFacts, EndpointStore
from pipeline.models.endpoint import Endpoint
from pipeline.models.windows import ask_window

log = structlog.get_logger(__name__)

WINDOW_MAX_AGE = timedelta(days=1)
"""How long a window is trusted. A server may be restarted with other options."""
FAILURE_RETRY = timedelta(minutes=10)
"""How long to wait before asking an endpoint again that did not answer."""
_REFUSED_TOOL = "tool:"


class Part(StrEnum):
    """A part or property of a request that some servers refuse.

    The values are stored in the database. Unknown values are ignored.
    """

    STREAM_OPTIONS = "stream_options"
    REASONING_EFFORT = "reasoning_effort"
    RESPONSE_FORMAT = "response_format"
    TEMPERATURE = "temperature"
    MAX_TOKENS = "max_tokens"
    MAX_COMPLETION_TOKENS = "max_completion_tokens"
    INCLUDE = "include"
    CACHE_KEY = "prompt_cache_key"
    CACHE_MARKS = "cache_control"
    TOOL_CHOICE = "tool_choice"
    TOOLS = "tools"
    IMAGES = "pictures"
    LATER_SYSTEM = "a later system message"
    SYSTEM = "a system message"
    SAME_ROLE = "adjacent messages of one role"
    EMPTY_TEXT = "empty text"
    PROVIDER_DATA = "provider data"
    """Reasoning and signatures that are sent back with the answer that they belong to."""
    OTHERS_CALLS = "calls of other models"
    EARLIER_CALLS = "earlier calls"
    DEFAULT_EFFORT = "default effort"
    """Tools together with reasoning: the effort must be `none`."""
    TIGHT_LIMITS = "tight limits"
    """Output limits that leave no room for reasoning."""
    CHAT_COMPLETIONS = "chat completions"
    RESPONSES = "responses"
    SECOND_LOOK = "second look"
    """Judging whether a fact follows from a text. A self-test decides whether the model can do it."""


@dataclass(frozen=True, slots=True)
class Adjustments:
    """The changes to requests that a model needs.

    Attributes:
        without: The parts that are left out or replaced.
        bad_tools: The keys of tools with schemas that the server refuses.
    """

    without: frozenset[Part] = frozenset()
    bad_tools: frozenset[str] = frozenset()

    def plus(self, *parts: Part) -> Adjustments:
        return replace(self, without=self.without | set(parts))

    def to_names(self) -> frozenset[str]:
        return frozenset({*(part.value for part in self.without), *(_REFUSED_TOOL + key for key in self.bad_tools)})

    @classmethod
    def from_names(cls, names: frozenset[str]) -> Adjustments:
        known = {part.value: part for part in Part}
        return cls(
            frozenset(known[name] for name in names if name in known),
            frozenset(name.removeprefix(_REFUSED_TOOL) for name in names if name.startswith(_REFUSED_TOOL)),
        )

    def __or__(self, other: Adjustments) -> Adjustments:
        return Adjustments(self.without | other.without, self.bad_tools | other.bad_tools)


NOTHING = Adjustments()


@dataclass(eq=False)
class EndpointCapabilities:
    """The facts about a model at its endpoint.

    Args:
        store: Stores the facts. None keeps them in memory only.
        asks: Ask the endpoint for the context window.
        ignores_stored: Ignore the stored facts.
    """

    model: str
    store: EndpointStore | None = None
    clock: Clock = system_clock
    asks: bool = False
    ignores_stored: bool = False
    _url: str | None = field(default=None, init=False)
    _asks_here: bool = field(default=True, init=False)
    _facts: EndpointFacts = field(default_factory=EndpointFacts, init=False)
    _silent_until: datetime | None = field(default=None, init=False)

    @property
    def has_stated_window(self) -> bool:
        return self._facts.context_tokens is not None

    @property
    def is_stored(self) -> bool:
        return self.store is not None

    @property
    def adjustments(self) -> Adjustments:
        return Adjustments.from_names(self._facts.refused)

    @property
    def refused(self) -> frozenset[Part]:
        return self.adjustments.without

    def get_window(self, assumed: ModelWindow) -> ModelWindow:
        if not self.asks:
            return assumed
        context = self._facts.context_tokens or assumed.max_input_tokens
        output = self._facts.output_tokens or assumed.max_output_tokens
        # Some servers state the whole window as the output limit, which would leave no room for the prompt.
        return ModelWindow(context, max(1, min(output, context // 2)))

    async def load_facts(self, endpoint: Endpoint) -> None:
        """Load the stored facts about the endpoint once. If they can't be read, they count as unknown."""
        url = endpoint.address
        if url == self._url:
            return
        self._asks_here = endpoint.provider.tells_window
        if self.store is not None and not self.ignores_stored:
            try:
                self._facts = await self.store.read(url, self.model)
            except StoreError as error:
                log.warning("endpoint_facts_not_read", error=error.loggable)
        self._url = url

    async def learn(self, adjustments: Adjustments) -> None:
        self._facts = replace(self._facts, refused=self._facts.refused | adjustments.to_names())
        await self._store_facts(lambda store, url: store.learn_refused(url, self.model, self._facts.refused))

    async def ask(self, endpoint: Endpoint) -> None:
        """Ask the endpoint for the context window if it is unknown or outdated. Never raises."""
        await self.load_facts(endpoint)
        if not self.asks or not self._asks_here or not self._is_due(self.clock()):
            return
        said = await ask_window(endpoint.url, endpoint.api_key, self.model)
        if said is None:
            self._silent_until = self.clock() + FAILURE_RETRY
            return
        asked_at = self.clock() if said.final else None
        log.info("endpoint_window", model=self.model, context_tokens=said.context_tokens, final=said.final)
        self._facts = replace(
            self._facts, context_tokens=said.context_tokens, output_tokens=said.output_tokens, asked_at=asked_at
        )
        facts = (said.context_tokens, said.output_tokens, asked_at)
        await self._store_facts(lambda store, url: store.learn_window(url, self.model, *facts))
        if said.blind and Part.IMAGES not in self.refused:
            await self.learn(Adjustments(frozenset({Part.IMAGES})))

    async def _store_facts(self, learn: Callable[[EndpointStore, str], Awaitable[None]]) -> None:
        if self.store is None or self._url is None:
            return
        try:
            await learn(self.store, self._url)
        except StoreError as error:  # The disk may be full. The fact is learned again after a restart.
            log.warning("endpoint_facts_not_kept", error=error.loggable)

    def _is_due(self, now: datetime) -> bool:
        if self._silent_until is not None and now < self._silent_until:
            return False
        return self._facts.asked_at is None or now >= self._facts.asked_at + WINDOW_MAX_AGE
