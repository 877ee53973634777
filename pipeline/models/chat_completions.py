"""The wire format of OpenAI's chat completions, which nearly every server supports.

The module is long since building a request and reading its stream use the same names of fields.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from typing import Any

from memory.messages import Image, Message, Role
from pipeline.models.answer import CALL_ID_LENGTH, AnswerBuilder
from pipeline.models.capabilities import Adjustments, Part
from pipeline.models.chat_answers import REASONING, read_message, read_usage
from pipeline.models.endpoint import Endpoint
from pipeline.models.events import get_items, get_text, get_value
from pipeline.models.model import ModelRequest, ToolSpec
from pipeline.models.schemas import repair_schema

SHOWN_BY_TOOL = "(What {tool} shows; the user did not write this.)"
"""The caption of an image that a tool returned. It is sent in a user message, since only these may contain images."""
EARLIER = "(The conversation began earlier.)"
"""Inserted if the history begins with an answer and the server requires a user message first."""
RETOLD = "(Earlier the assistant used the tool {tool} with {arguments}. The tool answered:)\n{result}"
"""A tool call as plain text, for servers that don't accept it as a call."""
NO_TEXT = "(no text)"
MAX_ARGUMENT_DEPTH = 64
"""Maximum nesting of a call's arguments. No tool of Mneme needs more than two levels."""

_SENT_BACK = (*REASONING, "reasoning_details", "extra_content")
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"')
_BRACKETS = re.compile(r"[\[\]{}]")
_OWN_ID = re.compile(rf"[A-Za-z0-9]{{{CALL_ID_LENGTH}}}")

Content = str | list[dict[str, Any]] | None


class ChatCompletions:
    """Creates the body of a request and reads the events of its answer."""

    path = "/chat/completions"

    def build_body(
        self, endpoint: Endpoint, model: str, request: ModelRequest, adjustments: Adjustments
    ) -> dict[str, Any]:
        without = adjustments.without
        provider = endpoint.provider
        # Reasoning models accept only the newer name, most other servers only the older one.
        limit_name = Part.MAX_COMPLETION_TOKENS if Part.MAX_TOKENS in without else Part.MAX_TOKENS
        tools = select_tools(request, adjustments)
        effort = "low" if request.low_effort else request.effort
        if tools and Part.DEFAULT_EFFORT in without:
            effort = "none"
        made: dict[str, Any] = {
            "model": model,
            "messages": _build_messages(endpoint, model, request, without),
            "stream": True,
            Part.STREAM_OPTIONS.value: {"include_usage": True},
            Part.TEMPERATURE.value: request.temperature,
            limit_name.value: request.max_output_tokens,
        }
        if effort is not None:
            made |= {"reasoning": {"effort": effort}} if provider.effort_in_object else {"reasoning_effort": effort}
        if Part.REASONING_EFFORT in without and effort != "none":
            made.pop("reasoning", None)
            made.pop("reasoning_effort", None)
        if tools:
            made[Part.TOOLS.value] = [describe_tool(tool) for tool in tools]
            if request.required_tool:
                made[Part.TOOL_CHOICE.value] = {"type": "function", "function": {"name": request.required_tool}}
        if request.json:
            made[Part.RESPONSE_FORMAT.value] = {"type": "json_object"}
        if any(name in model.lower() for name in provider.marks_cache) and Part.CACHE_MARKS not in without:
            _mark_cache(made["messages"])
        effort_names = (Part.REASONING_EFFORT.value,)
        made = {k: v for k, v in made.items() if v is not None and (k not in without or k in effort_names)}
        return made | endpoint.extra_fields

    def list_parts(self, sent: Mapping[str, Any]) -> list[Part]:
        messages = sent["messages"]
        roles = [message["role"] for message in messages]
        talk = [role for role in roles if role != Role.SYSTEM]
        present = [part for part in Part if part.value in sent]
        if "reasoning" in sent:
            present.append(Part.REASONING_EFFORT)
        contents = [
            part for message in messages if isinstance(message.get("content"), list) for part in message["content"]
        ]
        if any(part["type"] == "image_url" for part in contents):
            present.append(Part.IMAGES)
        if any("cache_control" in part for part in contents):
            present.append(Part.CACHE_MARKS)
        if Role.SYSTEM in roles[1:]:
            present.append(Part.LATER_SYSTEM)
        if any(a == b and a != Role.TOOL for a, b in pairwise(talk)) or talk[:1] == [Role.ASSISTANT]:
            present.append(Part.SAME_ROLE)
        if Role.SYSTEM in roles:
            present.append(Part.SYSTEM)
        if any(
            not str(message.get("content", "x") or "").strip()
            for message in messages
            if message.get("content") is not None
        ):
            present.append(Part.EMPTY_TEXT)
        if any(message.get("tool_calls") for message in messages):
            present += [Part.OTHERS_CALLS, Part.EARLIER_CALLS]
        extra = set(_SENT_BACK)
        if any(
            extra & message.keys() or any("extra_content" in call for call in message.get("tool_calls", ()))
            for message in messages
        ):
            present.append(Part.PROVIDER_DATA)
        return present

    def read(self, event: object, builder: AnswerBuilder) -> None:
        """Add an event to the answer. Any of its fields may be missing, null or of another type."""
        read_usage(get_value(event, "usage"), builder)
        for choice in get_items(event, "choices")[:1]:
            finish = get_value(choice, "finish_reason")
            builder.finish_reason = str(finish) if finish else builder.finish_reason
            # A server that does not stream sends the whole message.
            delta = (
                get_value(choice, "delta")
                if isinstance(get_value(choice, "delta"), dict)
                else get_value(choice, "message")
            )
            read_message(delta, builder)


