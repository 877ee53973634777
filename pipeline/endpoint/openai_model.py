"""Any OpenAI-compatible endpoint, over the openai SDK: streaming, tool calls, usage, retries."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import httpx
import structlog

from config.handles import connections
from config.texts import _
from pipeline.endpoint.answer_stream import AnswerStream
from pipeline.endpoint.client import client_of
from pipeline.endpoint.known_endpoint import KnownEndpoint
from pipeline.endpoint.model_errors import explained, loggable
from pipeline.endpoint.patience import patiently
from pipeline.endpoint.refusals import send_what_is_accepted
from pipeline.endpoint.sending import Begun, Refusal, Sending
from pipeline.endpoint.sight import names_the_colour, sight_test
from pipeline.endpoint.waiting import reading, while_loading
from pipeline.endpoint.wire import Part
from pipeline.endpoint.written_calls import with_written_calls
from pipeline.models.model import ModelAnswer, ModelError, ModelRequest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import openai

    from config.models import ModelWindow
    from pipeline.endpoint.known_endpoint import Endpoint
    from pipeline.models.model import OnText, OnWait

log = structlog.get_logger(__name__)

MOST_REQUESTS = 1000
"""Connections to one model at most, where the system has handles for them."""
RETRIES = 2
"""Retries of the SDK for 429, 5xx and lost connections, with backoff and respect for Retry-After."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """What stands in requests that don't say otherwise. tools: whether the model can use any."""

    temperature: float | None = None
    max_output_tokens: int | None = None
    tools: bool = True


