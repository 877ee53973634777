"""Parses the errors of model servers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

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
