"""The profile of the bot at the local Telegram: its menu, description and settings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.support.bot_api.params import JsonObject, create_bad_request
from tests.support.bot_api.text import utf16_length
from tests.support.bot_api.version_10 import Version10

_BOT_SETTINGS = frozenset(
    (
        "can_read_all_group_messages",
        "supports_guest_queries",
        "has_topics_enabled",
        "allows_users_to_create_topics",
    )
)
"""The parameters of setMySettings that Mneme uses, all of type Boolean."""
_SCOPES = frozenset(
    ("default", "all_private_chats", "all_group_chats", "all_chat_administrators", "chat", "chat_administrators")
)
"""The audiences of a menu; that of one member is left out."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command in the bot's menu."""

    command: str
    description: str
    ephemeral: bool = False


class Profile:
    """The bot's menu, description and settings, and the methods that change them."""

    def __init__(self, bot: JsonObject, newer: Version10) -> None:
        self.bot = bot
        self.newer = newer
        self.commands: dict[tuple[str, str], list[Command]] = {}
        self.about = {"description": "", "short_description": ""}
        self.about_in: dict[str, dict[str, str]] = {}
        self.menu_button: JsonObject = {"type": "default"}
        self.methods: dict[str, Callable[[JsonObject], Any]] = {
            "deleteMyCommands": self._delete_my_commands,
            "getMyCommands": self._get_my_commands,
            "getMyDescription": lambda params: self._get_about("description", params),
            "getMyShortDescription": lambda params: self._get_about("short_description", params),
            "setChatMenuButton": self._set_chat_menu_button,
            "setMyCommands": self._set_my_commands,
            "setMyDescription": lambda params: self._set_about("description", 512, params),
            "setMyShortDescription": lambda params: self._set_about("short_description", 120, params),
            "setMySettings": self._set_my_settings,
        }

    def _set_chat_menu_button(self, params: JsonObject) -> bool:
        button = params.get("menu_button") or {"type": "default"}
        if not isinstance(button, dict) or button.get("type") not in ("default", "commands", "web_app"):
            raise create_bad_request("can't parse MenuButton: unsupported type")
        if button["type"] == "web_app":
            page = button.get("web_app")
            if (
                not button.get("text")
                or not isinstance(page, dict)
                or not str(page.get("url", "")).startswith("https://")
            ):
                raise create_bad_request("BUTTON_URL_INVALID")
        self.menu_button = button
        return True

    def _set_my_commands(self, params: JsonObject) -> bool:
        commands = params.get("commands")
        if not isinstance(commands, list):
            raise create_bad_request("can't parse commands JSON object")
        if len(commands) > 100:
            raise create_bad_request("BOT_COMMANDS_TOO_MUCH")
        self.commands[_parse_audience(params)] = [_parse_command(command) for command in commands]
        return True

    def _get_my_commands(self, params: JsonObject) -> list[JsonObject]:
        known = self.commands.get(_parse_audience(params), [])
        return [
            {"command": item.command, "description": item.description}
            | ({"is_ephemeral": True} if item.ephemeral and self.newer.served else {})
            for item in known
        ]

    def _delete_my_commands(self, params: JsonObject) -> bool:
        self.commands.pop(_parse_audience(params), None)
        return True

    def _set_my_settings(self, params: JsonObject) -> bool:
        if unknown := params.keys() - _BOT_SETTINGS:
            raise create_bad_request(f"unknown parameters: {', '.join(sorted(unknown))}")
        self.bot |= params
        return True

    def _set_about(self, what: str, longest: int, params: JsonObject) -> bool:
        said = str(params.get(what, ""))
        if utf16_length(said) > longest:
            raise create_bad_request(f"bot {what.replace('_', ' ')} is too long")
        language = _parse_language(params)
        if language:
            self.about_in.setdefault(language, {})[what] = said
        else:
            self.about[what] = said
        return True

    def _get_about(self, what: str, params: JsonObject) -> JsonObject:
        return {what: self.about_in.get(_parse_language(params), {}).get(what) or self.about[what]}


def _parse_command(value: Any) -> Command:
    if not isinstance(value, dict):
        raise create_bad_request("can't parse BotCommand: expected an Object")
    name, description = value.get("command"), value.get("description")
    if not isinstance(name, str) or not re.fullmatch(r"/?[a-z0-9_]{1,32}", name):
        raise create_bad_request("BOT_COMMAND_INVALID")
    if not isinstance(description, str) or not 1 <= len(description) <= 256:
        raise create_bad_request("BOT_COMMAND_DESCRIPTION_INVALID")
    ephemeral = value.get("is_ephemeral", False)
    if not isinstance(ephemeral, bool):
        raise create_bad_request("can't parse BotCommand: is_ephemeral must be of type Boolean")
    return Command(name.removeprefix("/"), description, ephemeral)


def _parse_audience(params: JsonObject) -> tuple[str, str]:
    scope = params.get("scope") or {"type": "default"}
    if not isinstance(scope, dict) or scope.get("type") not in _SCOPES:
        raise create_bad_request("can't parse BotCommandScope: Unsupported type specified")
    return json.dumps(scope, sort_keys=True), _parse_language(params)


def _parse_language(params: JsonObject) -> str:
    """Return the language of a request, or an empty text for the default."""
    code = str(params.get("language_code") or "")
    if code and not re.fullmatch(r"[a-z]{2}", code):
        raise create_bad_request("invalid language code specified")
    return code
