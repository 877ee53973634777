"""What is known of one model at its endpoint: what it refuses, how much it reads; asked, remembered, used."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

import structlog

from config.models import ModelWindow
from config.secrets import without_shapes
from memory.clock import system_clock
from memory.errors import StoreError
from memory.service.endpoints import EndpointFacts
from pipeline.models.endpoint_window import ask_window
from pipeline.models.request_body import Part

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime

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
    """Where an OpenAI-compatible API is. base_url None: OpenAI's own.

    why_lost: says in a sentence why a connection was lost, where more is known than that it was.
    """

    base_url: str | None
    api_key: str
    why_lost: Callable[[], Awaitable[str]] | None = None

    @property
    def address(self) -> str:
        """Where it is, as it may be stored and shown: without name and password, query and a slash at its end."""
        split = urlsplit(self.base_url or OPENAI)
        return without_shapes(
            urlunsplit((split.scheme, split.netloc.rpartition("@")[2], split.path.rstrip("/"), "", ""))
        )


class EndpointCapabilities:
    """The facts about one model at its endpoint. store None: they last as long as the process.

    asks: whether the endpoint is asked how much its models read. afresh: what is kept from before is not believed.
    """

    def __init__(
        self,
        model: str,
        store: EndpointStore | None = None,
        clock: Clock = system_clock,
        *,
        asks: bool = False,
        afresh: bool = False,
    ) -> None:
        self.asks = asks
        self._model = model
        self._store = store
        self._clock = clock
        self._afresh = afresh
        self._url: str | None = None
        self._facts = EndpointFacts()
        self._silent_until: datetime | None = None

    @property
    def told(self) -> bool:
        """Whether the endpoint itself has said how much the model reads."""
        return self._facts.context_tokens is not None

    @property
    def is_kept(self) -> bool:
        """Whether what is learned of it outlasts the program, so that there may be something to recall."""
        return self._store is not None

    @property
    def refused(self) -> frozenset[Part]:
        """What a request to it must do without."""
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
        """Read what is kept of the endpoint, where that has not been done yet. What can't be read is not known."""
        url = endpoint.address
        if url == self._url:
            return
        if self._store is not None and not self._afresh:
            try:
                self._facts = await self._store.read(url, self._model)
            except StoreError as error:
                log.warning("endpoint_facts_not_read", error=error.loggable)
        self._url = url

    async def learn_refused(self, refused: frozenset[Part]) -> None:
        """Keep that the endpoint refuses these parts."""
        self._facts = replace(self._facts, refused=self._facts.refused | {part.value for part in refused})
        await self._keep(lambda store, url: store.learn_refused(url, self._model, self._facts.refused))

    async def ask(self, endpoint: Endpoint) -> None:
        """Ask the endpoint how much the model reads, if that is not known or long ago. Never raises."""
        await self.recall(endpoint)
        if not self.asks or self._url == OPENAI or not self._is_time(self._clock()):
            return
        said_window = await ask_window(endpoint.base_url or OPENAI, endpoint.api_key, self._model)
        if said_window is None:
            self._silent_until = self._clock() + UNREACHABLE
            return
        asked_at = self._clock() if said_window.final else None
        log.info(
            "endpoint_window", model=self._model, context_tokens=said_window.context_tokens, final=said_window.final
        )
        self._facts = replace(
            self._facts,
            context_tokens=said_window.context_tokens,
            output_tokens=said_window.output_tokens,
            asked_at=asked_at,
        )
        facts = (said_window.context_tokens, said_window.output_tokens, asked_at)
        await self._keep(lambda store, url: store.learn_window(url, self._model, *facts))
        if said_window.blind and Part.IMAGES not in self.refused:
            await self.learn_refused(frozenset({Part.IMAGES}))

    async def _keep(self, learn: Callable[[EndpointStore, str], Awaitable[None]]) -> None:
        if self._store is None or self._url is None:
            return
        try:
            await learn(self._store, self._url)
        except StoreError as error:  # such as a full disk: then it is learned again after a restart
            log.warning("endpoint_facts_not_kept", error=error.loggable)

    def _is_time(self, now: datetime) -> bool:
        if self._silent_until is not None and now < self._silent_until:
            return False
        return self._facts.asked_at is None or now >= self._facts.asked_at + ASK_AGAIN
