"""Reply keyboards of the local Telegram: the conditions on their buttons, and the keyboard that a chat shows."""

from __future__ import annotations

from typing import Any

from tests.support.bot_api.chats import Chat
from tests.support.bot_api.params import JsonObject, create_bad_request

MAX_CHOSEN_PEOPLE = 10
_BUTTON_FIELDS = {"text", "request_users", "request_contact", "request_location", "web_app"}
_REQUEST_FIELDS = {
    "request_id": int,
    "user_is_bot": bool,
    "user_is_premium": bool,
    "max_quantity": int,
    "request_name": bool,
    "request_username": bool,
    "request_photo": bool,
}


def show_keyboard(chat: Chat, markup: JsonObject | None) -> None:
    """Show the reply keyboard of a sent message, or remove it, as its markup says. Refuse an invalid one."""
    if markup is None:
        return
    if "remove_keyboard" in markup:
        if markup["remove_keyboard"] is not True:
            raise create_bad_request("can't parse reply keyboard markup: remove_keyboard must be True")
        chat.keyboard = []
    elif "keyboard" in markup:
        chat.keyboard = _check_rows(chat, markup["keyboard"])
        chat.is_keyboard_one_time = markup.get("one_time_keyboard") is True


def choose_people(chat: Chat, label: str, people: dict[int, JsonObject]) -> JsonObject:
    """Choose people with a button and return the field of the message that says so."""
    button = next(button for button in chat.keyboard if button["text"] == label)
    request = button["request_users"]
    if len(people) > request.get("max_quantity", 1):
        problem = "more people than the button allows"
        raise ValueError(problem)
    if chat.is_keyboard_one_time:
        chat.keyboard = []
    wanted = [
        field
        for flag, fields in (("request_name", ("first_name", "last_name")), ("request_username", ("username",)))
        if request.get(flag)
        for field in fields
    ]
    users = [
        {"user_id": number} | {field: known[field] for field in wanted if field in known}
        for number, known in people.items()
    ]
    return {"request_id": request["request_id"], "user_ids": list(people), "users": users}


def _check_rows(chat: Chat, rows: Any) -> list[JsonObject]:
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise create_bad_request('field "keyboard" must be of type Array')
    buttons = [button for row in rows for button in row]
    for button in buttons:
        if not isinstance(button, dict) or not isinstance(button.get("text"), str) or not button["text"]:
            raise create_bad_request('can\'t parse keyboard button: field "text" must be a non-empty String')
        if unknown := button.keys() - _BUTTON_FIELDS:
            raise create_bad_request(f"unknown fields of a keyboard button: {', '.join(sorted(unknown))}")
        if "request_users" in button:
            _check_request(chat, button["request_users"])
    requests = [button["request_users"]["request_id"] for button in buttons if "request_users" in button]
    if len(requests) > len(set(requests)):
        raise create_bad_request("BUTTON_ID_INVALID")
    return buttons


def _check_request(chat: Chat, request: Any) -> None:
    if chat.chat_type != "private":
        raise create_bad_request("users can be requested in private chats only")
    if not isinstance(request, dict) or any(
        type(value) is not _REQUEST_FIELDS.get(field) for field, value in request.items()
    ):
        raise create_bad_request("can't parse keyboard button request_users")
    if not -(2**31) <= request.get("request_id", 2**31) < 2**31:
        raise create_bad_request("can't parse keyboard button request_users: request_id must be of type Int32")
    if not 1 <= request.get("max_quantity", 1) <= MAX_CHOSEN_PEOPLE:
        raise create_bad_request("BUTTON_USER_INVALID")
