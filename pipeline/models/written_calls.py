"""Finds tool calls that a model writes into its text.

Small models, and servers without the right parser for a model, leave calls in the text in the format that the model was
trained on. A format with a marker is recognised anywhere outside of Markdown code. JSON without a marker is recognised
only if it is the whole answer.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

WrittenCall = tuple[str, dict[str, Any]]
"""The name of a tool and its arguments."""

_NAME = r"[\w.:-]+"
# The formats with their markers. The closing marker may be missing at the end of the text.
_BLOCKS = (
    r"<tool_call>(?P<a>.*?)(?:</tool_call>|\Z)",
    r"<\|?tool_calls?\|?>(?P<b>.*?)(?:</?\|?/?tool_calls?\|?>|\Z)",
    r"\[TOOL_CALLS\](?P<c>.*)\Z",
    r"<\|python_tag\|>(?P<d>.*?)(?:<\|eom_id\|>|<\|eot_id\|>|\Z)",
    r"(?P<e><function=.*?(?:</function>|\Z))",
    r"<(?:\w+:)?(?:function_calls|tool_calls?)>(?P<f>.*?)(?:</(?:\w+:)?(?:function_calls|tool_calls?)>|\Z)",
    r"<｜tool▁calls▁begin｜>(?P<g>.*?)(?:<｜tool▁calls▁end｜>|\Z)",
    r"<\|tool_calls_section_begin\|>(?P<h>.*?)(?:<\|tool_calls_section_end\|>|\Z)",
    r"functools(?P<i>\[\{.*)\Z",
)
_BLOCK = re.compile("|".join(_BLOCKS), re.DOTALL)
MARKER = re.compile(
    r"<tool_call>|<\|?tool_calls?\|?>|\[TOOL_CALLS\]|<\|python_tag\|>|<function=|<(?:\w+:)?(?:function_calls|tool_calls?)>"
    r"|<｜tool▁calls▁begin｜>|<\|tool_calls_section_begin\|>|functools\[\{"
)
"""The beginning of a written call. A streamed text is shown only up to here."""
MAX_MARKER_CHARS = 32

_FENCED = re.compile(r"\s*(?:Tool call:\s*)?```(?:json|tool_code|tool_call|python)?\s*(.*?)\s*```\s*", re.DOTALL)
_XML_FUNCTION = re.compile(rf"<function=(?P<name>{_NAME})>(?P<body>.*?)(?:</function>|\Z)", re.DOTALL)
_XML_PARAMETER = re.compile(
    r"<parameter=(?P<name>[\w.-]+)>(?P<value>.*?)(?:</parameter>|(?=<parameter=)|\Z)", re.DOTALL
)
_INVOKE = re.compile(rf'<invoke name="(?P<name>{_NAME})">(?P<body>.*?)(?:</invoke>|\Z)', re.DOTALL)
_INVOKE_PARAMETER = re.compile(r'<parameter name="(?P<name>[\w.-]+)"[^>]*>(?P<value>.*?)</parameter>', re.DOTALL)
_GLM_CALL = re.compile(rf"\s*(?P<name>{_NAME})\s*(?P<body><arg_key>.*)", re.DOTALL)
_GLM_ARGUMENT = re.compile(r"<arg_key>(?P<name>.*?)</arg_key>\s*<arg_value>(?P<value>.*?)</arg_value>", re.DOTALL)
_MISTRAL_CALL = re.compile(rf"\s*(?P<name>{_NAME})(?:\[CALL_ID\]\w+)?\[ARGS\]\s*(?=\{{)")
_DEEPSEEK_CALL = re.compile(
    rf"<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?(?P<name>{_NAME})(?:<｜tool▁sep｜>)?\s*(?:```(?:json)?)?\s*(?=\{{)"
)
_KIMI_CALL = re.compile(
    rf"<\|tool_call_begin\|>\s*(?:functions\.)?(?P<name>{_NAME}?)(?::\d+)?\s*<\|tool_call_argument_begin\|>\s*(?=\{{)"
)
_DECODER = json.JSONDecoder(strict=False)


def read_written_calls(text: str, schemas: Mapping[str, Mapping[str, Any]]) -> tuple[str, list[WrittenCall]]:
    """Return the text without written calls, and the calls of existing tools.

    Args:
        text: The whole answer, without thinking.
        schemas: The JSON schemas of the tools' parameters, by tool name.
    """
    whole = _parse_whole_answer(text, schemas)
    if whole:
        return "", whole
    calls: list[WrittenCall] = []
    rest: list[str] = []
    end = 0
    for match in _BLOCK.finditer(text):
        if _is_in_code(text, match.start()):
            continue
        body = next(group for group in match.groups() if group is not None)
        found = list(_find_calls(body, schemas))
        if not found:
            continue
        calls += [(name, arguments) for name, arguments in found if name in schemas]
        rest.append(text[end : match.start()])
        end = match.end()
    rest.append(text[end:])
    return ("".join(rest).strip() if end else text), calls


def find_marker(text: str, start: int = 0) -> int | None:
    """Return the position where the first written call may begin, or None."""
    for match in MARKER.finditer(text, start):
        if not _is_in_code(text, match.start()):
            return match.start()
    return None


def _is_in_code(text: str, at: int) -> bool:
    before = text[:at]
    line = before.rpartition("\n")[2].replace("```", "")
    return before.count("```") % 2 == 1 or line.count("`") % 2 == 1 or before.endswith(('"', "'"))


def _parse_whole_answer(text: str, schemas: Mapping[str, Mapping[str, Any]]) -> list[WrittenCall]:
    """Return the calls if they are the whole answer, bare or in a code block."""
    fenced = _FENCED.fullmatch(text)
    body = (fenced[1] if fenced else text).strip()
    body = body.removeprefix("Tool call:").strip()
    values = _parse_json_values(body)
    calls = [_parse_call(value) for value in values or ()]
    if calls and all(call is not None and call[0] in schemas for call in calls):
        return [call for call in calls if call is not None]
    return _parse_python_calls(body, schemas)


def _find_calls(body: str, schemas: Mapping[str, Mapping[str, Any]]) -> Iterator[WrittenCall]:
    values = _parse_json_values(body)
    if values:
        yield from (call for value in values if (call := _parse_call(value)) is not None)
        return
    found = False
    for pattern in (_MISTRAL_CALL, _DEEPSEEK_CALL, _KIMI_CALL):
        for match in pattern.finditer(body):
            arguments = _parse_first_object(body, match.end())
            if arguments is not None:
                found = True
                yield match["name"], arguments
    for pattern, parameter in (
        (_XML_FUNCTION, _XML_PARAMETER),
        (_INVOKE, _INVOKE_PARAMETER),
        (_GLM_CALL, _GLM_ARGUMENT),
    ):
        for match in pattern.finditer(body):
            arguments = _parse_first_object(match["body"], 0)
            if arguments is None:
                arguments = _convert_types(parameter.finditer(match["body"]), schemas.get(match["name"], {}))
            found = True
            yield match["name"], arguments
    if not found:
        yield from _parse_python_calls(body.strip(), schemas)


def _parse_json_values(text: str) -> list[Any] | None:
    """Parse a sequence of JSON values. Return None if the text contains anything else."""
    values: list[Any] = []
    at = 0
    while at < len(text):
        if text[at] in " \t\r\n;,":
            at += 1
            continue
        if text[at] not in "{[":
            return None
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return None
        values += value if isinstance(value, list) else [value]
    return values


def _parse_first_object(text: str, start: int) -> dict[str, Any] | None:
    at = start
    while at < len(text) and text[at].isspace():
        at += 1
    if text[at : at + 1] != "{":
        return None
    try:
        value, _end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _parse_call(value: object) -> WrittenCall | None:
    """Return the call that a JSON object describes, or None."""
    if not isinstance(value, dict):
        return None
    call: dict[str, Any] = value["function"] if isinstance(value.get("function"), dict) else value
    names = call.keys() - {"id", "type"}
    key = next((key for key in ("arguments", "parameters") if key in names), None)
    if key is None or names != {"name", key} or not isinstance(call["name"], str):
        return None
    arguments = call[key]
    if isinstance(arguments, str):
        arguments = _parse_first_object(arguments, 0)
    return (call["name"].removeprefix("functions."), arguments) if isinstance(arguments, dict) else None


def _convert_types(parameters: Iterator[re.Match[str]], schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties")
    arguments: dict[str, Any] = {}
    for parameter in parameters:
        name, value = parameter["name"].strip(), parameter["value"].strip("\n")
        described = properties.get(name) if isinstance(properties, dict) else None
        is_text = isinstance(described, dict) and described.get("type") == "string"
        arguments[name] = value if is_text else _parse_value(value)
    return arguments


def _parse_value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _parse_python_calls(text: str, schemas: Mapping[str, Mapping[str, Any]]) -> list[WrittenCall]:
    """Return the calls if the text consists only of Python calls of tools: `[search(query="bees")]`."""
    if not re.match(rf"\[?\s*(?:print\()?(?:default_api\.)?{_NAME}\(", text):
        return []
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    nodes = tree.elts if isinstance(tree, ast.List) else [tree]
    calls: list[WrittenCall] = []
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print" and node.args:
            node = node.args[0]  # noqa: PLW2901  # Gemma wraps calls in print().
        if not isinstance(node, ast.Call) or node.args:
            return []
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        try:
            arguments = {keyword.arg: ast.literal_eval(keyword.value) for keyword in node.keywords if keyword.arg}
        except (ValueError, TypeError, RecursionError, MemoryError):
            return []
        if name not in schemas or len(arguments) != len(node.keywords):
            return []
        calls.append((name, arguments))
    return calls
