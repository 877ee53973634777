"""Tools: functions whose signature is their JSON schema, run with a time limit and a bounded result."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import inspect
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import structlog
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, create_model, model_validator

from config.texts import SOURCE, spoken, use_language
from memory.errors import MnemeError
from memory.messages import Passage, worst
from memory.text.validity import valid_json, valid_text
from pipeline.models.model import ToolSpec

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import CodeType

    from memory.buttons import Keyboard, Notice
    from memory.messages import Message, Provenance, ToolCall
    from memory.store.effects import Effects
    from memory.store.entry import Entry
    from pipeline.models.model import ChatModel
    from pipeline.tools.mcp.tools import McpTool, McpTools

log = structlog.get_logger(__name__)

TOOL_TIMEOUT = 30.0
"""Seconds that one tool call may take."""

_PRIVATE = (
    "this is a private talk, in which nothing is kept and no reminder is set: say so, and that the user has to end it "
    "with /new first"
)


def _texts(values: object) -> object:
    if isinstance(values, str) and values.lstrip().startswith("["):
        with contextlib.suppress(ValueError, RecursionError):  # then it is a text that begins so
            values = valid_json(json.loads(values))
    each = values if isinstance(values, list) else [values]
    plain = (str(item).strip() if isinstance(item, str | int | float) else item for item in each)
    return [item for item in plain if item not in ("", None)]


Texts = Annotated[list[str], BeforeValidator(_texts)]
"""A list of texts, also as models write it that are no good at lists: one text alone, or a list inside a text."""


@dataclass(frozen=True, slots=True)
class Asking:
    """How a tool asks a person before it does something."""

    chat: str  # whose settled answers hold
    asker: str | None  # who may answer, where several people talk
    show: Callable[
        [str, Keyboard], Awaitable[bool]
    ]  # puts a question into the chat; whether anybody can answer it there
    untimed: Callable[[], AbstractContextManager[None]]  # what is waited in it is no time of the turn's


@dataclass(frozen=True, slots=True)
class ToolContext:
    """On whose behalf a tool runs. Every tool's first parameter; the model never sees it."""

    owner: str
    session_id: str
    messages: tuple[Message, ...] = ()  # the conversation in view and what the turn's tools said: what a write may cite
    recalled_text: str = ""  # what the request holds of memory
    # by the turn's tools, so that the commit can say where they came from
    written: list[int] = field(default_factory=list)
    recalled: set[int] = field(default_factory=set)  # by this turn already, since each counts once a turn
    notices: list[Notice] = field(default_factory=list)  # the questions under the answer
    inbox_ids: tuple[int, ...] = ()  # of the updates that the turn answers
    private: bool = False  # nothing is stored
    is_task: bool = False  # a task by the clock runs, and nobody has just asked for anything
    model: ChatModel | None = None  # the one that calls
    asking: Asking | None = None  # how the person is asked meanwhile; None: nobody is there
    language: str = field(default_factory=spoken)  # of what a person reads; what a tool answers is English

    def note_written(self, entry: Entry) -> None:
        """Have the commit say where an entry came from that names no message yet."""
        if entry.source_message_id is None:
            self.written.append(entry.id)

    @property
    def provenance(self) -> Provenance:
        """The worst of all that is in the model's view."""
        return worst(message.provenance for message in self.messages)


class ToolFailed(MnemeError):
    """A call came to nothing; the text tells a model why."""


