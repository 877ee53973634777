"""Parsing of Bot API parameters: query string, urlencoded, multipart, JSON, or several."""

from __future__ import annotations

import json
from dataclasses import dataclass
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

from tests.support.servers.web import Request

JsonObject: TypeAlias = dict[str, Any]

_NUMBERS = frozenset(
    [
        "chat_id",
        "user_id",
        "message_id",
        "receiver_user_id",
        "ephemeral_message_id",
        "message_thread_id",
        "reply_to_message_id",
        "draft_id",
        "offset",
        "limit",
        "timeout",
        "max_connections",
        "cache_time",
    ]
)
_FLAGS = frozenset(
    [
        "disable_notification",
        "protect_content",
        "allow_sending_without_reply",
        "drop_pending_updates",
        "show_alert",
        "is_big",
        "disable_web_page_preview",
        "can_stop",
        "keep_on_stop",
        "can_read_all_group_messages",
        "supports_guest_queries",
        "has_topics_enabled",
        "allows_users_to_create_topics",
    ]
)
_JSON = frozenset(
    [
        "entities",
        "caption_entities",
        "reply_markup",
        "reply_parameters",
        "allowed_updates",
        "commands",
        "scope",
        "link_preview_options",
        "menu_button",
        "reaction",
        "ephemeral_message_parameters",
        "result",
        "rich_message",
    ]
)


@dataclass(frozen=True, slots=True)
class Upload:
    """A file in a request."""

    name: str
    content: bytes


class ApiError(Exception):
    """An error response of the Bot API."""

    def __init__(
        self, code: int, description: str, *, retry_after: int | None = None, moved_to: int | None = None
    ) -> None:
        super().__init__(f"{code} {description}")
        self.code = code
        self.description = description
        self.retry_after = retry_after
        self.moved_to = moved_to

    def as_json(self) -> JsonObject:
        """Return the response body."""
        body: JsonObject = {"ok": False, "error_code": self.code, "description": self.description}
        if self.retry_after is not None:
            body["parameters"] = {"retry_after": self.retry_after}
        if self.moved_to is not None:
            body["parameters"] = {"migrate_to_chat_id": self.moved_to}
        return body


def create_bad_request(reason: str) -> ApiError:
    """Return the error for an invalid request."""
    return ApiError(400, f"Bad Request: {reason}")


def read_params(request: Request) -> JsonObject:
    """The decoded parameters: numbers, flags and JSON with their types, others as text."""
    try:
        raw = _read_query(request) | _read_body(request)
        params = {name: _decode(name, value) for name, value in raw.items()}
        # json.loads accepts lone surrogates. Encoding the values raises UnicodeError for them.
        json.dumps(params, ensure_ascii=False, default=str).encode()
    except UnicodeError as error:
        raise create_bad_request("strings must be encoded in UTF-8") from error
    return params


def read_integer(params: JsonObject, name: str, default: int = 0) -> int:
    """Return an integer parameter, or the default if it is missing or invalid."""
    value = params.get(name)
    return value if isinstance(value, int) else default


def _read_query(request: Request) -> JsonObject:
    query = request.target.partition("?")[2]
    return dict(parse_qsl(query, keep_blank_values=True, errors="strict"))


def _read_body(request: Request) -> JsonObject:
    kind = request.content_type.partition(";")[0].strip().lower()
    if kind == "application/x-www-form-urlencoded":
        return dict(parse_qsl(request.body.decode(), keep_blank_values=True, errors="strict"))
    if kind == "multipart/form-data":
        return read_form(request)
    if kind == "application/json" and request.body:
        try:
            values = json.loads(request.body)
        except json.JSONDecodeError as error:
            raise create_bad_request("can't parse JSON object") from error
        if not isinstance(values, dict):
            raise create_bad_request("can't parse JSON object")
        return values
    return {}


def read_form(request: Request) -> JsonObject:
    """Parse the fields of a multipart form."""
    head = f"Content-Type: {request.content_type}\r\n\r\n".encode()
    form = BytesParser(policy=HTTP).parsebytes(head + request.body)
    fields: JsonObject = {}
    for part in form.iter_parts():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if isinstance(name, str) and isinstance(content, bytes):
            file_name = part.get_filename()
            fields[name] = content.decode() if file_name is None else Upload(file_name, content)
    # An attached file is a separate part. The parameter refers to it as `attach://name`.
    return {name: fields.get(str(value).removeprefix("attach://"), value) for name, value in fields.items()}


def _decode(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if name in _FLAGS:
        return value.lower() in {"true", "yes", "1"}
    if name in _NUMBERS:
        return int(value) if value.removeprefix("-").isdecimal() else value
    if name in _JSON:
        try:
            return json.loads(value)
        except json.JSONDecodeError:
            # left as text for the method to refuse
            return value
    return value
