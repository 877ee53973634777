"""A request as JSON for chat completions, with all its optional parts or without the ones that a server refuses."""

from __future__ import annotations

import base64
import functools
import json
import re
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from memory.messages import Message, Role

if TYPE_CHECKING:
    from collections.abc import Collection

    from memory.messages import Image
    from pipeline.models.model import ModelRequest, ToolSpec

SHOWN_BY_TOOL = "(What {tool} shows; the user did not write this.)"
"""Stands before a picture that a tool shows: only users' messages can hold one."""
EARLIER = "(The conversation began earlier.)"
"""What a server that wants the user to speak first is told where the history begins with an answer."""


DEEPEST = 64
"""How deep a call's arguments may be nested in a request; no tool of ours takes more than two levels."""
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"')
_BRACKETS = re.compile(r"[\[\]{}]")


Content = str | list[dict[str, Any]]
"""A message's content: its text, or parts of text and pictures."""


class Part(StrEnum):
    """What a request can do without. The names are kept in the database, where unknown ones mean nothing."""

    STREAM_OPTIONS = "stream_options"
    REASONING_EFFORT = "reasoning_effort"
    RESPONSE_FORMAT = "response_format"
    TEMPERATURE = "temperature"
    MAX_TOKENS = "max_tokens"
    MAX_COMPLETION_TOKENS = "max_completion_tokens"
    TOOLS = "tools"
    LATER_SYSTEM = "a later system message"
    SYSTEM = "a system message"
    IMAGES = "pictures"
    SAME_ROLE = "adjacent messages of one role"
    SECOND_LOOK = "second look"  # the self-test of telling what follows from what was said


# what can be refused in the messages, in the order in which it is tried to do without: the gentlest first
_OF_MESSAGES = (Part.LATER_SYSTEM, Part.SAME_ROLE, Part.SYSTEM)


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
    if request.low_effort:
        made[Part.REASONING_EFFORT.value] = "low"
    if request.tools:
        made[Part.TOOLS.value] = [_tool(tool) for tool in request.tools]
    if request.json:
        made[Part.RESPONSE_FORMAT.value] = {"type": "json_object"}
    return {name: value for name, value in made.items() if value is not None and name not in without}


def parts(sent: dict[str, Any]) -> list[Part]:
    """The parts of a body that it could do without, the cheapest to miss first."""
    roles = [message["role"] for message in sent["messages"]]
    talk = [role for role in roles if role != Role.SYSTEM]
    present = [part for part in Part if part.value in sent]
    if any(isinstance(message["content"], list) for message in sent["messages"]):
        present.append(Part.IMAGES)
    if Role.SYSTEM in roles[1:]:
        present.append(Part.LATER_SYSTEM)
    if any(a == b and a != Role.TOOL for a, b in pairwise(talk)) or talk[:1] == [Role.ASSISTANT]:
        present.append(Part.SAME_ROLE)
    if Role.SYSTEM in roles:
        present.append(Part.SYSTEM)
    return present


def of_messages(among: Collection[Part]) -> list[Part]:
    """Those of `among` that are about roles and their order, the gentlest to do without first."""
    return [part for part in _OF_MESSAGES if part in among]


def _messages(messages: list[Message], without: Collection[str]) -> list[dict[str, Any]]:
    if Part.TOOLS in without:
        # a server without tools knows neither calls nor results; the answer that followed has their outcome
        messages = [m for m in messages if m.role is not Role.TOOL and (m.content or not m.tool_calls)]
    made = [_message(message, with_calls=Part.TOOLS not in without) for message in messages]
    if Part.IMAGES not in without:
        made = _with_images(messages, made)
    if Part.LATER_SYSTEM in without or Part.SYSTEM in without:
        made = _joined(made, {Role.SYSTEM})
        # some chat templates take a system message at the front only, others none at all
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
    """Merge neighbouring messages of the same one of `roles`, except ones that call tools."""
    made: list[dict[str, Any]] = []
    for message in messages:
        last = made[-1] if made else {}
        same = message["role"] == last.get("role") and message["role"] in roles
        if same and "tool_calls" not in message and "tool_calls" not in last:
            made[-1] = last | {"content": _put_together(last["content"], message["content"])}
        else:
            made.append(message)
    return made


def _put_together(content: Content, other: Content) -> Content:
    if isinstance(content, str) and isinstance(other, str):
        return f"{content}\n\n{other}"
    return [*_content_parts(content), *_content_parts(other)]


def _content_parts(content: Content) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _with_images(messages: list[Message], made: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """`made` with the pictures: in a user's message as its parts, those of tools in a message after their results."""
    wire_messages: list[dict[str, Any]] = []
    by_tools: list[dict[str, Any]] = []
    for message, wire in zip(messages, made, strict=True):
        # only users' messages may hold pictures, and nothing may stand between the results of a call
        if by_tools and message.role is not Role.TOOL:
            wire_messages.append({"role": Role.USER.value, "content": by_tools})
            by_tools = []
        pictures = [_picture(image) for image in message.images]
        if pictures and message.role is Role.TOOL:
            by_tools += [*_content_parts(SHOWN_BY_TOOL.format(tool=message.speaker)), *pictures]
        wire_messages.append(
            wire | {"content": [*_content_parts(wire["content"]), *pictures]}
            if pictures and message.role is Role.USER
            else wire
        )
    return [*wire_messages, {"role": Role.USER.value, "content": by_tools}] if by_tools else wire_messages


def _picture(image: Image) -> dict[str, Any]:
    encoded = base64.b64encode(image.content).decode("ascii")
    return {"type": "image_url", "image_url": {"url": f"data:{image.mime_type};base64,{encoded}"}}


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
    """`arguments` where they are a JSON object, else an empty one: strict servers refuse a history with others."""
    try:
        # what is nested deeper than servers can read would break every later request
        readable = _depth(arguments) <= DEEPEST and isinstance(json.loads(arguments), dict)
    except ValueError:
        readable = False
    return arguments if readable else "{}"


def _depth(written: str) -> int:
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
