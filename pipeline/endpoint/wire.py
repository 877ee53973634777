"""A request as JSON for chat completions, with all its optional parts or without those that a server refuses."""

from __future__ import annotations

import functools
import json
import re
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from memory.messages import Message, Role

if TYPE_CHECKING:
    from collections.abc import Collection

    from pipeline.models.model import ModelRequest, ToolSpec

EARLIER = "(The conversation began earlier.)"
"""What a server that wants the user to speak first is told where the history begins with an answer."""


DEEPEST = 64
"""How deep a call's arguments may be nested in a request; no tool of ours takes more than two levels."""
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"')
_BRACKETS = re.compile(r"[\[\]{}]")


class Part(StrEnum):
    """What a request can do without. The names are kept in the database, where unknown ones mean nothing."""

    STREAM_OPTIONS = "stream_options"
    RESPONSE_FORMAT = "response_format"
    TEMPERATURE = "temperature"
    MAX_TOKENS = "max_tokens"
    MAX_COMPLETION_TOKENS = "max_completion_tokens"
    TOOLS = "tools"
    LATER_SYSTEM = "a later system message"
    SYSTEM = "a system message"
    SAME_ROLE = "adjacent messages of one role"


_OF_MESSAGES = (Part.LATER_SYSTEM, Part.SAME_ROLE, Part.SYSTEM)
"""What can be refused in the messages, in the order in which it is tried to do without: the gentlest first."""


def body(model: str, request: ModelRequest, without: Collection[str]) -> dict[str, Any]:
    """The request's JSON, without the parts in `without`. Nothing that it says is left out but the tools' talk."""
    # reasoning models take the newer name only, most other servers the older one only
    longest = Part.MAX_COMPLETION_TOKENS if Part.MAX_TOKENS in without else Part.MAX_TOKENS
    made: dict[str, Any] = {
        "model": model,
        "messages": _messages(request.messages, without),
        "stream": True,
        Part.STREAM_OPTIONS.value: {"include_usage": True},
        Part.TEMPERATURE.value: request.temperature,
        longest.value: request.max_output_tokens,
    }
    if request.tools:
        made[Part.TOOLS.value] = [_tool(tool) for tool in request.tools]
    if request.json:
        made[Part.RESPONSE_FORMAT.value] = {"type": "json_object"}
    return {name: value for name, value in made.items() if value is not None and name not in without}


def parts(sent: dict[str, Any]) -> list[Part]:
    """The parts of a body that it could do without, the cheapest to miss first."""
    roles = [message["role"] for message in sent["messages"]]
    talk = [role for role in roles if role != Role.SYSTEM]
    found = [part for part in Part if part.value in sent]
    if Role.SYSTEM in roles[1:]:
        found.append(Part.LATER_SYSTEM)
    if any(a == b and a != Role.TOOL for a, b in pairwise(talk)) or talk[:1] == [Role.ASSISTANT]:
        found.append(Part.SAME_ROLE)
    if Role.SYSTEM in roles:
        found.append(Part.SYSTEM)
    return found


def of_messages(among: Collection[Part]) -> list[Part]:
    """Those of `among` that are about roles and their order, the gentlest to do without first."""
    return [part for part in _OF_MESSAGES if part in among]


def _messages(messages: list[Message], without: Collection[str]) -> list[dict[str, Any]]:
    if Part.TOOLS in without:
        # a server without tools knows neither calls nor results; what came of them stands in the answer that followed
        messages = [m for m in messages if m.role is not Role.TOOL and (m.content or not m.tool_calls)]
    made = [_message(message, with_calls=Part.TOOLS not in without) for message in messages]
    if Part.LATER_SYSTEM in without or Part.SYSTEM in without:
        made = _joined(made, {Role.SYSTEM})
        first = 0 if Part.SYSTEM in without else 1
        made = made[:first] + [m | {"role": Role.USER.value} if m["role"] == Role.SYSTEM else m for m in made[first:]]
    if {Part.SAME_ROLE, Part.LATER_SYSTEM, Part.SYSTEM}.isdisjoint(without):
        return made
    made = _joined(made, {Role.USER, Role.ASSISTANT})
    start = 1 if made and made[0]["role"] == Role.SYSTEM else 0
    if len(made) > start and made[start]["role"] == Role.ASSISTANT:
        made.insert(start, {"role": Role.USER.value, "content": EARLIER})
    return made


def _joined(messages: list[dict[str, Any]], roles: Collection[str]) -> list[dict[str, Any]]:
    """Messages with neighbours of the same one of `roles` made one, but for those that call tools."""
    made: list[dict[str, Any]] = []
    for message in messages:
        last = made[-1] if made else {}
        same = message["role"] == last.get("role") and message["role"] in roles
        if same and "tool_calls" not in message and "tool_calls" not in last:
            made[-1] = last | {"content": f"{last['content']}\n\n{message['content']}"}
        else:
            made.append(message)
    return made


def _message(message: Message, *, with_calls: bool) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": message.role.value, "content": message.content}
    if message.tool_calls and with_calls:
        wire["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _object(call.arguments)}}
            for call in message.tool_calls
        ]
    if message.role is Role.TOOL:
        wire["tool_call_id"] = message.tool_call_id
    return wire


def _object(arguments: str) -> str:
    """`arguments` where they are a JSON object, else an empty one: strict servers refuse a history with others.

    The log keeps what the model wrote. What is nested deeper than servers can read would break every later request.
    """
    try:
        readable = _depth(arguments) <= DEEPEST and isinstance(json.loads(arguments), dict)
    except ValueError:
        readable = False
    return arguments if readable else "{}"


def _depth(written: str) -> int:
    """How deep the brackets of a JSON text are nested."""
    depth = deepest = 0
    for bracket in _BRACKETS.findall(_STRINGS.sub("", written)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


@functools.lru_cache(maxsize=64)
def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": json.loads(tool.parameters),
        },
    }
