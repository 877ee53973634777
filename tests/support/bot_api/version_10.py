"""The features of Bot API 10 that Mneme uses: ephemeral messages, guest queries, rich messages."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

from tests.support.bot_api.chats import Chat, Chats, check_markup, fill_markup, fill_text
from tests.support.bot_api.params import ApiError, JsonObject, create_bad_request, read_integer
from tests.support.bot_api.text import check_text, formatted_text, parse_entities

MAX_RICH_CHARS = 32_768
_OF_EPHEMERAL = {"chat_id", "receiver_user_id", "ephemeral_message_id", "reply_markup"}
_PARAMETERS = {
    "answerGuestQuery": {"guest_query_id", "result"},
    "editEphemeralMessageText": _OF_EPHEMERAL | {"text", "entities", "link_preview_options"},
    "editEphemeralMessageReplyMarkup": _OF_EPHEMERAL,
    "sendRichMessage": {
        "chat_id",
        "message_thread_id",
        "disable_notification",
        "reply_parameters",
        "reply_markup",
        "rich_message",
    },
}
"""The parameters that Mneme uses, by method. Requests with other parameters are refused."""


_PICTURE = re.compile(r"(?<!\\)!\[")
"""Markdown that makes Telegram fetch a picture. Code blocks are not excluded, as the tests have no such code."""


def read_rich_content(params: JsonObject) -> str:
    """Return the Markdown of a rich message in a request."""
    content = params.get("rich_message")
    known = {"markdown": str, "is_rtl": bool, "skip_entity_detection": bool}
    if not isinstance(content, dict) or any(not isinstance(v, known.get(k, ())) for k, v in content.items()):
        raise create_bad_request("can't parse rich message JSON object")
    markdown = str(content.get("markdown", ""))
    if not markdown.strip():
        raise create_bad_request("rich message must be non-empty")
    if len(markdown) > MAX_RICH_CHARS:
        raise create_bad_request("RICH_MESSAGE_TOO_LONG")
    if _PICTURE.search(markdown):
        raise create_bad_request("RICH_MESSAGE_MEDIA_INVALID")
    return markdown


class Version10:
    """The methods and parameters of Bot API 10.

    Attributes:
        served: Whether this server supports Bot API 10. If not, it ignores the new parameters.
        actions: User ids by the id of their callback query or ephemeral message in the last 15 seconds.
        guest_queries: The answers to guest queries, by query id. Empty if not answered yet.
        methods: The new methods by name.
    """

    def __init__(self, chats: Chats) -> None:
        self.served = True
        self.actions: dict[str, int] = {}
        self.guest_queries: dict[str, str] = {}  # what each was answered by, empty before
        self._chats = chats
        self.methods: dict[str, Callable[[JsonObject], Any]] = {
            "answerGuestQuery": self._answer_guest_query,
            "editEphemeralMessageReplyMarkup": self._edit_ephemeral_reply_markup,
            "editEphemeralMessageText": self._edit_ephemeral_text,
        }

    def check(self, method: str, params: JsonObject) -> None:
        """Refuse a method of a newer Bot API, or a parameter that the method doesn't have."""
        known = _PARAMETERS.get(method)
        if known is None:
            return
        if not self.served:
            raise ApiError(404, "Not Found")
        if unknown := params.keys() - known:
            raise create_bad_request(f"unknown parameters: {', '.join(sorted(unknown))}")

    def _answer_guest_query(self, params: JsonObject) -> JsonObject:
        query, result = str(params.get("guest_query_id")), params.get("result")
        if not isinstance(result, dict) or result.get("type") != "article" or not result.get("title"):
            raise create_bad_request("can't parse inline query result: expected an article")
        if not 1 <= len(str(result.get("id", "")).encode()) <= 64:
            raise create_bad_request("RESULT_ID_INVALID")
        content = result.get("input_message_content")
        known = {"message_text", "entities", "link_preview_options"}
        if not isinstance(content, dict) or content.keys() - known:
            raise create_bad_request("can't parse inline query result: unknown input_message_content")
        kept = check_text(parse_entities(str(content.get("message_text", "")), content.get("entities", [])))
        if self.guest_queries.get(query, "answered"):
            raise create_bad_request("query is too old and response timeout expired or query ID is invalid")
        self.guest_queries[query] = kept.text
        return {"inline_message_id": f"BAAAA{query}"}

    def put(self, chat: Chat, message: JsonObject, params: JsonObject) -> JsonObject:
        """Add the message to its chat, public or ephemeral."""
        reply = params.get("reply_parameters", {})
        if not self.served or "ephemeral_message_parameters" not in params:
            if "ephemeral_message_id" in reply and self.served:
                raise create_bad_request("MESSAGE_ID_INVALID")  # what answers it is for one person, too
            return chat.put(message)
        receiver = self._find_receiver(chat, params["ephemeral_message_parameters"], reply)
        return chat.put_ephemeral(message, {"id": receiver, "is_bot": False, "first_name": "Ann"})

    def _find_receiver(self, chat: Chat, wanted: Any, reply: JsonObject) -> int:
        """Return the receiver. Without admin rights, the message must follow an action within 15 seconds."""
        types = {"receiver_user_id": int, "callback_query_id": str, "replace_callback_query_message": bool}
        if not isinstance(wanted, dict) or any(not isinstance(v, types.get(k, ())) for k, v in wanted.items()):
            raise create_bad_request("can't parse ephemeral message parameters JSON object")
        receiver = wanted.get("receiver_user_id")
        if receiver is None:
            raise create_bad_request("invalid receiver_user_id specified")
        if chat.chat_type == "private":
            raise create_bad_request("PEER_ID_INVALID")
        if receiver not in chat.list_members():
            raise create_bad_request("USER_NOT_PARTICIPANT")
        causes = {wanted.get("callback_query_id"), reply.get("ephemeral_message_id")} - {None}
        for cause in causes:
            if self.actions.get(str(cause)) != receiver:
                raise create_bad_request("QUERY_ID_INVALID" if isinstance(cause, str) else "MESSAGE_ID_INVALID")
        if not causes and not chat.bot_is_administrator:
            raise create_bad_request("CHAT_ADMIN_REQUIRED")
        return int(receiver)

    def _edit_ephemeral_text(self, params: JsonObject) -> bool:
        chat, message = self._find_ephemeral(params)
        kept = check_text(formatted_text(params), too_long="MESSAGE_TOO_LONG")
        filled = fill_text(message, kept, check_markup(params.get("reply_markup")))
        chat.ephemeral[message["ephemeral_message_id"]] = filled | {"edit_date": int(time.time())}
        return True

    def _edit_ephemeral_reply_markup(self, params: JsonObject) -> bool:
        chat, message = self._find_ephemeral(params)
        filled = fill_markup(message, check_markup(params.get("reply_markup")))
        chat.ephemeral[message["ephemeral_message_id"]] = filled
        return True

    def _find_ephemeral(self, params: JsonObject) -> tuple[Chat, JsonObject]:
        """Return the ephemeral message that a request refers to."""
        chat = self._chats.get_named(params)
        message = chat.ephemeral.get(read_integer(params, "ephemeral_message_id"))
        receiver = params.get("receiver_user_id")
        if message is None or not message["from"]["is_bot"] or message["receiver_user"]["id"] != receiver:
            raise create_bad_request("MESSAGE_ID_INVALID")
        return chat, message
