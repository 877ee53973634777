"""Tools: async functions with a JSON schema derived from their signature, and the toolbox that runs them."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from types import CodeType
from typing import Annotated, Any, Protocol, get_type_hints

import structlog
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, create_model, model_validator

from config.models import ModelWindow
from config.texts import SOURCE, get_language, use_language
from memory.buttons import Keyboard, Notice
from memory.errors import MnemeError
from memory.messages import Message, Passage, Provenance, ToolCall, find_least_trusted
from memory.store.effects import Effects
from memory.store.entry import Entry
from memory.text.validity import replace_invalid, replace_invalid_in_json
from pipeline.models.model import ChatModel, ToolSpec
from pipeline.prompt.budget import Budget
from pipeline.tools.turn_files import TurnFiles

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class TurnLimits:
    model_calls: int
    tool_calls: int
    seconds: float


@dataclass(slots=True)
class TurnUsage:
    budget: Budget
    limit: asyncio.Timeout
    model_calls: int = 0
    tool_calls: int = 0
    last_call: tuple[str, str] | None = None
    repeats: int = 0  # How often the last call was made in a row.

    @contextlib.contextmanager
    def untimed(self) -> Iterator[None]:
        """Stop the time limit of the turn while the block runs, so that a person can take their time to answer."""
        loop, end = asyncio.get_running_loop(), self.limit.when()
        started = loop.time()
        self.limit.reschedule(None)
        try:
            yield
        finally:
            if end is not None:
                self.limit.reschedule(end + loop.time() - started)


TOOL_TIMEOUT_SECONDS = 30.0

_PRIVATE = (
    "this is a private talk, in which nothing is kept and no reminder is set: say so, and that the user has to end it "
    "with /new first"
)


def _parse_texts(values: object) -> object:
    if isinstance(values, str) and values.lstrip().startswith("["):
        with contextlib.suppress(ValueError, RecursionError):  # Not JSON, so it is a text that begins with a bracket.
            values = replace_invalid_in_json(json.loads(values))
    each = values if isinstance(values, list) else [values]
    plain = (str(item).strip() if isinstance(item, str | int | float) else item for item in each)
    return [item for item in plain if item not in ("", None)]


Texts = Annotated[list[str], BeforeValidator(_parse_texts)]
"""A list of texts. It also accepts a single text and a JSON list inside a text, as weaker models write it."""


@dataclass(frozen=True, slots=True)
class Asking:
    """Lets a tool ask a person before it acts.

    Attributes:
        chat: The chat that the stored answers belong to.
        asker: The only person who may answer in a group.
        show: Send a question to the chat. Returns False if people can't answer there.
        untimed: Stop the time limit of the turn while the context is open.
    """

    chat: str
    asker: str | None
    show: Callable[[str, Keyboard], Awaitable[bool]]
    untimed: Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The first argument of every tool, which the model never sees.

    Attributes:
        messages: The visible conversation and the results of the turn's tools. A write must quote these.
        recalled_text: The memories that the request already contains.
        written: Entries that the turn's tools wrote. The commit records the message that they came from.
        recalled: Entries that this turn has already reinforced, since each counts once per turn.
        notices: Shown below the answer.
        inbox_ids: The updates that the turn answers.
        private: Nothing may be stored.
        is_task: A scheduled task runs, so the user has not just asked for anything.
        model: The model that called the tool.
        asking: None if nothing can be asked during the call.
        files: The files that the turn's tools have made. None if there can be none.
        language: The language of texts for people. Results for the model are in English.
    """

    owner: str
    session_id: str
    messages: tuple[Message, ...] = ()
    recalled_text: str = ""
    written: list[int] = field(default_factory=list)
    recalled: set[int] = field(default_factory=set)
    notices: list[Notice] = field(default_factory=list)
    inbox_ids: tuple[int, ...] = ()
    private: bool = False
    is_task: bool = False
    model: ChatModel | None = None
    asking: Asking | None = None
    files: TurnFiles | None = None
    language: str = field(default_factory=get_language)

    def note_written(self, entry: Entry) -> None:
        """Have the commit record the source message of an entry that has none yet."""
        if entry.source_message_id is None:
            self.written.append(entry.id)

    @property
    def provenance(self) -> Provenance:
        return find_least_trusted(message.provenance for message in self.messages)


