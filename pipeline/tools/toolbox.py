"""Tools: functions whose signature is their JSON schema, run with a time limit and a bounded result."""

from __future__ import annotations

import asyncio
import inspect
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_type_hints

import structlog
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from memory.errors import MnemeError
from pipeline.models.model import ToolSpec

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from memory.messages import ToolCall

log = structlog.get_logger(__name__)

TOOL_TIMEOUT = 30.0
"""Seconds that one tool call may take."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """On whose behalf a tool runs. Every tool's first parameter; the model never sees it.

    typed: the person typed something in this turn; without that no tool may write memory. trusted: the conversation
    that the model reads holds nothing else, such as a forwarded text that could speak through it. written: the
    entries that the turn's tools made, so that the commit can say where they came from. recalled: those that the turn
    has recalled already, since each counts once a turn.
    """

    owner: str
    session_id: str
    typed: bool = True
    trusted: bool = True
    written: list[int] = field(default_factory=list)
    recalled: set[int] = field(default_factory=set)


class Tool:
    """One tool, made from an async function `(context, **arguments) -> str` with a docstring.

    writes: it changes memory, which forwarded or attached text alone may not bring about.
    """

    def __init__(self, function: Callable[..., Awaitable[str]], *, writes: bool = False) -> None:
        self._function = function
        self._writes = writes
        self._arguments = _arguments_model(function)
        schema = self._arguments.model_json_schema()
        self.spec = ToolSpec(
            name=function.__name__,
            description=inspect.getdoc(function) or "",
            parameters=json.dumps(_lean(schema), ensure_ascii=False),
        )

    @property
    def name(self) -> str:
        """What the model calls it by."""
        return self.spec.name

    async def run(self, context: ToolContext, arguments: str) -> str:
        """Run with the arguments that the model wrote. Whatever goes wrong comes back as text for the model."""
        try:
            parsed = self._arguments.model_validate_json(arguments or "{}")
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            return f"error: the arguments are wrong: {f'{where}: ' if where else ''}{first['msg']}"
        if self._writes and not context.typed:
            return "error: memory is written only at the user's own words, and this turn holds none: ask the user"
        values = {name: getattr(parsed, name) for name in type(parsed).model_fields}
        try:
            async with asyncio.timeout(TOOL_TIMEOUT):
                return await self._function(context, **values)
        except MnemeError as error:
            return f"error: {error}"
        except TimeoutError:
            return f"error: {self.spec.name} took longer than {TOOL_TIMEOUT:g} seconds and was ended"
        except Exception as error:
            log.exception("tool_failed", tool=self.spec.name)
            return f"error: {self.spec.name} failed ({type(error).__name__})"


class Toolbox:
    """The tools that a model may call."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model is told of them, always in the same order."""
        return tuple(tool.spec for tool in self._tools.values())

    async def run(self, context: ToolContext, call: ToolCall) -> str:
        """Run one call; an unknown tool is an answer too."""
        tool = self._tools.get(call.name)
        if tool is None:
            return f"error: there is no tool {call.name}; there are: {', '.join(self._tools)}"
        return await tool.run(context, call.arguments)


def _arguments_model(function: Callable[..., Awaitable[str]]) -> type[BaseModel]:
    hints = get_type_hints(function, include_extras=True)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    fields: dict[str, Any] = {
        p.name: (hints[p.name], ... if p.default is inspect.Parameter.empty else p.default) for p in parameters
    }
    return create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)


def _lean(schema: dict[str, Any]) -> dict[str, Any]:
    """`schema` without what costs tokens with every request and tells the model nothing."""
    lean: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("title", "default", "additionalProperties") and not isinstance(value, dict):
            continue
        lean[key] = _lean(value) if isinstance(value, dict) else value
    return lean
