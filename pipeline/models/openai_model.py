"""Any OpenAI-compatible endpoint, over the openai SDK: streaming, tool calls, usage, retries."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import structlog

from config.process import connections
from config.texts import _, ngettext
from memory.text.tokens import TokenCounter
from pipeline.models.client import NotAModel, client_of, explained, idle_timeout, load_sdk, loggable
from pipeline.models.endpoint import EndpointCapabilities
from pipeline.models.model import ModelAnswer, ModelError, ModelRequest
from pipeline.models.request_body import Part
from pipeline.models.sending import AnswerStream, ChatRequest, with_written_calls

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import openai

    from config.models import ModelWindow
    from pipeline.models.endpoint import Endpoint
    from pipeline.models.model import OnText, OnWait
    from pipeline.models.sending import ResponseStream

log = structlog.get_logger(__name__)

MOST_REQUESTS = 1000
"""Connections to one model at most, where the system has handles for them."""
RETRIES = 2
"""Retries of the SDK for 429, 5xx and lost connections, with backoff and respect for Retry-After."""
AT_ONCE = 0.3
"""Seconds of waiting for an endpoint that nobody is told of."""


class OpenAIModel:
    """One model of one endpoint. `connect` is asked for the endpoint at each call, so it may start on demand.

    What the endpoint refuses in a request is left out from then on, and with `known`, after a restart as well.
    temperature, max_output_tokens: of requests that don't say otherwise. unable: what the model itself can't take.
    """

    def __init__(
        self,
        name: str,
        window: ModelWindow,
        connect: Callable[[], Awaitable[Endpoint]],
        *,
        timeout: float,
        temperature: float | None = None,
        max_output_tokens: int | None = None,
        known: EndpointCapabilities | None = None,
        unable: frozenset[Part] = frozenset(),
    ) -> None:
        self.name = name
        self._window = window
        self._connect = connect
        self._timeout = timeout
        self._temperature = temperature
        self._max_output_tokens = max_output_tokens
        self._known = known or EndpointCapabilities(name)
        self._unable = unable
        self._client: openai.AsyncOpenAI | None = None
        self._endpoint: Endpoint | None = None
        self._under_v1 = False

    @property
    def window(self) -> ModelWindow:
        """How much it reads and writes: as its endpoint says, else as was assumed."""
        return self._known.window(self._window)

    async def get_to_know(self) -> None:
        """Ask the endpoint how much the model reads, where that is not known or long ago; two seconds at the most."""
        if self._known.asks:
            await self._known.ask(await self._where())

    async def load(self) -> None:
        """Start what answers, where it is a program of ours, and load what talks with it."""
        with contextlib.suppress(ModelError):  # a message that is answered says why not
            await self._open(None)

    async def can(self, part: Part) -> bool:
        """Whether it takes a part: where nothing is known, a request shows it, and that is kept."""
        if part in self._unable:
            return False
        await self._recall()
        return part not in self._known.refused

    async def _recall(self) -> None:
        if not self._known.is_kept:  # where it runs on this machine, asking for its address would load it
            return
        with contextlib.suppress(ModelError):  # who can't be reached answers nothing anyhow
            await self._known.recall(await self._where())

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelAnswer:
        """Answer `request`, streaming its text to `on_text`. Cancelling closes the connection.

        What breaks a stream that has begun to speak makes it an answer that is cut off, not an error.
        """
        import openai

        client = await self._open(request.on_wait)
        request = self._with_defaults(request)
        shows = any(message.images for message in request.messages)
        without: frozenset[Part] = frozenset()
        answer = AnswerStream(self.name)
        silence = self._timeout if request.silence is None else min(request.silence, self._timeout)
        if request.on_wait is not None:
            await request.on_wait(_reading(request))
        try:
            async with (
                idle_timeout(silence, request.seconds) as keep_alive,
                await self._begin(ChatRequest(client, self.name, request, keep_alive)) as response,
            ):
                without = response.without
                if request.on_wait is not None:  # it has read: what still takes time is thinking that is not shown
                    await request.on_wait(_("thinking"))
                async for chunk in response:
                    keep_alive()
                    piece = answer.take(chunk)
                    if piece and on_text is not None:
                        await on_text(piece)
        # ValueError: what came is not JSON, or not UTF-8
        except (openai.OpenAIError, ValueError, TimeoutError) as error:
            if not answer.begun:
                if self._is_above_v1(error):
                    self._under_v1 = True
                    return await self.complete(request, on_text)
                # from None: a log with the provider's words could hold what was said to it
                raise await self._explained(error, min(silence, request.seconds or silence)) from None
            log.warning("stream_broke", model=self.name, **loggable(error))
        done = replace(answer.finished(), unseen=shows and Part.IMAGES in without)
        return with_written_calls(done, () if Part.TOOLS in without else request.tools)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _open(self, on_wait: OnWait | None) -> openai.AsyncOpenAI:
        saying = asyncio.create_task(_say_late(on_wait, _("loading the model"))) if on_wait is not None else None
        try:
            endpoint = await self._where()
        finally:
            if saying is not None:
                saying.cancel()
        await load_sdk()
        if self._client is None or endpoint != self._endpoint:
            await self.close()
            most = connections(MOST_REQUESTS)
            self._client = client_of(endpoint, seconds=self._timeout, retries=RETRIES, connections=most)
            self._endpoint = endpoint
            await self._known.recall(endpoint)
        return self._client

    async def _where(self) -> Endpoint:
        """The endpoint; where nothing was at the address as it was given, what is below /v1 of it."""
        endpoint = await self._connect()
        return replace(endpoint, base_url=f"{endpoint.address}/v1") if self._under_v1 else endpoint

    def _is_above_v1(self, error: Exception) -> bool:
        """Whether an address without a path has no API: most have it under /v1, which most people leave away."""
        import openai

        url = self._endpoint.base_url if self._endpoint is not None else None
        if self._under_v1 or not url or urlsplit(url).path.strip("/"):
            return False
        return isinstance(error, openai.NotFoundError | NotAModel)

    def _with_defaults(self, request: ModelRequest) -> ModelRequest:
        return replace(
            request,
            tools=() if Part.TOOLS in self._unable else request.tools,
            temperature=self._temperature if request.temperature is None else request.temperature,
            max_output_tokens=request.max_output_tokens or self._max_output_tokens,
        )

    async def _begin(self, request: ChatRequest) -> ResponseStream:
        """The answer's stream, of the request or of as much of it as the endpoint takes."""
        without = self._known.refused | self._unable
        response = await request.send(without)
        if response.refused != without:
            await self._known.learn_refused(response.refused)
        return response

    async def _explained(self, error: Exception, waited: float) -> ModelError:
        import openai

        log.warning("model_call_failed", model=self.name, **loggable(error))
        endpoint = self._endpoint
        where = endpoint.address if endpoint and endpoint.base_url else "OpenAI"
        lost = isinstance(error, openai.APIConnectionError) and not isinstance(error, openai.APITimeoutError)
        if lost and endpoint is not None and endpoint.why_lost is not None:
            return ModelError(await endpoint.why_lost())
        return explained(error, self.name, where, waited)


async def _say_late(on_wait: OnWait, what: str) -> None:
    """Say what is waited for once that takes longer than a moment: an endpoint elsewhere is there at once."""
    await asyncio.sleep(AT_ONCE)
    await on_wait(what)


def _reading(request: ModelRequest) -> str:
    """What the model does until its first word; the tokens to two digits: an estimate must not look like a count."""
    counter = TokenCounter()
    tools = sum(counter.text(tool.name + tool.description + tool.parameters) for tool in request.tools)
    tokens = int(float(f"{counter.messages(request.messages) + tools:.1e}"))
    return ngettext("reading {n} token", "reading {n} tokens", tokens)