class ToolFailed(MnemeError):
    """Raised if a call fails. The text tells the model why."""


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, arguments: object) -> object:
        """Drop null arguments, since models often write null for an omitted argument."""
        if not isinstance(arguments, dict):
            return arguments
        return {name: value for name, value in arguments.items() if value is not None}


class Tool:
    """A tool made from an async function `(context, **arguments)`. Its docstring is the description for the model.

    The function returns a str in its own words, or a Passage if it returns text that it read.

    Args:
        writes: The tool stores something, so a private talk forbids it.
        reads_if: Return True for the arguments of a call that writes nothing.
        offered_to: Return True if an owner's requests should offer the tool.
    """

    def __init__(
        self,
        function: Callable[..., Awaitable[str | Passage]],
        *,
        writes: bool = False,
        reads_if: Callable[[Mapping[str, object]], bool] | None = None,
        offered_to: Callable[[str], Awaitable[bool]] | None = None,
    ) -> None:
        self._function = function
        self._writes = writes
        self._reads_if = reads_if
        self.offered_to = offered_to

    @property
    def name(self) -> str:
        return self._function.__name__

    @property
    def spec(self) -> ToolSpec:
        return _get_signature(self._function).spec

    async def run(self, context: ToolContext, arguments: str) -> str | Passage:
        """Run the tool with the model's JSON arguments. Errors are returned as text for the model."""
        try:
            return await self.call(context, arguments)
        except MnemeError as error:
            return f"error: {error}"

    async def call(self, context: ToolContext, arguments: str) -> str | Passage:
        """Run the tool with JSON arguments. Every error is raised as a MnemeError."""
        try:
            parsed = _get_signature(self._function).arguments.model_validate_json(arguments or "{}")
        except ValidationError as error:
            raise ToolFailed(f"the arguments are wrong: {self._explain(error)}") from error
        values = {name: getattr(parsed, name) for name in type(parsed).model_fields}
        reads = self._reads_if is not None and self._reads_if(values)
        if context.private and self._writes and not reads:
            raise ToolFailed(_PRIVATE)
        try:
            async with asyncio.timeout(TOOL_TIMEOUT_SECONDS):
                return await self._function(context, **values)
        except MnemeError:
            raise
        except TimeoutError as error:
            raise ToolFailed(f"{self.name} took longer than {TOOL_TIMEOUT_SECONDS:g} seconds and was ended") from error
        except Exception as error:
            log.exception("tool_failed", tool=self.name)
            raise ToolFailed(f"{self.name} failed ({type(error).__name__})") from error

    def _explain(self, error: ValidationError) -> str:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            return f"{self.name} takes no {where}, only {', '.join(json.loads(self.spec.parameters)['properties'])}"
        return f"{f'{where}: ' if where else ''}{first['msg']}"


class RunnableTool(Protocol):
    async def run(self, context: ToolContext, arguments: str) -> str | Passage:
        """Run the tool with the model's JSON arguments. Errors are returned as text for the model."""
        ...


class ToolSource(Protocol):
    """Further tools, which may change while the program runs."""

    def get(self, name: str) -> RunnableTool | None: ...

    def select_specs(self, window: ModelWindow) -> tuple[ToolSpec, ...]:
        """Return the tools that fit a model's window."""

    async def wait_until_ready(self) -> None:
        """Wait for tools that are still starting, for some seconds at most."""


