"""Any OpenAI-compatible endpoint, over the openai SDK: streaming, tool calls, usage, retries."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog

from memory.messages import Message, Role
from pipeline.endpoint.answer_stream import AnswerStream
from pipeline.endpoint.written_calls import with_written_calls
from pipeline.models.model import ContextOverflow, ModelAnswer, ModelError, ModelRequest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import openai
    from openai import AsyncStream
    from openai.types.chat import ChatCompletionChunk

    from config.models import ModelWindow
    from pipeline.models.model import OnText, ToolSpec

    Stream = AsyncStream[ChatCompletionChunk]

log = structlog.get_logger(__name__)

RETRIES = 2
"""Retries of the SDK for 429, 5xx and lost connections, with backoff and respect for Retry-After."""

_OPTIONAL = ("temperature", "max_tokens", "max_completion_tokens", "stream_options")
"""What a request can do without when a model refuses it."""
_OVERFLOW_WORDS = (
    "context_length",
    "context length",
    "context size",
    "context window",
    "maximum context",
    "maximum prompt length",
    "maximum number of tokens",
    "prompt is too long",
    "too many tokens",
    "n_ctx",
)
"""How providers say that a request is too long; there is no code that all of them use."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where an OpenAI-compatible API is. base_url None: OpenAI's own."""

    base_url: str | None
    api_key: str


class OpenAIModel:
    """One model of one endpoint. `connect` is asked for the endpoint at each call, so it may start on demand."""

    def __init__(
        self,
        name: str,
        window: ModelWindow,
        connect: Callable[[], Awaitable[Endpoint]],
        *,
        timeout: float,
        temperature: float | None = None,
        max_output_tokens: int | None = None,
        tools: bool = True,
    ) -> None:
        self.name = name
        self.window = window
        self._connect = connect
        self._timeout = timeout
        self._temperature = temperature
        self._max_output_tokens = max_output_tokens
        self._tools = tools
        self._refused: set[str] = set()
        self._client: openai.AsyncOpenAI | None = None
        self._endpoint: Endpoint | None = None

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelAnswer:
        """Answer `request`, streaming its text to `on_text`. Cancelling closes the connection.

        What breaks a stream that has begun to speak makes it an answer that is cut off, not an error.
        """
        import openai

        client = await self._open()
        answer = AnswerStream(self.name)
        try:
            async with await self._stream(client, request) as stream:
                async for chunk in stream:
                    piece = answer.take(chunk)
                    if piece and on_text is not None:
                        await on_text(piece)
        except (openai.OpenAIError, ValueError) as error:  # ValueError: what came is not JSON, or not UTF-8
            if not answer.begun:
                raise self._explained(error) from error
            log.warning("stream_broke", model=self.name, error=str(error))
        return with_written_calls(answer.finished(), request.tools if self._tools else ())

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _open(self) -> openai.AsyncOpenAI:
        import openai

        endpoint = await self._connect()
        if self._client is None or endpoint != self._endpoint:
            await self.close()
            self._client = openai.AsyncOpenAI(
                api_key=endpoint.api_key,
                base_url=endpoint.base_url,
                max_retries=RETRIES,
                timeout=openai.Timeout(self._timeout, connect=min(5.0, self._timeout)),
            )
            self._endpoint = endpoint
        return self._client

    async def _stream(self, client: openai.AsyncOpenAI, request: ModelRequest) -> Stream:
        """The answer's stream. What the model says it does not support is left out from then on."""
        import openai

        while True:
            body = self._body(request)
            try:
                stream: Stream = await client.chat.completions.create(**body)
            except openai.APIStatusError as error:
                refused = _refused_parameter(error, body)
                if refused is None:
                    raise
                log.warning("parameter_refused", model=self.name, parameter=refused)
                self._refused.add(refused)
            else:
                return stream

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [_wire_message(message) for message in request.messages],
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.tools and self._tools:
            body["tools"] = [_wire_tool(tool) for tool in request.tools]
        if request.json:
            body["response_format"] = {"type": "json_object"}
        temperature = request.temperature if request.temperature is not None else self._temperature
        longest = request.max_output_tokens or self._max_output_tokens
        # reasoning models take the newer name only, most other servers the older one only
        longest_name = "max_completion_tokens" if "max_tokens" in self._refused else "max_tokens"
        body |= {"temperature": temperature, longest_name: longest}
        return {name: value for name, value in body.items() if value is not None and name not in self._refused}

    def _explained(self, error: Exception) -> ModelError:
        import openai

        where = self._endpoint.base_url if self._endpoint and self._endpoint.base_url else "OpenAI"
        log.warning("model_call_failed", model=self.name, error=str(error))
        if _means_overflow(error):
            return ContextOverflow(f"This conversation is larger than the model {self.name} can read: try /compact.")
        if isinstance(error, openai.APITimeoutError):
            return ModelError(f"The model {self.name} did not answer within {self._timeout:g} seconds: try /retry.")
        if isinstance(error, openai.APIConnectionError):
            return ModelError(
                f"The model at {where} can't be reached, or it hung up: check OPENAI_BASE_URL and the network."
            )
        if isinstance(error, openai.APIStatusError):
            return self._explained_status(error, where)
        if isinstance(error, openai.APIError):  # said in the middle of the stream
            return ModelError(f"The model {self.name} failed ({error.message[:200]}): try /retry.")
        return ModelError(f"The model {self.name} sent something that can't be read: try /retry.")

    def _explained_status(self, error: openai.APIStatusError, where: str) -> ModelError:
        if error.status_code in (401, 403):
            return ModelError(f"The model at {where} refuses the key: check OPENAI_API_KEY.")
        if error.status_code == 404:
            return ModelError(f"The model {self.name} is not known at {where}: check LLM_MODEL and OPENAI_BASE_URL.")
        if error.status_code == 402 or error.code == "insufficient_quota":
            return ModelError(f"The account at {where} has no credit left: top it up, or change OPENAI_API_KEY.")
        if error.status_code == 429:
            return ModelError(f"The model at {where} takes no more requests for now: wait a moment, then /retry.")
        return ModelError(f"The model at {where} answered with error {error.status_code}: try /retry later.")


def _means_overflow(error: Exception) -> bool:
    said = str(error).lower()
    # 429 speaks of tokens too: of those that the account may use in a minute
    return getattr(error, "status_code", None) != 429 and any(words in said for words in _OVERFLOW_WORDS)


def _refused_parameter(error: openai.APIStatusError, body: dict[str, Any]) -> str | None:
    """What a model says it does not support, if the request can do without; not every server fills in `param`."""
    if error.status_code not in (400, 404, 422) or _means_overflow(error):
        return None
    said = str(error).lower()
    if "tools" in body and "support tool" in said:
        return "tools"
    named = (name for name in _OPTIONAL if name == error.param or (error.param is None and name in said))
    return next((name for name in named if name in body and error.status_code != 404), None)


def _wire_message(message: Message) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": message.role.value, "content": message.content}
    if message.tool_calls:
        wire["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _object(call.arguments)}}
            for call in message.tool_calls
        ]
    if message.role is Role.TOOL:
        wire["tool_call_id"] = message.tool_call_id
    return wire


def _object(arguments: str) -> str:
    """`arguments` where they are a JSON object, else an empty one: strict servers refuse a history with others."""
    try:
        return arguments if isinstance(json.loads(arguments), dict) else "{}"
    except ValueError:
        return "{}"


def _wire_tool(tool: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": json.loads(tool.parameters),
        },
    }
