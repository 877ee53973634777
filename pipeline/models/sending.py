"""Sends a request to an OpenAI-compatible endpoint, without what the server refuses.

Servers refuse parts of a request that others require. What a refusal names is left out from then on. A refusal that
names nothing is answered by the plainest request, this once: what was wrong may have been only this conversation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from pipeline.models.client import NotAModel, means_overflow
from pipeline.models.request_body import Part, body, of_messages, parts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    import openai
    from openai import AsyncStream

    from pipeline.models.model import ModelRequest

    Stream = AsyncStream[object]

log = structlog.get_logger(__name__)

# statuses that say what is wrong, and it is no part of the request
_NO_REFUSALS = frozenset((401, 402, 403, 408, 409, 413, 429))


_NAMES = {
    Part.STREAM_OPTIONS: r"stream[_ ]options|include_usage",
    Part.REASONING_EFFORT: r"reasoning[_ .]effort|think",
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
# chat templates fail over roles and their order; that may be told as the server's own failure, or within a stream
_ROLES = re.compile(
    r"\broles?\b|alternat|(?:system|developer) (?:message|prompt|instruction|role)|jinja|template|raise_exception",
    re.IGNORECASE,
)
# what is said of a picture rather than of all pictures
_ONE_PICTURE = re.compile(r"process|invalid|corrupt|decod|broken|too (?:large|small)|format|download", re.IGNORECASE)
_BAD_REQUEST = (400, 422, 501)


@dataclass(slots=True)
class ParameterRejected(Exception):  # named as what it is
    """A server answered a request with an error that may be about a part of it. status None: said in the stream."""

    status: int | None
    said: str
    param: str | None
    cause: Exception

    def names(self, among: Sequence[Part]) -> Part | None:
        """The part that it speaks of, if it speaks of one of `among`."""
        if self.param:
            return next((part for part in among if part == self.param), None)
        matches = {part: re.search(words, self.said, re.IGNORECASE) for part, words in _NAMES.items() if part in among}
        at = {part: match.start() for part, match in matches.items() if match}
        if at:
            return min(at, key=lambda part: at[part])
        return next(iter(of_messages(among)), None) if _ROLES.search(self.said) else None

    @property
    def about_one_picture(self) -> bool:
        """Whether another picture may be taken where this one was not."""
        return bool(_ONE_PICTURE.search(self.said))

    @property
    def is_wordless(self) -> bool:
        """Whether it may be about a part of the request without saying which."""
        return not self.param and self.status in _BAD_REQUEST


class ResponseStream:
    """An answer's stream whose first chunk is here already: some servers refuse a request no earlier than in it.

    without: the parts that its request had to do without. refused: those of them that the server refuses for good.
    """

    def __init__(self, stream: Stream, first: object) -> None:
        self.without: frozenset[Part] = frozenset()
        self.refused: frozenset[Part] = frozenset()
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


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request on its way to an endpoint. keep_alive: is called when it was refused, which one that hangs does not."""

    client: openai.AsyncOpenAI
    model: str
    request: ModelRequest
    keep_alive: Callable[[], None]

    async def send(self, refused_before: frozenset[Part]) -> ResponseStream:
        """The answer to the request without what is known to be refused, and without what is refused now.

        Raises the SDK's errors; the server's own where nothing is left that the request could do without.
        """
        without, refused = refused_before, refused_before
        while True:
            try:
                response = await self._post(without)
            except ParameterRejected as rejection:
                remaining = parts(body(self.model, self.request, without))
                named = rejection.names(remaining)
                log.warning("part_refused", part=named and str(named), status=rejection.status)
                if named is not None:
                    without |= {named}
                    # one broken picture makes no model blind
                    if named is not Part.IMAGES or not rejection.about_one_picture:
                        refused |= {named}
                elif remaining and rejection.is_wordless:
                    without, refused = frozenset(Part), refused_before
                else:
                    raise rejection.cause from None
            else:
                response.without, response.refused = without, refused
                return response

    async def _post(self, without: frozenset[Part]) -> ResponseStream:
        """Send it once; its answer from the first chunk on. Raises ParameterRejected, or the SDK's errors."""
        import openai

        try:
            # past the SDK's models of requests and chunks, which take as long as all the rest of a turn
            stream: Stream = await self.client.post(
                "/chat/completions",
                body=body(self.model, self.request, without),
                cast_to=object,
                stream=True,
                stream_cls=openai.AsyncStream[object],
            )
        except openai.APIStatusError as error:
            raise self._rejection(error, error.status_code) from error
        if stream.response.headers.get("content-type", "").lower().startswith("text/html"):
            await stream.close()
            raise NotAModel
        try:
            return ResponseStream(stream, await anext(stream, None))
        except openai.APIConnectionError:
            await stream.close()
            raise
        except openai.APIError as error:
            await stream.close()
            raise self._rejection(error, None) from error
        except BaseException:
            await stream.close()
            raise

    def _rejection(self, error: openai.APIError, status: int | None) -> Exception:
        """A ParameterRejected where doing without a part of the request may help, else the error itself."""
        self.keep_alive()
        hopeless = status in _NO_REFUSALS or (status or 0) > 501 or means_overflow(error)
        return error if hopeless else ParameterRejected(status, str(error), error.param, error)
