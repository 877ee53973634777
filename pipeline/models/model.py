"""The vocabulary of model calls: requests, answers, and the ways in which they fail."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from config.models import ModelWindow
from memory.errors import ContentFiltered, MnemeError
from memory.messages import Completion, Message, ProviderData, ToolCall
from pipeline.models.capabilities import Part

OnText = Callable[[str], Awaitable[None]]
"""Called with the whole text of the answer so far, each time more of it arrives.

The text may get shorter if its beginning turns out to be thinking, or if the answer starts again.
"""
OnWait = Callable[[str], Awaitable[None]]
"""Called with the reason for a wait, such as `loading the model` or `reading 1,200 tokens`."""


class Tier(StrEnum):
    """The purpose of a call: talking, or work in the background that must be quick and cheap."""

    BALANCED = "balanced"
    FAST = "fast"


class Finish(StrEnum):
    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    CUT_OFF = "cut off"
    """The stream broke off."""
    FILTERED = "filtered"
    """The provider's content filter ended it."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """The description of a tool for the model. `parameters` is the JSON text of a JSON schema."""

    name: str
    description: str
    parameters: str


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call of a model.

    Attributes:
        temperature: Only sent to models that take one.
        steady: The answer should vary little, so a server in a private network gets a low temperature.
        required_tool: The name of the tool that the answer must call.
        json: The answer must be one JSON object.
        low_effort: A reasoning model should not think for long.
        effort: How long a reasoning model should think, as the provider names it. None is its default.
        background: No person waits for the answer, so it gives way to requests of people.
        whole: Half an answer is useless, so ask another model if one breaks off.
        seconds: Time limit for the answer, shared by all models that are asked. None means no limit.
        silence: Maximum time without data from the server, in seconds. None means the model's own limit.
        loading_seconds: How long to wait for a server that is starting or loading its model. None means `silence`.
        waits_for_start: Whether to wait at all if nothing listens at the address.
        purpose: The name of the call in the usage log.
        on_wait: Excluded from comparisons.
    """

    messages: list[Message]
    tools: tuple[ToolSpec, ...] = ()
    tier: Tier = Tier.BALANCED
    max_output_tokens: int | None = None
    temperature: float | None = None
    steady: bool = False
    required_tool: str | None = None
    json: bool = False
    low_effort: bool = False
    effort: str | None = None
    background: bool = False
    whole: bool = False
    seconds: float | None = None
    silence: float | None = None
    loading_seconds: float | None = None
    waits_for_start: bool = True
    purpose: str = "turn"
    session_id: str | None = None
    on_wait: OnWait | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them.

    Attributes:
        cached_tokens: Part of prompt_tokens.
        cost_usd: The price of the call if the provider says it, in US dollars.
    """

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """An answer of a model.

    Attributes:
        text: Without thinking and without tool calls that were written into it.
        usage: None if the provider reports none.
        unseen: The answer was given without the images of the request.
        without_tools: The answer was given without the tools of the request, since the server takes none.
        thought: The model has reasoned.
        refusal: The text is the model's or the provider's refusal to answer.
        provider_data: Goes back to the same model with this answer.
    """

    text: str
    model: str
    finish: Finish
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    unseen: bool = False
    without_tools: bool = False
    thought: bool = False
    refusal: bool = False
    provider_data: ProviderData | None = None

    @property
    def is_whole(self) -> bool:
        return self.finish not in (Finish.LENGTH, Finish.CUT_OFF, Finish.FILTERED)

    @property
    def completion(self) -> Completion:
        return Completion(self.text, self.is_whole)


class ChatModel(Protocol):
    @property
    def name(self) -> str:
        """The model's name, for people and for the usage log."""

    @property
    def window(self) -> ModelWindow:
        """The context window, as far as it is known."""

    async def learn_facts(self) -> None:
        """Ask the endpoint for unknown facts such as the context window. Called before a turn. No ModelError."""

    async def load(self) -> None:
        """Load a local model, so that the first answer doesn't wait for it. Never raises ModelError."""

    async def can(self, part: Part) -> bool:
        """Return False if the model is known to refuse this part of a request. Never raises."""

    def refused_tools(self) -> frozenset[str]:
        """Return the names of the tools with schemas that the server refuses. They are not offered to the model."""

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelAnswer:
        """Answer `request`. Raises ModelError."""


class WrappedModel:
    """A base class for wrappers of a ChatModel. All methods except `complete` are delegated."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def window(self) -> ModelWindow:
        return self._model.window

    async def learn_facts(self) -> None:
        await self._model.learn_facts()

    async def load(self) -> None:
        await self._model.load()

    async def can(self, part: Part) -> bool:
        return await self._model.can(part)

    def refused_tools(self) -> frozenset[str]:
        return self._model.refused_tools()


class ModelError(MnemeError):
    """Raised if a model gave no usable answer. `elsewhere` is True if another model may give one."""

    elsewhere = True


class EmptyAnswer(ModelError):
    elsewhere = False


class ContextOverflow(ModelError):
    """Raised if the request is larger than the model's window."""

    elsewhere = False


class RequestRejected(ModelError):
    """Raised if the provider refuses the request even without its optional parts.

    The text quotes the provider, so the log gets only the type.
    """

    is_private = True


class ContentRefused(ModelError, ContentFiltered):
    """Raised if the provider's content filter refuses the request."""

    elsewhere = False
    is_private = True


class MessageRefused(ModelError):
    """Raised if the provider's content filter refuses the new message itself."""

    elsewhere = False
    is_private = True


class LimitReached(MnemeError):
    """Raised if a limit of the turn or of the day ends the turn."""


class DailyLimitReached(LimitReached):
    """Raised if the day's tokens are used up."""
