"""Decides what to change in a request after a server has refused it.

An optional part that the refusal names is left out from then on. If it names none, the request is changed step by step:
no optional parameters, earlier tool calls as plain text, an order of roles that strict templates accept, no images. The
system message, the conversation and the tools always stay.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.models.capabilities import NOTHING, Adjustments, Part
from pipeline.models.chat_completions import make_tool_key
from pipeline.models.complaints import Complaint, has_match
from pipeline.models.model import ToolSpec

NO_REFUSALS = frozenset((401, 402, 403, 408, 409, 413, 429))
"""Statuses with other reasons than a part of the request."""
BAD_REQUEST = frozenset((400, 422, 501))

OPTIONAL = frozenset(
    (
        Part.STREAM_OPTIONS,
        Part.REASONING_EFFORT,
        Part.RESPONSE_FORMAT,
        Part.TEMPERATURE,
        Part.MAX_TOKENS,
        Part.MAX_COMPLETION_TOKENS,
        Part.INCLUDE,
        Part.CACHE_KEY,
        Part.CACHE_MARKS,
        Part.TOOL_CHOICE,
    )
)
_GENTLEST_FIRST = (Part.LATER_SYSTEM, Part.SAME_ROLE, Part.SYSTEM)
_STEPS: tuple[frozenset[Part], ...] = (
    OPTIONAL,
    frozenset((Part.EMPTY_TEXT, Part.PROVIDER_DATA, Part.OTHERS_CALLS, Part.EARLIER_CALLS)),
    frozenset(_GENTLEST_FIRST),
    frozenset((Part.IMAGES,)),
)

_WORDS = {
    Part.STREAM_OPTIONS: r"stream[_ ]options|include_usage",
    Part.REASONING_EFFORT: r"reasoning[_ .]effort|thinking|think\b",
    Part.RESPONSE_FORMAT: r"response[_ ]format|json_object|json mode|structured output",
    Part.TEMPERATURE: r"temperature",
    Part.IMAGES: r"image_url|\b(?:images?|vision|multimodal|pictures?|mmproj)\b",
    Part.MAX_TOKENS: r"\bmax_tokens\b|max_output_tokens",
    Part.MAX_COMPLETION_TOKENS: r"max_completion_tokens",
    Part.INCLUDE: r"encrypted[_ ]content|\binclude\b",
    Part.CACHE_KEY: r"prompt_cache_key",
    Part.CACHE_MARKS: r"cache_control",
    Part.TOOL_CHOICE: r"tool_choice",
    # Other mentions of tools may be about a call in the history or about a single schema.
    Part.TOOLS: r"support\w*\W+(?:\w+\W+){0,4}(?:tools?|functions?|tool use|function calling)\b(?!\W+with\b)"
    r"|\btools?\b(?=.{0,60}(?:not (?:support|permit|allow|enable|implement)|requir|unrecogn|unknown|unsupport|extra))"
    r"|(?:unrecogn|unknown|unsupport|extra).{0,60}\btools?\b",
}
_PARAMS = {
    "reasoning": Part.REASONING_EFFORT,
    "thinking": Part.REASONING_EFFORT,
    "text": Part.RESPONSE_FORMAT,
    "max_output_tokens": Part.MAX_TOKENS,
}
# Errors of chat templates about roles and their order. Some servers report these as internal errors, or in the stream.
_ROLES = r"\broles?\b|alternat|(?:system|developer) (?:message|prompt|instruction|role)|jinja|template|raise_exception"
_EMPTY_TEXT = r"(?:non-?empty|non-whitespace|empty|blank|at least one character|min(?:imum)? length)"
_REASONING_NAMES = (
    r"reasoning_content|thought_signature|reasoning_details|extra_content|reasoning item|encrypted_content"
)
_UNKNOWN = (
    r"unknown|unrecogni|unexpected|extra (?:field|input)|not permitted|not allowed|unsupported|forbidden|invalid field"
)
_EFFORT_NONE = r"tools.{0,60}reasoning|reasoning.{0,80}tools"
# Gemini puts all functions into one tool.
_TOOL_PATHS = (r"function_?declarations[\[.](\d+)", r"tools[\[.](\d+)")
_SCHEMA_WORDS = r"schema|parameters|properties|items|function|tool"
# These words are about a single image, not about images in general.
_ONE_PICTURE = r"process|invalid|corrupt|decod|broken|too (?:large|small)|format|download"


@dataclass(frozen=True, slots=True)
class Remedy:
    """The adjustments for the next attempt. The parts in `lasting` are stored, since the server always refuses them."""

    adjustments: Adjustments
    lasting: Adjustments = NOTHING


def find_remedy(
    complaint: Complaint, present: Sequence[Part], tools: Sequence[ToolSpec], sent: Adjustments
) -> Remedy | None:
    """Return the adjustments for the next attempt, or None if nothing is left to try.

    Args:
        present: The optional parts of the refused body.
        tools: Its tools.
        sent: Its adjustments.
    """
    named = _find_part_remedy(complaint, present, tools, sent)
    if named is not None:
        return named
    if complaint.status not in BAD_REQUEST or _get_first_name(complaint.param) == "model":
        return None
    for step in _STEPS:
        fresh = step & set(present)
        if fresh and not fresh <= sent.without:
            return Remedy(sent.plus(*step))
    return None


def _find_part_remedy(
    complaint: Complaint, present: Sequence[Part], tools: Sequence[ToolSpec], sent: Adjustments
) -> Remedy | None:
    text = f"{complaint.message} {complaint.text}"
    if complaint.wants_responses or (has_match(_EFFORT_NONE, complaint.message) and tools):
        if (
            Part.CHAT_COMPLETIONS not in sent.without
            and Part.RESPONSES not in sent.without
            and complaint.wants_responses
        ):
            return _create_lasting_remedy(sent, Part.CHAT_COMPLETIONS)
        if tools and Part.DEFAULT_EFFORT not in sent.without:
            return _create_lasting_remedy(sent, Part.DEFAULT_EFFORT)
    if Part.EARLIER_CALLS in present and has_match(_REASONING_NAMES, text):
        return _find_provider_data_remedy(text, present, sent)
    bad_tool = _find_bad_tool(complaint, tools)
    if bad_tool is not None:
        made = Adjustments(bad_tools=frozenset({make_tool_key(bad_tool)}))
        return Remedy(sent | made, made)
    part = _find_named_part(complaint, [part for part in present if part not in sent.without])
    if part is None:
        return None
    # A single broken image doesn't mean that the model refuses all images.
    if part is Part.IMAGES and has_match(_ONE_PICTURE, complaint.message):
        return Remedy(sent.plus(part))
    return _create_lasting_remedy(sent, part)


def _find_named_part(complaint: Complaint, present: Sequence[Part]) -> Part | None:
    said = complaint.message or complaint.text
    base = _get_first_name(complaint.param)
    if base and base not in ("messages", "input", "body"):
        named = _PARAMS.get(base) or next((part for part in Part if part.value == base), None)
        if named in present:
            return named
        if named is None:
            return None
    if Part.EMPTY_TEXT in present and has_match(r"text|content", said) and has_match(_EMPTY_TEXT, said):
        return Part.EMPTY_TEXT
    found = {part: re.search(words, said, re.IGNORECASE) for part, words in _WORDS.items() if part in present}
    places = {part: match.start() for part, match in found.items() if match}
    if places:
        return min(places, key=lambda part: places[part])
    if has_match(_ROLES, said):
        return next((part for part in _GENTLEST_FIRST if part in present), None)
    return None


def _find_provider_data_remedy(text: str, present: Sequence[Part], sent: Adjustments) -> Remedy | None:
    if has_match(_UNKNOWN, text):
        return _create_lasting_remedy(sent, Part.PROVIDER_DATA) if Part.PROVIDER_DATA in present else None
    if Part.OTHERS_CALLS not in sent.without:
        return _create_lasting_remedy(sent, Part.OTHERS_CALLS)
    if Part.EARLIER_CALLS not in sent.without:
        return Remedy(sent.plus(Part.EARLIER_CALLS))
    return None


def _find_bad_tool(complaint: Complaint, tools: Sequence[ToolSpec]) -> ToolSpec | None:
    for said in (complaint.param or "", complaint.message, complaint.text):
        match = next((match for path in _TOOL_PATHS if (match := re.search(path, said, re.IGNORECASE))), None)
        if match and int(match[1]) < len(tools):
            return tools[int(match[1])]
    if not has_match(_SCHEMA_WORDS, complaint.message):
        return None
    named = [tool for tool in tools if re.search(rf"['\"`]{re.escape(tool.name)}['\"`]", complaint.message)]
    return named[0] if len(named) == 1 else None


def _get_first_name(param: str | None) -> str:
    return re.split(r"[.\[]", param or "")[0]


def _create_lasting_remedy(sent: Adjustments, part: Part) -> Remedy:
    return Remedy(sent.plus(part), Adjustments(frozenset({part})))
