"""Reads the streamed answers of chat completions."""

from __future__ import annotations

import json
from typing import Any

from pipeline.models.answer import AnswerBuilder, OpenCall
from pipeline.models.events import get_count, get_items, get_text, get_value
from pipeline.models.model import Usage

REASONING = ("reasoning_content", "reasoning")


def read_message(delta: object, builder: AnswerBuilder) -> None:
    _read_content(get_value(delta, "content"), builder)
    builder.add_refusal(get_text(delta, "refusal"))
    _read_reasoning(delta, builder)
    if isinstance(extra := get_value(delta, "extra_content"), dict):
        builder.fields["extra_content"] = builder.fields.get("extra_content", {}) | extra
    for piece in get_items(delta, "tool_calls"):
        _read_call(piece, builder)
    function = get_value(delta, "function_call")  # The format before tool calls.
    if isinstance(function, dict):
        _read_call({"index": 0, "function": function}, builder)


def _read_content(content: object, builder: AnswerBuilder) -> None:
    if isinstance(content, str):
        builder.add_text(content)
    elif isinstance(content, list):  # Mistral: parts of thinking and text
        for part in content:
            if get_value(part, "type") == "thinking":
                builder.reasoned = True
            else:
                builder.add_text(get_text(part, "text"))


def _read_reasoning(delta: object, builder: AnswerBuilder) -> None:
    for name in REASONING:
        if reasoning := get_text(delta, name):
            builder.reasoned = True
            builder.fields[name] = builder.fields.get(name, "") + reasoning
    if details := get_items(delta, "reasoning_details"):
        builder.reasoned = True
        _merge_details(builder.fields.setdefault("reasoning_details", []), details)


def _merge_details(stored: list[dict[str, Any]], pieces: list[object]) -> None:
    """Merge pieces of OpenRouter's reasoning details. Pieces of a block share its index and type."""
    for piece in pieces:
        if not isinstance(piece, dict):
            continue
        last = stored[-1] if stored else {}
        if (
            not last
            or (last.get("index"), last.get("type")) != (piece.get("index"), piece.get("type"))
            or "index" not in piece
        ):
            stored.append(dict(piece))
            continue
        for name, value in piece.items():
            is_text = name in ("text", "summary", "data") and isinstance(value, str)
            last[name] = f"{last.get(name) or ''}{value}" if is_text else value if value is not None else last.get(name)


def _read_call(piece: object, builder: AnswerBuilder) -> None:
    index = get_value(piece, "index")
    function = get_value(piece, "function")
    name, arguments = get_text(function, "name"), get_value(function, "arguments")
    call = builder.get_or_add_call(index if isinstance(index, int) else None, str(get_value(piece, "id") or ""), name)
    _add_arguments(call, arguments if arguments is not None else get_value(function, "parameters"))
    if isinstance(extra := get_value(piece, "extra_content"), dict):
        call.data["extra_content"] = call.data.get("extra_content", {}) | extra


def _add_arguments(call: OpenCall, arguments: object) -> None:
    if isinstance(arguments, str):
        call.arguments += arguments
    elif arguments is not None:
        call.arguments += json.dumps(arguments)


def read_usage(usage: object, builder: AnswerBuilder) -> None:
    # Some servers report zeros. The tokens are then estimated elsewhere.
    prompt = get_count(usage, "prompt_tokens")
    if not prompt:
        return
    cached = get_count(usage, "prompt_tokens_details", "cached_tokens")
    cached = cached or get_count(usage, "prompt_cache_hit_tokens") or get_count(usage, "cached_tokens")
    cost = get_value(usage, "cost")
    builder.reasoned = builder.reasoned or get_count(usage, "completion_tokens_details", "reasoning_tokens") > 0
    builder.usage = Usage(
        prompt,
        get_count(usage, "completion_tokens"),
        cached,
        float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) and cost >= 0 else None,
    )
