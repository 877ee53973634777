"""Tool calls that a small model writes out as its answer instead of making them."""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING

from memory.messages import ToolCall
from pipeline.models.model import Finish

if TYPE_CHECKING:
    from pipeline.models.model import ModelAnswer, ToolSpec

_FENCED = re.compile(r"\s*(?:Tool call:\s*)?(?:```(?:json)?\s*)?(?P<object>\{.*\})\s*(?:```)?\s*", re.DOTALL)


def with_written_calls(answer: ModelAnswer, tools: tuple[ToolSpec, ...]) -> ModelAnswer:
    """`answer` with its text taken for the tool call that it is, if all of it is one of a tool that there is."""
    if answer.tool_calls or answer.finish is not Finish.STOP or not tools:
        return answer
    found = _FENCED.fullmatch(answer.text)
    if found is None:
        return answer
    try:
        written = json.loads(found["object"])
    except (ValueError, RecursionError):
        return answer
    if not isinstance(written, dict) or written.keys() != {"name", "arguments"}:
        return answer
    name, arguments = written["name"], written["arguments"]
    if name not in {tool.name for tool in tools} or not isinstance(arguments, dict):
        return answer
    call = ToolCall(f"call_{secrets.token_hex(6)}", name, json.dumps(arguments, ensure_ascii=False))
    return replace(answer, text="", finish=Finish.TOOL_CALLS, tool_calls=(call,))