def select_tools(request: ModelRequest, adjustments: Adjustments) -> list[ToolSpec]:
    if Part.TOOLS in adjustments.without:
        return []
    return [tool for tool in request.tools if make_tool_key(tool) not in adjustments.bad_tools]


@functools.lru_cache(maxsize=256)
def make_tool_key(tool: ToolSpec) -> str:
    """Return a key for a tool and its schema. A refused tool is offered again after its schema has changed."""
    return f"{tool.name}:{hashlib.sha256(tool.parameters.encode()).hexdigest()[:12]}"


def parse_tool_name(key: str) -> str:
    return key.rpartition(":")[0]


@functools.lru_cache(maxsize=256)
def describe_tool(tool: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": repair_schema(json.loads(tool.parameters)),
        },
    }


def retell_calls(messages: Iterable[Message], should_retell: Collection[int]) -> list[Message]:
    """Convert the tool calls at these positions, and their results, to plain text."""
    made: list[Message] = []
    calls: dict[str, tuple[str, str]] = {}
    for place, message in enumerate(messages):
        if message.tool_calls and place in should_retell:
            calls |= {call.id: (call.name, call.arguments) for call in message.tool_calls}
            if message.content.strip():
                made.append(_create_plain_message(message, Role.ASSISTANT, message.content))
        elif message.role is Role.TOOL and message.tool_call_id in calls:
            tool, arguments = calls[message.tool_call_id]
            text = RETOLD.format(tool=tool, arguments=arguments, result=message.content)
            made.append(_create_plain_message(message, Role.USER, text))
        else:
            made.append(message)
    return made


def _create_plain_message(message: Message, role: Role, text: str) -> Message:
    return Message(role, text, message.created_at, message.speaker, message.provenance, images=message.images)


def retell_refused_calls(
    endpoint: Endpoint, model: str, request: ModelRequest, without: Collection[Part]
) -> list[Message]:
    """Return the messages of a request, with tool calls as plain text if the server refuses them."""
    messages = request.messages
    with_calls = [place for place, message in enumerate(messages) if message.tool_calls]
    if Part.TOOLS in without or Part.EARLIER_CALLS in without or not request.tools:
        return retell_calls(messages, with_calls)
    if Part.OTHERS_CALLS in without:
        return retell_calls(messages, [place for place in with_calls if not is_own(messages[place], endpoint, model)])
    return messages


def is_own(message: Message, endpoint: Endpoint, model: str) -> bool:
    data = message.provider_data
    return data is not None and (data.endpoint, data.model) == (endpoint.address, model)


def get_own_data(message: Message, endpoint: Endpoint, model: str) -> dict[str, Any]:
    """Return the data to send back with a message of this model, or an empty dict."""
    if message.provider_data is None or not is_own(message, endpoint, model):
        return {}
    data = json.loads(message.provider_data.data)
    return data if isinstance(data, dict) else {}


def _build_messages(
    endpoint: Endpoint, model: str, request: ModelRequest, without: Collection[Part]
) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    by_tools: list[dict[str, Any]] = []
    ids: dict[str, str] = {}
    for message in retell_refused_calls(endpoint, model, request, without):
        # Only user messages may contain images, and they may not come between the results of calls.
        if by_tools and message.role is not Role.TOOL:
            made.append({"role": Role.USER.value, "content": by_tools})
            by_tools = []
        data = get_own_data(message, endpoint, model) if Part.PROVIDER_DATA not in without else {}
        wire = _build_message(message, data, ids, without)
        images = [_build_image(image) for image in message.images] if Part.IMAGES not in without else []
        if images and message.role is Role.TOOL:
            by_tools += [*_to_content_parts(SHOWN_BY_TOOL.format(tool=message.speaker)), *images]
        elif images:
            wire["content"] = [*_to_content_parts(wire["content"]), *images]
        made.append(wire)
    if by_tools:
        made.append({"role": Role.USER.value, "content": by_tools})
    return _arrange_roles(made, without)


