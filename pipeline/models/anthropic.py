"""The wire format of Anthropic's Messages API. Anthropic's OpenAI-compatible endpoint has no prompt caching."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memory.messages import Message, Role
from pipeline.models.answer import AnswerBuilder
from pipeline.models.capabilities import Adjustments, Part
from pipeline.models.chat_completions import (
    SHOWN_BY_TOOL,
    describe_tool,
    encode_image,
    ensure_object,
    get_own_data,
    make_portable_id,
    retell_refused_calls,
    select_tools,
)
from pipeline.models.endpoint import Endpoint
from pipeline.models.events import get_count, get_items, get_text, get_value
from pipeline.models.model import ModelRequest, Usage

DEFAULT_OUTPUT_TOKENS = 16_000
"""The API requires a limit. All current models allow this one."""
CACHE_MARK = {"cache_control": {"type": "ephemeral"}}
NO_TEXT = "(no text)"
_FINISH = {"max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "content_filter"}


class Messages:
    """Creates the body of a request and reads the events of its answer."""

    path = "/messages"

    def build_body(
        self, endpoint: Endpoint, model: str, request: ModelRequest, adjustments: Adjustments
    ) -> dict[str, Any]:
        tools = select_tools(request, adjustments)
        messages = retell_refused_calls(endpoint, model, request, adjustments.without)
        system = "\n\n".join(message.content for message in messages if message.role is Role.SYSTEM)
        made: dict[str, Any] = {
            "model": model,
            "max_tokens": request.max_output_tokens or DEFAULT_OUTPUT_TOKENS,
            "messages": _build_messages(endpoint, model, messages, adjustments),
            "stream": True,
        }
        if system.strip():
            made["system"] = [{"type": "text", "text": system, **CACHE_MARK}]
        if request.temperature is not None and Part.TEMPERATURE not in adjustments.without:
            made["temperature"] = request.temperature
        if tools:
            functions = [describe_tool(tool)["function"] for tool in tools]
            made["tools"] = [
                {"name": f["name"], "description": f["description"], "input_schema": f["parameters"]} for f in functions
            ]
            if request.required_tool and Part.TOOL_CHOICE not in adjustments.without:
                made["tool_choice"] = {"type": "tool", "name": request.required_tool}
        return made | endpoint.extra_fields

    def list_parts(self, sent: Mapping[str, Any]) -> list[Part]:
        names = {"temperature": Part.TEMPERATURE, "tool_choice": Part.TOOL_CHOICE, "tools": Part.TOOLS}
        present = [part for name, part in names.items() if name in sent]
        kinds = {block["type"] for message in sent["messages"] for block in message["content"]}
        if "image" in kinds:
            present.append(Part.IMAGES)
        if "tool_use" in kinds:
            present += [Part.OTHERS_CALLS, Part.EARLIER_CALLS]
        if kinds & {"thinking", "redacted_thinking"}:
            present.append(Part.PROVIDER_DATA)
        return present

    def read(self, event: object, builder: AnswerBuilder) -> None:
        kind = get_text(event, "type")
        if kind == "message_start":
            _read_usage(get_value(event, "message", "usage"), builder)
        elif kind == "content_block_start":
            _start_block(event, builder)
        elif kind == "content_block_delta":
            _read_delta(event, builder)
        elif kind == "message_delta":
            reason = get_text(event, "delta", "stop_reason")
            builder.finish_reason = _FINISH.get(reason, reason) or builder.finish_reason
            _read_usage(get_value(event, "usage"), builder)
        elif kind == "message":  # Not streamed.
            for index, block in enumerate(get_items(event, "content")):
                _start_block({"index": index, "content_block": block}, builder)
            reason = get_text(event, "stop_reason")
            builder.finish_reason = _FINISH.get(reason, reason)
            _read_usage(get_value(event, "usage"), builder)


def _build_messages(
    endpoint: Endpoint, model: str, messages: list[Message], adjustments: Adjustments
) -> list[dict[str, Any]]:
    """Return the conversation in blocks. Neighbouring messages with the same role are merged, as the API requires."""
    made: list[dict[str, Any]] = []
    ids: dict[str, str] = {}
    for message in messages:
        if message.role is Role.SYSTEM:
            continue
        data = {} if Part.PROVIDER_DATA in adjustments.without else get_own_data(message, endpoint, model)
        blocks = _build_blocks(message, data, ids, shows=Part.IMAGES not in adjustments.without)
        role = "assistant" if message.role is Role.ASSISTANT else "user"
        if made and made[-1]["role"] == role:
            made[-1]["content"] += blocks
        else:
            made.append({"role": role, "content": blocks})
    users = [wire for wire in made if wire["role"] == "user"]
    for wire in users[-2:-1]:  # The next request is the same up to here.
        wire["content"][-1] = wire["content"][-1] | CACHE_MARK
    return made


def _build_blocks(
    message: Message, data: Mapping[str, Any], ids: dict[str, str], *, shows: bool
) -> list[dict[str, Any]]:
    text = [{"type": "text", "text": message.content}] if message.content.strip() else []
    images = [_build_image(image.mime_type, encode_image(image)) for image in message.images] if shows else []
    if message.role is Role.TOOL:
        caption = [{"type": "text", "text": SHOWN_BY_TOOL.format(tool=message.speaker)}] if images else []
        use_id = ids.get(message.tool_call_id or "", message.tool_call_id)
        content = [*(text or [{"type": "text", "text": NO_TEXT}]), *caption, *images]
        return [{"type": "tool_result", "tool_use_id": use_id, "content": content}]
    if message.role is Role.USER:
        return [*text, *images] or [{"type": "text", "text": NO_TEXT}]
    thinking = [block for block in get_items(get_value(data, "fields"), "thinking") if isinstance(block, dict)]
    calls = []
    for call in message.tool_calls:
        ids[call.id] = get_text(data, "calls", call.id, "id") or make_portable_id(call.id)
        arguments = json.loads(ensure_object(call.arguments))
        calls.append({"type": "tool_use", "id": ids[call.id], "name": call.name, "input": arguments})
    return [*thinking, *text, *calls] if text or calls else [{"type": "text", "text": NO_TEXT}]


def _build_image(mime_type: str, content: str) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": mime_type, "data": content}}


def _start_block(event: object, builder: AnswerBuilder) -> None:
    block = get_value(event, "content_block")
    kind = get_text(block, "type")
    if kind == "text":
        builder.add_text(get_text(block, "text"))
    elif kind == "tool_use":
        call = builder.get_or_add_call(get_count(event, "index"), get_text(block, "id"), get_text(block, "name"))
        arguments = get_value(block, "input")
        call.arguments += json.dumps(arguments) if isinstance(arguments, dict) and arguments else ""
    elif kind in ("thinking", "redacted_thinking") and isinstance(block, dict):
        builder.reasoned = True
        builder.fields.setdefault("thinking", []).append(dict(block))


def _read_delta(event: object, builder: AnswerBuilder) -> None:
    delta = get_value(event, "delta")
    kind = get_text(delta, "type")
    if kind == "text_delta":
        builder.add_text(get_text(delta, "text"))
    elif kind == "input_json_delta":
        builder.get_or_add_call(get_count(event, "index"), "", "").arguments += get_text(delta, "partial_json")
    elif kind in ("thinking_delta", "signature_delta") and builder.fields.get("thinking"):
        name = kind.removesuffix("_delta")
        block = builder.fields["thinking"][-1]
        block[name] = block.get(name, "") + get_text(delta, name)


def _read_usage(usage: object, builder: AnswerBuilder) -> None:
    """Add the tokens. Those of the prompt arrive at the start, those of the answer at the end."""
    before = builder.usage
    cached = get_count(usage, "cache_read_input_tokens")
    prompt = get_count(usage, "input_tokens") + cached + get_count(usage, "cache_creation_input_tokens")
    output = get_count(usage, "output_tokens")
    if prompt or before is None:
        builder.usage = Usage(prompt, output, cached) if prompt else None
    else:
        builder.usage = Usage(before.prompt_tokens, output, before.cached_tokens)
