"""Sends a request to an OpenAI-compatible endpoint without what the server refuses, and puts the answer together.

Servers refuse parts of a request that others require. What a refusal names is left out from then on. A refusal that
names nothing is answered by the plainest request, this once: what was wrong may have been only this conversation.
"""

from __future__ import annotations

import codecs
import json
import re
import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import structlog

from memory.messages import ToolCall, storable
from pipeline.models.client import NotAModel, means_overflow
from pipeline.models.model import Finish, ModelAnswer, Usage
from pipeline.models.request_body import Part, body, of_messages, parts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    import openai
    from openai import AsyncStream

    from pipeline.models.model import ModelRequest, ToolSpec

    Stream = AsyncStream[object]

log = structlog.get_logger(__name__)

_TOO_LONG = frozenset(("length", "max_tokens", "max_output_tokens", "model_length"))
# how servers say that an answer did not come to its end; an answer that ended for any other reason is whole
_BROKEN_OFF = frozenset(("error", "content_filter"))

# A tool call that a small model writes out as its answer instead of making it
_FENCED = re.compile(r"\s*(?:Tool call:\s*)?(?:```(?:json)?\s*)?(?P<object>\{.*\})\s*(?:```)?\s*", re.DOTALL)


def at(value: object, *names: str) -> object:
    """What stands under these names, one inside of the other; None where it does not."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def items(value: object, name: str) -> list[object]:
    """The list under a name; an empty one where there is none."""
    result = at(value, name)
    return result if isinstance(result, list) else []


@dataclass(slots=True)
class _OpenCall:
    index: int | None
    id: str
    name: str = ""
    arguments: str = ""


class AnswerStream:
    """An answer put together from its chunks.

    Nobody has checked what arrives, and servers leave out what they have nothing to say in: every field may be
    missing, null or something else.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._text: list[str] = []
        self._calls: list[_OpenCall] = []
        self._finish: str | None = None
        self._usage: Usage | None = None
        # an emoji may come as two halves in two chunks; half a one can be neither stored nor shown
        self._halves = codecs.getincrementaldecoder("utf-16-le")("replace")

    @property
    def begun(self) -> bool:
        """Whether something came that is worth keeping."""
        return bool(self._finish or "".join(self._text).strip())

    def take(self, chunk: object) -> str:
        """Add a chunk, as its JSON was; the piece of text in it."""
        self._take_usage(at(chunk, "usage"))
        piece = ""
        for choice in items(chunk, "choices")[:1]:
            finish = at(choice, "finish_reason")
            self._finish = str(finish) if finish else self._finish
            delta = at(choice, "delta")
            content = at(delta, "content")
            if isinstance(content, str):
                piece = self._halves.decode(content.encode("utf-16-le", "surrogatepass")).replace("\0", "")
            for call in items(delta, "tool_calls"):
                self._take_call(call)
        self._text.append(piece)
        return piece

    def _take_usage(self, usage: object) -> None:
        # a server that reports zeros reports nothing: then the tokens are counted here
        if prompt := _count(usage, "prompt_tokens"):
            cached = _count(at(usage, "prompt_tokens_details"), "cached_tokens")
            self._usage = Usage(prompt, _count(usage, "completion_tokens"), cached)

    def _take_call(self, piece: object) -> None:
        index, call_id = at(piece, "index"), at(piece, "id")
        index, call_id = index if isinstance(index, int) else None, str(call_id or "")
        function = at(piece, "function")
        name, arguments = str(at(function, "name") or ""), at(function, "arguments") or ""
        call = next((c for c in reversed(self._calls) if index is None or c.index == index), None)
        # some servers give every call the same index, or none: then a name that comes again begins the next call
        again = name and call is not None and call.name and (index is None or (call_id and call_id != call.id))
        if call is None or again:
            call = _OpenCall(index, call_id)
            self._calls.append(call)
        call.id = call.id or call_id
        call.name = call.name or name
        call.arguments += arguments if isinstance(arguments, str) else json.dumps(arguments)

    def finished(self) -> ModelAnswer:
        calls = tuple(
            ToolCall(call.id or f"call_{secrets.token_hex(6)}", call.name, storable(call.arguments))
            for call in self._calls
            if call.name
        )
        finish = Finish.CUT_OFF
        reason = (self._finish or "").lower()
        if reason in _TOO_LONG:
            finish = Finish.LENGTH
        elif reason and reason not in _BROKEN_OFF:
            finish = Finish.TOOL_CALLS if calls else Finish.STOP
        # a tool call that was cut off must not run with half its arguments
        tool_calls = calls if finish is Finish.TOOL_CALLS else ()
        return ModelAnswer("".join(self._text), self._model, finish, tool_calls, self._usage)


def _count(value: object, name: str) -> int:
    result = at(value, name)
    return int(result) if isinstance(result, int | float) else 0


def with_written_calls(answer: ModelAnswer, tools: tuple[ToolSpec, ...]) -> ModelAnswer:
    """`answer` with its text taken for the tool call that it is, if all of it is one of a tool that there is."""
    if answer.tool_calls or answer.finish is not Finish.STOP or not tools:
        return answer
    match = _FENCED.fullmatch(answer.text)
    if match is None:
        return answer
    try:
        written = json.loads(match["object"])
    except (ValueError, RecursionError):
        return answer
    if not isinstance(written, dict) or written.keys() != {"name", "arguments"}:
        return answer
    name, arguments = written["name"], written["arguments"]
    if name not in {tool.name for tool in tools} or not isinstance(arguments, dict):
        return answer
    call = ToolCall(f"call_{secrets.token_hex(6)}", name, json.dumps(arguments, ensure_ascii=False))
    return replace(answer, text="", finish=Finish.TOOL_CALLS, tool_calls=(call,))


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
    """An answer's stream whose first chunk is here already: some servers refuse a request no earlier than in it."""

    def __init__(self, stream: Stream, first: object) -> None:
        self.without: frozenset[Part] = frozenset()  # what its request had to do without
        self.refused: frozenset[Part] = frozenset()  # of that, what the server refuses for good
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
                    # the plainest request there is, this once: nothing says what was refused
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
