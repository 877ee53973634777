"""The wire format of OpenAI's Responses API, which its reasoning models need for tools."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from memory.messages import Message, Role
from pipeline.models.answer import AnswerBuilder
from pipeline.models.capabilities import Adjustments, Part
from pipeline.models.chat_completions import (
    NO_TEXT,
    SHOWN_BY_TOOL,
    describe_tool,
    ensure_object,
    get_own_data,
    make_data_url,
    make_portable_id,
    retell_refused_calls,
    select_tools,
)
from pipeline.models.endpoint import Endpoint
from pipeline.models.events import get_count, get_items, get_text, get_value
from pipeline.models.model import ModelRequest, Usage

MIN_OUTPUT_TOKENS = 16
"""The API refuses smaller limits."""
ENCRYPTED_REASONING = "reasoning.encrypted_content"


class Responses:
    """Creates the body of a request and reads the events of its answer.

    The provider stores nothing: it returns the reasoning encrypted, and the next request includes it.
    """

    path = "/responses"

    def build_body(
        self, endpoint: Endpoint, model: str, request: ModelRequest, adjustments: Adjustments
    ) -> dict[str, Any]:
        without = adjustments.without
        tools = select_tools(request, adjustments)
        effort = "low" if request.low_effort else request.effort
        made: dict[str, Any] = {
            "model": model,
            "input": _build_items(endpoint, model, request, adjustments),
            "stream": True,
            "store": False,
        }
        if Part.INCLUDE not in without:
            made["include"] = [ENCRYPTED_REASONING]
        if request.session_id and Part.CACHE_KEY not in without:
            # Requests of one chat have the same beginning. The hash keeps the ID of the chat private.
            made["prompt_cache_key"] = hashlib.sha256(request.session_id.encode()).hexdigest()[:32]
        if request.max_output_tokens:
            made["max_output_tokens"] = max(request.max_output_tokens, MIN_OUTPUT_TOKENS)
        if effort is not None and Part.REASONING_EFFORT not in without:
            made["reasoning"] = {"effort": effort}
        if request.temperature is not None and Part.TEMPERATURE not in without:
            made["temperature"] = request.temperature
        if request.json and Part.RESPONSE_FORMAT not in without:
            made["text"] = {"format": {"type": "json_object"}}
        if tools:
            made["tools"] = [{"type": "function", "strict": False, **describe_tool(tool)["function"]} for tool in tools]
            if request.required_tool and Part.TOOL_CHOICE not in without:
                made["tool_choice"] = {"type": "function", "name": request.required_tool}
        return made | endpoint.extra_fields

    def list_parts(self, sent: Mapping[str, Any]) -> list[Part]:
        names = {
            "include": Part.INCLUDE,
            "prompt_cache_key": Part.CACHE_KEY,
            "max_output_tokens": Part.MAX_TOKENS,
            "reasoning": Part.REASONING_EFFORT,
            "temperature": Part.TEMPERATURE,
            "text": Part.RESPONSE_FORMAT,
            "tool_choice": Part.TOOL_CHOICE,
            "tools": Part.TOOLS,
        }
        present = [part for name, part in names.items() if name in sent]
        kinds = {item.get("type") for item in sent["input"]}
        if any(part.get("type") == "input_image" for item in sent["input"] for part in item.get("content") or ()):
            present.append(Part.IMAGES)
        if "function_call" in kinds:
            present += [Part.OTHERS_CALLS, Part.EARLIER_CALLS]
        if "reasoning" in kinds:
            present.append(Part.PROVIDER_DATA)
        return present

    def read(self, event: object, builder: AnswerBuilder) -> None:
        kind = get_text(event, "type")
        if kind == "response.output_text.delta":
            builder.add_text(get_text(event, "delta"))
        elif kind == "response.refusal.delta":
            builder.add_refusal(get_text(event, "delta"))
        elif kind == "response.output_item.done":
            _read_item(get_value(event, "item"), builder)
        elif kind.startswith("response.reasoning"):
            builder.reasoned = True
        elif kind in ("response.completed", "response.incomplete", "response.failed", "response.done"):
            response = get_value(event, "response")
            if not builder.fields.get("items"):  # Some proxies stream only the end.
                for item in get_items(response, "output"):
                    _read_item(item, builder, shows_text=not builder.has_content)
            _read_end(response, builder)
        elif get_value(event, "object") == "response":  # Not streamed.
            for item in get_items(event, "output"):
                _read_item(item, builder, shows_text=True)
            _read_end(event, builder)


def _build_items(
    endpoint: Endpoint, model: str, request: ModelRequest, adjustments: Adjustments
) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    ids: dict[str, str] = {}
    for message in retell_refused_calls(endpoint, model, request, adjustments.without):
        data = {} if Part.PROVIDER_DATA in adjustments.without else get_own_data(message, endpoint, model)
        shows = Part.IMAGES not in adjustments.without
        if message.role is Role.ASSISTANT:
            made += _build_answer_items(message, data, ids)
        elif message.role is Role.TOOL:
            output = message.content or NO_TEXT
            call_id = ids.get(message.tool_call_id or "", message.tool_call_id)
            made.append({"type": "function_call_output", "call_id": call_id, "output": output})
            if message.images and shows:
                caption = {"type": "input_text", "text": SHOWN_BY_TOOL.format(tool=message.speaker)}
                made.append({"role": "user", "content": [caption, *_build_images(message)]})
        else:
            content = [{"type": "input_text", "text": message.content}, *(_build_images(message) if shows else ())]
            made.append({"role": message.role.value, "content": content})
    return made


def _build_images(message: Message) -> list[dict[str, Any]]:
    return [{"type": "input_image", "image_url": make_data_url(image)} for image in message.images]


def _build_answer_items(message: Message, data: Mapping[str, Any], ids: dict[str, str]) -> list[dict[str, Any]]:
    """Return an answer as items. Stored items of this model are sent back unchanged, with the text from the log."""
    stored = [item for item in get_items(get_value(data, "fields"), "items") if isinstance(item, dict)]
    for call in message.tool_calls:
        ids[call.id] = get_text(data, "calls", call.id, "id") or make_portable_id(call.id)
    made: list[dict[str, Any]] = []
    text = {"type": "output_text", "text": message.content, "annotations": []}
    said = not message.content
    for item in stored:
        if item.get("type") == "message":
            if not said:
                made.append(item | {"content": [text]})
            said = True
        else:
            made.append(item)
    if not said:
        made.append({"type": "message", "role": "assistant", "content": [text]})
    own_calls = {item.get("call_id") for item in stored}
    for call in message.tool_calls:
        if ids[call.id] not in own_calls:
            arguments = ensure_object(call.arguments)
            made.append({"type": "function_call", "call_id": ids[call.id], "name": call.name, "arguments": arguments})
    return made


def _read_item(item: object, builder: AnswerBuilder, *, shows_text: bool = False) -> None:
    """Store an item of the output to send it back. The text of a message is stored only in the log."""
    if not isinstance(item, dict):
        return
    kind = item.get("type")
    if kind == "message":
        for part in get_items(item, "content") if shows_text else ():
            builder.add_text(get_text(part, "text"))
            builder.add_refusal(get_text(part, "refusal"))
        item = item | {"content": []}
    elif kind == "function_call":
        call = builder.get_or_add_call(None, get_text(item, "call_id"), get_text(item, "name"))
        call.arguments = get_text(item, "arguments")
    elif kind == "reasoning":
        builder.reasoned = True
    builder.fields.setdefault("items", []).append(item)


def _read_end(response: object, builder: AnswerBuilder) -> None:
    usage = get_value(response, "usage")
    if prompt := get_count(usage, "input_tokens"):
        cached = get_count(usage, "input_tokens_details", "cached_tokens")
        builder.reasoned = builder.reasoned or get_count(usage, "output_tokens_details", "reasoning_tokens") > 0
        builder.usage = Usage(prompt, get_count(usage, "output_tokens"), cached)
    status = get_text(response, "status")
    if status == "completed":
        builder.finish_reason = "stop"
    elif status == "incomplete":
        builder.finish_reason = get_text(response, "incomplete_details", "reason") or "length"
    else:
        builder.finish_reason = "error"
