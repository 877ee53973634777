"""What the pipeline knows of a model: a request, an answer, and the ways in which it fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from memory.errors import MnemeError
from memory.messages import Completion

if TYPE_CHECKING:
    from config.models import ModelWindow
    from memory.messages import Message, ToolCall
    from pipeline.models.request_body import Part

OnText = Callable[[str], Awaitable[None]]
"""Is given each piece of an answer's text as it arrives."""
OnWait = Callable[[str], Awaitable[None]]
"""Is told what the answer waits for, in words that go on "...": `loading the model`, `reading 1,200 tokens`."""


class Tier(StrEnum):
    """What a call is for: talking, or work in the background that must be quick and cheap."""

    BALANCED = "balanced"
    FAST = "fast"


class Finish(StrEnum):
    """Why an answer ended. CUT_OFF: the stream broke off, with or without saying so."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    CUT_OFF = "cut off"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model is told of it. `parameters` is the JSON text of a JSON schema."""

    name: str
    description: str
    parameters: str


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call of a model."""

    messages: list[Message]
    tools: tuple[ToolSpec, ...] = ()
    tier: Tier = Tier.BALANCED
    max_output_tokens: int | None = None
    temperature: float | None = None
    json: bool = False  # the answer is to be one JSON object
    low_effort: bool = False  # where the model reasons, it need not for long
    background: bool = False  # nobody waits for it, so it gives way to those that somebody waits for
    whole: bool = False  # half an answer is of no use, so another model is asked where one breaks off
    # for the whole answer and without a word, None: no limit and the model's own; shared among the models that are
    # asked
    seconds: float | None = None
    silence: float | None = None
    purpose: str = "turn"  # its name in the usage log
    session_id: str | None = None
    on_wait: OnWait | None = field(
        default=None, compare=False, repr=False
    )  # only for show, and no part of what is asked


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them; cached_tokens are part of prompt_tokens."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What came back. usage is None when the provider reports none. unseen: it was given without the pictures."""

    text: str
    model: str
    finish: Finish
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    unseen: bool = False

    @property
    def is_whole(self) -> bool:
        return self.finish not in (Finish.LENGTH, Finish.CUT_OFF)

    @property
    def completion(self) -> Completion:
        return Completion(self.text, self.is_whole)


class ChatModel(Protocol):
    @property
    def name(self) -> str:
        """The model's name, for people and for the usage log."""

    @property
    def window(self) -> ModelWindow:
        """How much it reads and writes, as far as is known."""

    async def get_to_know(self) -> None:
        """Before a turn: find out what is not known of it and can be asked. Never raises ModelError."""

    async def load(self) -> None:
        """Do now what its first answer would wait for: a model on this machine is loaded. Never raises ModelError."""

    async def can(self, part: Part) -> bool:
        """Whether it takes a part of a request, as far as is known; SECOND_LOOK: judging what follows. Never raises."""

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelAnswer:
        """Answer `request`. Raises ModelError."""


class WrappedModel:
    """What a ChatModel over another one says of itself: what the other says."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def window(self) -> ModelWindow:
        return self._model.window

    async def get_to_know(self) -> None:
        await self._model.get_to_know()

    async def load(self) -> None:
        await self._model.load()

    async def can(self, part: Part) -> bool:
        return await self._model.can(part)


class ModelError(MnemeError):
    """The model gave no usable answer. `elsewhere` says whether another model may do better."""

    elsewhere = True


class EmptyAnswer(ModelError):
    elsewhere = False


class ContextOverflow(ModelError):
    """The provider says that the request is larger than the model's window."""

    elsewhere = False


class LimitReached(MnemeError):
    """A limit of the turn or of the day ends the turn."""


class DailyLimitReached(LimitReached):
    """The day's tokens are used up: nothing is wrong with what was asked."""
