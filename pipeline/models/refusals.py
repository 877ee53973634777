"""Parses the errors of model servers, and decides what to change in a request after a refusal.

An optional part that the refusal names is left out from then on. If it names none, the request is changed step by step:
no optional parameters, earlier tool calls as plain text, an order of roles that strict templates accept, no images. The
system message, the conversation and the tools always stay.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pipeline.models.capabilities import NOTHING, Adjustments, Part
from pipeline.models.chat_completions import make_tool_key
from pipeline.models.model import ToolSpec

MAX_ERROR_CHARS = 4000
"""How much of an error body is read. The rest usually quotes the request."""
MIN_QUOTE_CHARS = 16
"""Shorter passages that also occur in the request don't count as quotes."""
MAX_REASON_CHARS = 300

_OVERFLOW = (
    r"context[_ ](?:length|size|window|limit)|maximum (?:context|model|prompt|input) length"
    r"|max(?:imum)? (?:length|number of tokens)|n_ctx|exceed_context|tokens_limit_reached|token limit|token count"
    r"|(?:prompt|input|inputs|message|request)s?\b.{0,60}\b(?:too (?:long|large|big|many)|longer than|larger than)"
    r"|too many (?:input |prompt |total )?tokens|exceed\w*.{0,60}\b(?:tokens?|context|max length)"
    r"|tokens?\b.{0,80}\b(?:exceed|must be <=|limit of|larger than|too)"
    r"|reduce (?:the|your) (?:length|message|prompt|input)|range of input length|tokens to keep from the initial prompt"
    r"|string_above_max_length|request_too_large|prompt_too_long"
)
# About the length of the answer, not of the request.
_ANSWER_LIMIT = r"max_(?:completion_|output_|new_)?tokens\b.{0,40}\b(?:too large|at most|less than|greater)"
_FILTER = (
    r"content[_ -]?(?:filter|policy|management)|responsibleaipolicy|content exists risk|data_inspection_failed"
    r"|prohibited_content|inappropriate content|usage guidelines|usage polic|safety (?:system|filter|setting)"
    r"|\bflagged\b|moderation|sensitive content|new_sensitive|considered high risk|unsafe content"
    r"|blocked by.{0,20}(?:filter|safety)|不安全或敏感|敏感内容|data may contain inappropriate"
)
_WANTS_RESPONSES = (
    r"(?:use|only|supported|via|through).{0,60}(?:v1/responses|responses api|/responses\b)"
    r"|(?:v1/responses|responses api).{0,40}(?:instead|only)"
)
_NO_CREDIT = r"insufficient_quota|insufficient (?:balance|credits?|funds)|billing|payment required"

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
class Complaint:
    """An error of a server.

    Attributes:
        status: The HTTP status. None if the error came in a stream.
        message: The provider's message.
        param: The part of the request that the error names, often a path such as `tools[17].function.parameters`.
        code: The provider's code for the error.
        text: The beginning of the body, which may quote the request.
    """

    status: int | None
    message: str
    param: str | None = None
    code: str | None = None
    text: str = ""

    @property
    def _searched_text(self) -> str:
        return f"{self.code or ''} {self.message}" if self.message else self.text

    @property
    def is_overflow(self) -> bool:
        # A 429 mentions tokens too: those that the account may use per minute.
        is_about_answer = has_match(_ANSWER_LIMIT, self._searched_text) and "context" not in self._searched_text.lower()
        if self.status == 429 or is_about_answer:
            return False
        return self.status == 413 or has_match(_OVERFLOW, self._searched_text)

    @property
    def is_filter(self) -> bool:
        return self.status not in (401, 402, 429) and has_match(_FILTER, self._searched_text)

    @property
    def wants_responses(self) -> bool:
        return has_match(_WANTS_RESPONSES, self._searched_text)

    @property
    def is_no_credit(self) -> bool:
        return self.status == 402 or has_match(_NO_CREDIT, self._searched_text)

    def remove_quotes(self, texts: Iterable[str]) -> Complaint:
        """Return the complaint without passages that quote the request, since errors are logged and shown."""
        message = self.message[:MAX_ERROR_CHARS]
        said = "\n".join(texts)
        quoted = [False] * len(message)
        for at in range(len(message) - MIN_QUOTE_CHARS + 1):
            if message[at : at + MIN_QUOTE_CHARS] in said:
                quoted[at : at + MIN_QUOTE_CHARS] = [True] * MIN_QUOTE_CHARS
        shown = "".join("\0" if is_quoted else char for char, is_quoted in zip(message, quoted, strict=True))
        return replace(self, message=re.sub("\0+", "…", shown))

    @property
    def reason(self) -> str:
        """The provider's message in one line, for the user."""
        line = " ".join(self.message.split()) or self.code or f"error {self.status}"
        return line if len(line) <= MAX_REASON_CHARS else f"{line[: MAX_REASON_CHARS - 1]}…"