class Toolbox:
    """The tools that a model may call: Mneme's own and those of other sources, such as MCP servers."""

    def __init__(self, tools: Iterable[Tool], effects: Effects, sources: Sequence[ToolSource] = ()) -> None:
        self._effects = effects
        self._tools = {tool.name: tool for tool in tools}
        self._sources = sources

    @property
    def tools(self) -> tuple[Tool, ...]:
        return tuple(self._tools.values())

    async def specs(self, owner: str, window: ModelWindow) -> tuple[ToolSpec, ...]:
        """Return the tools to offer to an owner, always in the same order."""
        # Several tools may share a condition, which reads the database.
        conditions = {tool.offered_to for tool in self.tools if tool.offered_to is not None}
        unmet = {condition for condition in conditions if not await condition(owner)}
        own = [tool.spec for tool in self.tools if tool.offered_to not in unmet]
        return (*own, *(spec for source in self._sources for spec in source.select_specs(window)))

    async def wait_until_ready(self) -> None:
        for source in self._sources:
            await source.wait_until_ready()

    async def run(self, context: ToolContext, call: ToolCall, earlier: Sequence[ToolCall] = ()) -> Passage:
        """Run one call. An unknown tool gives an error text for the model.

        Args:
            earlier: The previous calls of this turn.
        """
        tool: RunnableTool | None = self._tools.get(call.name)
        for source in self._sources:
            tool = tool or source.get(call.name)
        if tool is None:
            return Passage(f"error: there is no tool {call.name}; there are: {', '.join(self._tools)}")
        causes = _make_causes(context.inbox_ids, call, earlier)
        # A turn that is repeated after a kill must not make the same change twice.
        if await self._effects.has_effect(causes):
            return Passage(
                f"not run: {call.name} was run for this message before, and then I was interrupted. What it changed "
                "stands; look at it, and call again only if something is missing."
            )
        with self._effects.caused_by(causes), use_language(SOURCE):
            result = await tool.run(context, call.arguments)
        passage = result if isinstance(result, Passage) else Passage(result)
        # A lone surrogate would make this request and all later ones of the chat fail.
        return replace(passage, text=replace_invalid(passage.text))


def _make_causes(inbox_ids: Sequence[int], call: ToolCall, earlier: Sequence[ToolCall]) -> list[str]:
    """Return the keys that identify a call if its turn is repeated for the same messages or for some of them."""
    if not inbox_ids:
        return []
    number = 1 + sum(before.name == call.name for before in earlier)
    same = 1 + sum((before.name, before.arguments) == (call.name, call.arguments) for before in earlier)
    words = hashlib.sha256(replace_invalid(call.arguments).encode()).hexdigest()[:16]
    # A turn that begins with the same message recognises the call by its number, even if the model words it
    # differently. Any other turn recognises it by its arguments.
    return [f"{inbox_ids[0]}/{call.name}/{number}", *(f"{i}/{call.name}/{words}/{same}" for i in inbox_ids)]


@dataclass(frozen=True, slots=True)
class _Signature:
    spec: ToolSpec
    arguments: type[BaseModel]


_signatures: dict[CodeType, _Signature] = {}


def _get_signature(function: Callable[..., Awaitable[str | Passage]]) -> _Signature:
    """Return the schema of a tool, cached. It takes milliseconds, so it is created at the first use."""
    code = function.__code__
    # Closures share their code, so the defaults of their parameters must be the same each time.
    if code not in _signatures:
        arguments = _create_arguments_model(function)
        parameters = json.dumps(simplify_schema(arguments.model_json_schema()), ensure_ascii=False)
        spec = ToolSpec(function.__name__, inspect.getdoc(function) or "", parameters)
        _signatures[code] = _Signature(spec, arguments)
    return _signatures[code]


def _create_arguments_model(function: Callable[..., Awaitable[str | Passage]]) -> type[BaseModel]:
    hints = get_type_hints(function, include_extras=True)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    fields: dict[str, Any] = {
        p.name: (hints[p.name], ... if p.default is inspect.Parameter.empty else p.default) for p in parameters
    }
    return create_model(function.__name__, __base__=_Arguments, **fields)


def simplify_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Remove keys of a schema that cost tokens in every request and tell the model nothing."""
    lean: dict[str, Any] = {}
    for key, value in schema.items():
        # A dict under such a key is a property with that name.
        if key in ("title", "default", "additionalProperties") and not isinstance(value, dict):
            continue
        lean[key] = simplify_schema(value) if isinstance(value, dict) else value
    return lean
