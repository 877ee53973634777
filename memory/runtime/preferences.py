"""Preferences of each chat: language, time zone, notices, voice, layout and model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from config.texts import SOURCE
from memory.store.database import Database, Row


class Notices(StrEnum):
    """Messages that are not answers: with a sound, silent, or none."""

    ON = "on"
    QUIET = "quiet"
    OFF = "off"


class VoiceReplies(StrEnum):
    """Which answers are spoken, if speech synthesis is available. AUTO speaks answers to voice messages."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Preferences:
    """The choices of a chat. None means no choice.

    Attributes:
        language: The language chosen in the chat.
        client_language: The language of the user's app.
        zone: An IANA time zone.
        model: The name of a configured model.
        tools: Permissions of tools that ask first, as JSON.
        toolless: The model without tool support that the chat was warned about.
        persona: The character of the bot in the chat.
        rich: Whether to use tables and other layout, if the channel's apps support it.
    """

    language: str | None = None
    client_language: str | None = None
    zone: str | None = None
    notices: Notices | None = None
    voice: VoiceReplies = VoiceReplies.AUTO
    model: str | None = None
    tools: str | None = None
    toolless: str | None = None
    rich: bool = False
    persona: str | None = None


_NAMES = [field.name for field in fields(Preferences)]
_KEEP = (
    f"INSERT INTO preferences (chat, {', '.join(_NAMES)}) VALUES (?{', ?' * len(_NAMES)}) ON CONFLICT (chat)"
    f" DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _NAMES)}"
)
_LEARN_LANGUAGE = (
    "INSERT INTO preferences (chat, client_language) VALUES (?, ?) ON CONFLICT (chat)"
    " DO UPDATE SET client_language = excluded.client_language"
)


class PreferenceStore:
    """Preferences by chat (`Address.owner`), for all its topics. They are cached, since nothing else writes them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, Preferences] = {}

    async def load(self) -> None:
        """Read the preferences of all chats into the cache, for the synchronous `get_cached`."""
        for row in await self._database.rows("SELECT * FROM preferences"):
            self._known.setdefault(row["chat"], _preferences_from_row(row))

    def get_cached(self, chat: str) -> Preferences:
        return self._known.get(chat, Preferences())

    async def get(self, chat: str) -> Preferences:
        return (await self.get_all([chat]))[chat]

    async def get_all(self, chats: Iterable[str]) -> dict[str, Preferences]:
        by_chat = {chat: self._known.get(chat) for chat in chats}
        unread = [chat for chat, chosen in by_chat.items() if chosen is None]
        if unread:
            query = "SELECT * FROM preferences WHERE chat IN (SELECT value FROM json_each(?))"
            rows = {
                row["chat"]: _preferences_from_row(row)
                for row in await self._database.rows(query, (json.dumps(unread),))
            }
            by_chat |= {chat: self._known.setdefault(chat, rows.get(chat, Preferences())) for chat in unread}
        return {chat: chosen for chat, chosen in by_chat.items() if chosen is not None}

    async def change(self, chat: str, **changes: Any) -> Preferences:  # Like dataclasses.replace.
        before = await self.get(chat)
        after = replace(before, **changes)
        if after != before:
            await self._database.write(_KEEP, (chat, *(getattr(after, name) for name in _NAMES)))
            self._known[chat] = after
        return after

    async def learn_languages(self, client_languages: Mapping[str, str]) -> None:
        """Store the app languages of chats, in one write with priority."""
        async with self._database.transaction(first=True) as connection:
            await connection.executemany(_LEARN_LANGUAGE, list(client_languages.items()))
        for chat, code in client_languages.items():
            if chat in self._known:
                self._known[chat] = replace(self._known[chat], client_language=code)

    def forget(self, *chats: str) -> None:
        """Drop chats from the cache after another writer has changed them."""
        for chat in chats:
            self._known.pop(chat, None)

    async def get_language(self, chat: str) -> str:
        preferences = await self.get(chat)
        return preferences.language or preferences.client_language or SOURCE


class Zones:
    """Returns the time zone of a chat: the chosen one, or else the installation's.

    PreferenceStore.load must have been called. A memory that all chats share has no chat and gets the default.
    """

    def __init__(self, preferences: PreferenceStore, default: ZoneInfo) -> None:
        self._preferences = preferences
        self._default = default

    def has_chosen(self, owner: str) -> bool:
        return self._get_chosen(owner) is not None

    def _get_chosen(self, owner: str) -> str | None:
        return self._preferences.get_cached(get_chat(owner)).zone

    def __call__(self, owner: str) -> ZoneInfo:
        """Return the zone of a chat, given the name of the chat, its session or its owner."""
        zone = self._get_chosen(owner)
        try:
            return ZoneInfo(zone) if zone is not None else self._default
        except (ZoneInfoNotFoundError, ValueError):  # Unknown to this machine's time zone database.
            return self._default


class NoticeSettings:
    def __init__(self, preferences: PreferenceStore, default: Notices) -> None:
        self._preferences = preferences
        self._default = default

    def __call__(self, owner: str) -> Notices:
        return self._preferences.get_cached(get_chat(owner)).notices or self._default

    def is_enabled(self, owner: str) -> bool:
        return self(owner) is not Notices.OFF


def get_chat(owner: str) -> str:
    """Return the chat of a session or an owner: `telegram:-100` for its topic `telegram:-100:7`."""
    return ":".join(owner.split(":")[:2])


def _preferences_from_row(row: Row) -> Preferences:
    values = {name: row[name] for name in _NAMES}
    notices = Notices(values["notices"]) if values["notices"] else None
    voice = VoiceReplies(values["voice"] or VoiceReplies.AUTO)
    return Preferences(**values | {"notices": notices, "voice": voice, "rich": bool(values["rich"])})