def has_match(pattern: str, text: str) -> bool:
    """Return True if the text contains a match. Case is ignored."""
    # Not compiled at import, since most runs of the program never see an error.
    return re.search(pattern, text, re.IGNORECASE | re.DOTALL) is not None


def read_complaint(status: int | None, body: str) -> Complaint:
    """Parse the body of an error: JSON of several shapes, or plain text."""
    body = body[: MAX_ERROR_CHARS * 4]
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        text = body.strip()[:MAX_ERROR_CHARS]
        # A web page, for example of a proxy, doesn't help the user.
        return Complaint(status, "" if text.startswith("<") else text, text=text)
    return find_complaint(value, status) or Complaint(status, "", text=body[:MAX_ERROR_CHARS])


def find_complaint(value: object, status: int | None = None) -> Complaint | None:
    if isinstance(value, list):  # Gemini: [{"error": {...}}]
        return next((found for item in value if (found := find_complaint(item, status))), None)
    if not isinstance(value, dict):
        return None
    error = value.get("error")
    base = value.get("base_resp")
    if isinstance(error, list | dict) and error:
        inner = error[0] if isinstance(error, list) else error
        found = _parse_complaint(inner, status) if isinstance(inner, dict) else Complaint(status, str(inner))
    elif isinstance(error, str) and error:
        found = _parse_complaint(value | {"message": value.get("message") or error}, status)
    elif isinstance(base, dict) and base.get("status_code"):  # MiniMax, with status 200 as well
        found = Complaint(status, str(base.get("status_msg") or ""), code=str(base["status_code"]))
    elif value.get("detail"):
        found = _parse_detail(value["detail"], status)
    elif value.get("object") == "error" or ("message" in value and "choices" not in value and status):
        found = _parse_complaint(value, status)
    elif isinstance(value.get("errors"), list | dict) and status:
        found = Complaint(status, json.dumps(value["errors"], ensure_ascii=False)[:MAX_ERROR_CHARS])
    else:
        return None
    text = json.dumps(value, ensure_ascii=False)[:MAX_ERROR_CHARS]
    return Complaint(found.status, found.message, found.param, found.code, text)


def _parse_complaint(error: dict[str, object], status: int | None) -> Complaint:
    message, param = error.get("message") or error.get("msg"), error.get("param")
    code = error.get("code") or error.get("type")
    metadata = error.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("raw"), str):  # OpenRouter quotes the original provider.
        inner = read_complaint(status, str(metadata["raw"]))
        message, param = f"{message}: {inner.message}" if inner.message else message, param or inner.param
    if isinstance(message, dict | list):
        nested = find_complaint(message, status)
        message = nested.message if nested else json.dumps(message, ensure_ascii=False)
    # In a stream, the error itself contains the status.
    if status is None and isinstance(code, int) and 400 <= code < 600:
        status = code
    return Complaint(status, str(message or ""), str(param) if param else None, str(code) if code is not None else None)


def _parse_detail(detail: object, status: int | None) -> Complaint:
    """Parse an error of FastAPI: a text, or a list of `{"loc": ["body", "messages", 3], "msg": ...}`."""
    if isinstance(detail, list) and detail and isinstance(detail[0], dict):
        place = detail[0].get("loc")
        names = [str(part) for part in place if part != "body"] if isinstance(place, list) else []
        return Complaint(status, str(detail[0].get("msg") or ""), ".".join(names) or None, str(detail[0].get("type")))
    if isinstance(detail, dict):
        return find_complaint(detail, status) or _parse_complaint(detail, status)
    return Complaint(status, str(detail))


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
