"""One request to an OpenAI-compatible endpoint, from its parts to the first chunk of its answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memory.messages import Role
from pipeline.endpoint.model_errors import means_overflow
from pipeline.endpoint.refusals import Refusal
from pipeline.endpoint.wire import Part, body, parts
from pipeline.models.model import ModelRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    import openai
    from openai import AsyncStream

    Stream = AsyncStream[object]

_NO_REFUSALS = frozenset((401, 402, 403, 408, 409, 413, 429))
"""Statuses that say what is wrong, and it is no part of the request."""


class Begun:
    """An answer's stream whose first chunk is here already: some servers refuse a request no earlier than in it."""

    def __init__(self, stream: Stream, first: object) -> None:
        self._stream = stream
        self._first = first

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stream.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> object:
        if self._first is None:
            return await anext(self._stream)
        first, self._first = self._first, None
        return first


class Sending:
    """A request on its way to an endpoint, with or without its optional parts.

    heard: is called when the endpoint has refused it, which one that hangs does not.
    """

    def __init__(
        self, client: openai.AsyncOpenAI, model: str, request: ModelRequest, heard: Callable[[], None]
    ) -> None:
        self._client = client
        self._model = model
        self._request = request
        self._heard = heard

    def parts(self, without: frozenset[Part]) -> Sequence[Part]:
        """What it still has then of what it could do without."""
        return parts(body(self._model, self._request, without))

    async def send(self, without: frozenset[Part]) -> Begun:
        """Send it; its answer from the first chunk on. Raises Refusal, or the SDK's errors."""
        import openai

        try:
            # past the SDK's models of requests and chunks, which take as long as all the rest of a turn
            stream: Stream = await self._client.post(
                "/chat/completions",
                body=body(self._model, self._request, without),
                cast_to=object,
                stream=True,
                stream_cls=openai.AsyncStream[object],
            )
        except openai.APIStatusError as error:
            raise self._refusal(error, error.status_code) from error
        try:
            return Begun(stream, await anext(stream, None))
        except openai.APIConnectionError:
            await stream.close()
            raise
        except openai.APIError as error:
            await stream.close()
            raise self._refusal(error, None) from error
        except BaseException:
            await stream.close()
            raise

    async def takes_tools(self) -> bool:
        """Whether the endpoint takes the tools in a request of a few words."""
        hello = replace(self._request.messages[-1], role=Role.USER, content="Hello.", tool_calls=())
        small = Sending(self._client, self._model, ModelRequest([hello], self._request.tools), self._heard)
        try:
            await self.discard(await small.send(frozenset({Part.STREAM_OPTIONS})))
        except Refusal:
            return False
        return True

    async def discard(self, answer: Begun) -> None:
        """Close the connection, which ends the work on it."""
        async with answer:
            pass

    def _refusal(self, error: openai.APIError, status: int | None) -> Exception:
        """A Refusal where doing without a part of the request may help, else the error itself."""
        self._heard()
        hopeless = status in _NO_REFUSALS or (status or 0) > 501 or means_overflow(error)
        return error if hopeless else Refusal(status, str(error), error.param, error)