def _arrange_roles(made: list[dict[str, Any]], without: Collection[Part]) -> list[dict[str, Any]]:
    if Part.LATER_SYSTEM in without or Part.SYSTEM in without:
        made = _merge_neighbours(made, {Role.SYSTEM})
        # Some chat templates accept a system message only at the front, others not at all.
        first = 0 if Part.SYSTEM in without else 1
        made = made[:first] + [m | {"role": Role.USER.value} if m["role"] == Role.SYSTEM else m for m in made[first:]]
    if {Part.SAME_ROLE, Part.LATER_SYSTEM, Part.SYSTEM}.isdisjoint(without):
        return made
    made = _merge_neighbours(made, {Role.USER, Role.ASSISTANT})
    start = 1 if made and made[0]["role"] == Role.SYSTEM else 0
    if len(made) > start and made[start]["role"] == Role.ASSISTANT:
        made.insert(start, {"role": Role.USER.value, "content": EARLIER})
    return made


def _merge_neighbours(messages: list[dict[str, Any]], roles: Collection[str]) -> list[dict[str, Any]]:
    """Merge neighbouring messages with the same role, if it is one of `roles` and they call no tools."""
    made: list[dict[str, Any]] = []
    for message in messages:
        last = made[-1] if made else {}
        same = message["role"] == last.get("role") and message["role"] in roles
        if same and "tool_calls" not in message and "tool_calls" not in last:
            made[-1] = last | {"content": _join_contents(last["content"], message["content"])}
        else:
            made.append(message)
    return made


def _join_contents(content: Content, other: Content) -> Content:
    if isinstance(content, str) and isinstance(other, str):
        return f"{content}\n\n{other}"
    return [*_to_content_parts(content), *_to_content_parts(other)]


def _to_content_parts(content: Content) -> list[dict[str, Any]]:
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []


def _build_image(image: Image) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": make_data_url(image)}}


def make_data_url(image: Image) -> str:
    return f"data:{image.mime_type};base64,{encode_image(image)}"


def encode_image(image: Image) -> str:
    return base64.b64encode(image.content).decode("ascii")


def _build_message(
    message: Message, data: Mapping[str, Any], ids: dict[str, str], without: Collection[Part]
) -> dict[str, Any]:
    """Return a message as JSON, and add the IDs of its calls to `ids`, by Mneme's own IDs."""
    wire: dict[str, Any] = {"role": message.role.value, "content": message.content}
    fields = data.get("fields")
    wire |= {name: fields[name] for name in _SENT_BACK if name in fields} if isinstance(fields, dict) else {}
    if message.tool_calls:
        wire["tool_calls"] = []
        for call in message.tool_calls:
            stored = get_value(data, "calls", call.id)
            provider_id = get_text(stored, "id")
            ids[call.id] = provider_id if provider_id and provider_id not in ids.values() else make_portable_id(call.id)
            function = {"name": call.name, "arguments": ensure_object(call.arguments)}
            extra = {name: value for name, value in stored.items() if name != "id"} if isinstance(stored, dict) else {}
            wire["tool_calls"].append({"id": ids[call.id], "type": "function", "function": function, **extra})
    if message.role is Role.TOOL:
        wire["tool_call_id"] = ids.get(message.tool_call_id or "", message.tool_call_id)
    if Part.EMPTY_TEXT in without and not message.content.strip():
        wire["content"] = None if message.tool_calls else NO_TEXT
    return wire


def make_portable_id(call_id: str) -> str:
    """Return the ID of a call in a form that every server accepts. Earlier versions created longer IDs."""
    if _OWN_ID.fullmatch(call_id):
        return call_id
    return hashlib.sha256(call_id.encode()).hexdigest()[:CALL_ID_LENGTH]


def ensure_object(arguments: str) -> str:
    """Return the arguments if they are a JSON object, or else an empty object. Strict servers refuse anything else."""
    try:
        # If servers can't parse the nesting, every later request would fail too.
        readable = _measure_depth(arguments) <= MAX_ARGUMENT_DEPTH and isinstance(json.loads(arguments), dict)
    except ValueError:
        readable = False
    return arguments if readable else "{}"


def _measure_depth(written: str) -> int:
    depth = deepest = 0
    for bracket in _BRACKETS.findall(_STRINGS.sub("", written)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _mark_cache(messages: list[dict[str, Any]]) -> None:
    """Mark the system message and the user's last but one message for caching. Later prompts repeat up to these."""
    mark = {"cache_control": {"type": "ephemeral"}}
    places = [place for place, message in enumerate(messages) if message["role"] in (Role.SYSTEM, Role.USER)]
    for place in {*places[:1], *places[-2:-1]}:
        parts = _to_content_parts(messages[place]["content"])
        if parts:
            messages[place] = messages[place] | {"content": [*parts[:-1], parts[-1] | mark]}