class _Arguments(BaseModel):
    """What a model may write as arguments of any tool."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, arguments: object) -> object:
        """What a model leaves out it often writes as null."""
        if not isinstance(arguments, dict):
            return arguments
        return {name: value for name, value in arguments.items() if value is not None}


class Tool:
    """One tool, made from an async function `(context, **arguments)` with a docstring.

    It gives a str of its own words, or a Passage of what it read. writes: whether a call of it keeps anything, which a
    private talk forbids; reads_if: tells by the arguments that a call writes nothing after all.
    """

    def __init__(
        self,
        function: Callable[..., Awaitable[str | Passage]],
        *,
        writes: bool = False,
        reads_if: Callable[[Mapping[str, object]], bool] | None = None,
    ) -> None:
        self._function = function
        self._writes = writes
        self._reads_if = reads_if

    @property
    def name(self) -> str:
        return self._function.__name__

    @property
    def spec(self) -> ToolSpec:
        return _signature(self._function).spec

    async def run(self, context: ToolContext, arguments: str) -> str | Passage:
        """Run with the arguments that the model wrote. Whatever goes wrong comes back as text for the model."""
        try:
            return await self.call(context, arguments)
        except MnemeError as error:
            return f"error: {error}"

    async def call(self, context: ToolContext, arguments: str) -> str | Passage:
        """Run with arguments in JSON. Whatever goes wrong is raised as a MnemeError."""
        try:
            parsed = _signature(self._function).arguments.model_validate_json(arguments or "{}")
        except ValidationError as error:
            raise ToolFailed(f"the arguments are wrong: {self._wrong(error)}") from error
        values = {name: getattr(parsed, name) for name in type(parsed).model_fields}
        reads = self._reads_if is not None and self._reads_if(values)
        if context.private and self._writes and not reads:
            raise ToolFailed(_PRIVATE)
        try:
            async with asyncio.timeout(TOOL_TIMEOUT):
                return await self._function(context, **values)
        except MnemeError:
            raise
        except TimeoutError as error:
            raise ToolFailed(f"{self.name} took longer than {TOOL_TIMEOUT:g} seconds and was ended") from error
        except Exception as error:
            log.exception("tool_failed", tool=self.name)
            raise ToolFailed(f"{self.name} failed ({type(error).__name__})") from error

    def _wrong(self, error: ValidationError) -> str:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            return f"{self.name} takes no {where}, only {', '.join(json.loads(self.spec.parameters)['properties'])}"
        return f"{f'{where}: ' if where else ''}{first['msg']}"


class Toolbox:
    """The tools that a model may call: our own, and those of `others`, which come and go."""

    def __init__(self, tools: Iterable[Tool], effects: Effects, others: McpTools | None = None) -> None:
        self._effects = effects
        self._tools = {tool.name: tool for tool in tools}
        self._others = others

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """Our own tools as the model is told of them, always in the same order."""
        return tuple(tool.spec for tool in self._tools.values())

    async def run(self, context: ToolContext, call: ToolCall, earlier: Sequence[ToolCall] = ()) -> Passage:
        """Run one call; an unknown tool is an answer too. earlier: the turn's calls before it."""
        tool: Tool | McpTool | None = self._tools.get(call.name)
        if tool is None and self._others is not None:
            tool = self._others.get(call.name)
        if tool is None:
            return Passage(f"error: there is no tool {call.name}; there are: {', '.join(self._tools)}")
        causes = _causes(context.inbox_ids, call, earlier)
        # what was changed before a kill must not be changed again by the turn that takes its place
        if await self._effects.had_by(causes):
            return Passage(
                f"not run: {call.name} was run for this message before, and then I was interrupted. What it changed "
                "stands; look at it, and call again only if something is missing."
            )
        with self._effects.caused_by(causes), use_language(SOURCE):
            result = await tool.run(context, call.arguments)
        passage = result if isinstance(result, Passage) else Passage(result)
        # half an emoji in it would fail this request, and all later ones of the chat
        return replace(passage, text=valid_text(passage.text))


def _causes(inbox_ids: Sequence[int], call: ToolCall, earlier: Sequence[ToolCall]) -> list[str]:
    """What a call is known by when its turn is run anew, of the same messages or of some of them."""
    if not inbox_ids:
        return []
    number = 1 + sum(before.name == call.name for before in earlier)
    same = 1 + sum((before.name, before.arguments) == (call.name, call.arguments) for before in earlier)
    words = hashlib.sha256(valid_text(call.arguments).encode()).hexdigest()[:16]
    # a turn that begins with the same message knows it by its number, however the model words it now; one of other
    # messages by its very words
    return [f"{inbox_ids[0]}/{call.name}/{number}", *(f"{i}/{call.name}/{words}/{same}" for i in inbox_ids)]


@dataclass(frozen=True, slots=True)
class _Signature:
    spec: ToolSpec
    arguments: type[BaseModel]


_signatures: dict[CodeType, _Signature] = {}


def _signature(function: Callable[..., Awaitable[str | Passage]]) -> _Signature:
    """The parameters of a tool, made at the first use: it takes milliseconds, and a short run may need none."""
    code = function.__code__
    # by the code: closures share it, whatever they close over, so their default values must be the same
    if code not in _signatures:
        arguments = _arguments_model(function)
        parameters = json.dumps(lean_schema(arguments.model_json_schema()), ensure_ascii=False)
        spec = ToolSpec(function.__name__, inspect.getdoc(function) or "", parameters)
        _signatures[code] = _Signature(spec, arguments)
    return _signatures[code]


def _arguments_model(function: Callable[..., Awaitable[str | Passage]]) -> type[BaseModel]:
    hints = get_type_hints(function, include_extras=True)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    fields: dict[str, Any] = {
        p.name: (hints[p.name], ... if p.default is inspect.Parameter.empty else p.default) for p in parameters
    }
    return create_model(function.__name__, __base__=_Arguments, **fields)


def lean_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """`schema` without what costs tokens with every request and tells the model nothing."""
    lean: dict[str, Any] = {}
    for key, value in schema.items():
        # a dict under such a name is a property that is called so
        if key in ("title", "default", "additionalProperties") and not isinstance(value, dict):
            continue
        lean[key] = lean_schema(value) if isinstance(value, dict) else value
    return lean