class OpenAIModel:
    """One model of one endpoint. `connect` is asked for the endpoint at each call, so it may start on demand.

    What the endpoint refuses in a request is left out from then on, and with `known`, after a restart as well.
    sees: whether the model is known to see pictures; None: it is asked to name the colour of one when it matters.
    """

    def __init__(
        self,
        name: str,
        window: ModelWindow,
        connect: Callable[[], Awaitable[Endpoint]],
        *,
        timeout: float,
        defaults: Defaults = Defaults(),  # frozen
        known: KnownEndpoint | None = None,
        sees: bool | None = None,
    ) -> None:
        self.name = name
        self._window = window
        self._connect = connect
        self._timeout = timeout
        self._defaults = defaults
        self._known = known or KnownEndpoint(name)
        self._sees = sees
        self._looking = asyncio.Lock()
        self._client: openai.AsyncOpenAI | None = None
        self._endpoint: Endpoint | None = None

    @property
    def window(self) -> ModelWindow:
        """How much it reads and writes: as its endpoint says, else as was assumed."""
        return self._known.window(self._window)

    async def get_to_know(self) -> None:
        """Ask the endpoint how much the model reads, where that is not known or long ago; two seconds at the most."""
        if self._known.asks:
            await self._known.ask(await self._connect())

    async def looks_reliably(self) -> bool:
        """Whether its second look has not failed the self-test; True where nobody has tested it."""
        with contextlib.suppress(ModelError):  # who can't be reached gives no look anyhow
            await self._known.recall(await self._connect())
        return Part.SECOND_LOOK not in self._known.refused

    async def sees(self) -> bool:
        """Whether pictures may be sent to it. What it shows when it is asked is kept as what its endpoint refuses."""
        if self._may_see:
            with contextlib.suppress(ModelError):
                await self._open(None)  # what is kept of the endpoint is read
            async with self._looking:  # the photos of an album ask together
                if self._sees is None and self._may_see:
                    await self._look()
        return self._may_see

    @property
    def _may_see(self) -> bool:
        """Whether nothing speaks against it: where nothing is known a turn shows it, or says what is wrong."""
        return self._sees is not False and Part.IMAGES not in self._known.refused

    async def _look(self) -> None:
        """Find out whether it sees, and keep that it does not."""
        try:
            self._sees = names_the_colour(await self._complete(sight_test(), None))
        except ModelError as error:
            log.warning("sight_not_tested", model=self.name, error=error.loggable)
        if self._sees is False:
            await self._known.learn_refused(self._known.refused | {Part.IMAGES})

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelAnswer:
        """Answer `request`, streaming its text to `on_text`. Cancelling closes the connection.

        What breaks a stream that has begun to speak makes it an answer that is cut off, not an error.
        """
        if not any(message.images for message in request.messages):
            return await self._complete(request, on_text)
        if not await self.sees():
            blind = replace(request, messages=[replace(message, images=()) for message in request.messages])
            return replace(await self._complete(blind, on_text), unseen=True)
        answer = await self._complete(request, on_text)
        if answer.unseen:  # one picture may be broken, or none is taken any more
            async with self._looking:
                await self._look()
        return answer

    async def _complete(self, request: ModelRequest, on_text: OnText | None) -> ModelAnswer:
        import openai

        client = await self._open(request.on_wait)
        request = self._with_defaults(request)
        answer, unseen = AnswerStream(self.name), False
        silence = self._timeout if request.silence is None else min(request.silence, self._timeout)
        if request.on_wait is not None:
            await request.on_wait(reading(request))
        try:
            async with (
                patiently(silence, request.seconds) as heard,
                await self._begin(client, request, heard) as begun,
            ):
                unseen = Part.IMAGES in begun.without
                if request.on_wait is not None:  # it has read: what still takes time is thinking that is not shown
                    await request.on_wait(_("thinking"))
                async for chunk in begun:
                    heard()
                    piece = answer.take(chunk)
                    if piece and on_text is not None:
                        await on_text(piece)
        # ValueError: what came is not JSON, or not UTF-8
        except (openai.OpenAIError, ValueError, TimeoutError) as error:
            if not answer.begun:
                # from None: a log with the provider's words could hold what was said to it
                raise await self._explained(error, min(silence, request.seconds or silence)) from None
            log.warning("stream_broke", model=self.name, **loggable(error))
        done = replace(answer.finished(), unseen=unseen)
        return with_written_calls(done, () if Part.TOOLS in self._known.refused else request.tools)

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _open(self, on_wait: OnWait | None) -> openai.AsyncOpenAI:
        endpoint = await while_loading(self._connect(), on_wait)
        if self._client is None or endpoint != self._endpoint:
            await self.close()
            limits = httpx.Limits(max_connections=connections(MOST_REQUESTS))
            self._client = client_of(endpoint, seconds=self._timeout, retries=RETRIES, limits=limits)
            self._endpoint = endpoint
            await self._known.recall(endpoint)
        return self._client

    def _with_defaults(self, request: ModelRequest) -> ModelRequest:
        defaults = self._defaults
        return replace(
            request,
            tools=request.tools if defaults.tools else (),
            temperature=defaults.temperature if request.temperature is None else request.temperature,
            max_output_tokens=request.max_output_tokens or defaults.max_output_tokens,
        )

    async def _begin(self, client: openai.AsyncOpenAI, request: ModelRequest, heard: Callable[[], None]) -> Begun:
        """The answer's stream, of the request or of as much of it as the endpoint takes."""
        known = self._known.refused
        try:
            begun, refused = await send_what_is_accepted(Sending(client, self.name, request, heard), known)
        except Refusal as refusal:
            raise refusal.cause from None
        begun.without = refused
        # that it was the pictures says nothing of others: that is found out apart
        lasting = refused - {Part.IMAGES} | known
        if lasting != known:
            await self._known.learn_refused(lasting)
        return begun

    async def _explained(self, error: Exception, waited: float) -> ModelError:
        import openai

        log.warning("model_call_failed", model=self.name, **loggable(error))
        endpoint = self._endpoint
        where = endpoint.address if endpoint and endpoint.base_url else "OpenAI"
        lost = isinstance(error, openai.APIConnectionError) and not isinstance(error, openai.APITimeoutError)
        if lost and endpoint is not None and endpoint.why_lost is not None:
            return ModelError(await endpoint.why_lost())
        return explained(error, self.name, where, waited)
