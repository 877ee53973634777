"""One request to an OpenAI-compatible endpoint, from its parts to the first chunk of its answer, or to its refusal."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memory.messages import Role
from pipeline.endpoint.model_errors import NotAModel, means_overflow
from pipeline.endpoint.wire import Part, body, of_messages, parts
from pipeline.models.model import ModelRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    import openai
    from openai import AsyncStream

    Stream = AsyncStream[object]

_NO_REFUSALS = frozenset((401, 402, 403, 408, 409, 413, 429))
"""Statuses that say what is wrong, and it is no part of the request."""


_NAMES = {
    Part.STREAM_OPTIONS: r"stream[_ ]options|include_usage",
    Part.RESPONSE_FORMAT: r"response[_ ]format|json_object|json mode|structured output",
    Part.TEMPERATURE: r"temperature",
    Part.IMAGES: r"image_url|\b(?:images?|vision|multimodal|pictures?|mmproj)\b",
    Part.MAX_TOKENS: r"\bmax_tokens\b",
    Part.MAX_COMPLETION_TOKENS: r"max_completion_tokens",
    # not every word of tools: a complaint about a call in the history is none about tools
    Part.TOOLS: r"support\w*\W+(?:\w+\W+){0,4}(?:tools?|functions?)\b|tool_choice"
    r"|\btools?\b(?=.{0,60}(?:not|requir|unrecogn|unknown|unsupport|permit|allow|enable|extra))"
    r"|(?:unrecogn|unknown|unsupport|extra).{0,60}\btools?\b",
}
_ROLES = re.compile(r"\broles?\b|alternat|(?:system|developer) (?:message|prompt|instruction|role)", re.IGNORECASE)
_TEMPLATE = re.compile(r"jinja|chat.?template|raise_exception|template", re.IGNORECASE)
_BAD_REQUEST = (400, 422, 501)
_BROKEN = (500, None)
"""A chat template that fails is told as the server's own failure, or in the middle of a stream that had begun."""


@dataclass(slots=True)
class Refusal(Exception):  # named as what it is
    """A server answered a request with an error that may be about a part of it. status None: said in the stream."""

    status: int | None
    said: str
    param: str | None
    cause: Exception

    def names(self, among: Sequence[Part]) -> Part | None:
        """The part that it speaks of, if it speaks of one of `among`."""
        if self.param:
            return next((part for part in among if part == self.param), None)
        found = {part: re.search(words, self.said, re.IGNORECASE) for part, words in _NAMES.items() if part in among}
        at = {part: match.start() for part, match in found.items() if match}
        if at:
            return min(at, key=lambda part: at[part])
        return next(iter(of_messages(among)), None) if _ROLES.search(self.said) else None

    @property
    def may_mean_any_part(self) -> bool:
        """Whether it may be about a part of the request without saying which."""
        if self.param:
            return False
        return self.status in _BAD_REQUEST or (self.status in _BROKEN and bool(_TEMPLATE.search(self.said)))


class Begun:
    """An answer's stream whose first chunk is here already: some servers refuse a request no earlier than in it.

    without: the parts that its request had to do without.
    """

    def __init__(self, stream: Stream, first: object) -> None:
        self.without: frozenset[Part] = frozenset()
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
        if stream.response.headers.get("content-type", "").lower().startswith("text/html"):
            await stream.close()
            raise NotAModel
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
