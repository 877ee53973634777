"""How each chat wants to be spoken to: language, time zone, notices, voice, layout, model."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from config.texts import SOURCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from memory.store.database import Database, Row


class Notices(StrEnum):
    """Messages beside answers: with a sound, without one, or none."""

    ON = "on"
    QUIET = "quiet"
    OFF = "off"


class VoiceReplies(StrEnum):
    """Which answers are spoken, where something here can speak."""

    AUTO = "auto"
    """Those to what was spoken."""
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Preferences:
    """What a chat has chosen; None: nothing yet."""

    language: str | None = None  # the one that was asked for
    client_language: str | None = None  # that of the person's program
    zone: str | None = None  # an IANA name
    notices: Notices | None = None
    voice: VoiceReplies = VoiceReplies.AUTO
    model: str | None = None  # the name of a configured one
    tools: str | None = None  # what was settled on tools that ask, as JSON
    toolless: str | None = None  # the model without tools that the chat was told about
    rich: bool = False  # the channel's apps lay out tables and the like, where they can


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
    """Preferences by chat (`Address.owner`), whatever its topic. Read once, since nothing else writes them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, Preferences] = {}

    async def load(self) -> None:
        """Read what all chats have chosen, for those who can't wait for it (`known`)."""
        for row in await self._database.rows("SELECT * FROM preferences"):
            self._known.setdefault(row["chat"], _preferences_of(row))

    def known(self, chat: str) -> Preferences:
        return self._known.get(chat, Preferences())

    async def get(self, chat: str) -> Preferences:
        return (await self.get_all([chat]))[chat]

    async def get_all(self, chats: Iterable[str]) -> dict[str, Preferences]:
        by_chat = {chat: self._known.get(chat) for chat in chats}
        unread = [chat for chat, chosen in by_chat.items() if chosen is None]
        if unread:
            query = "SELECT * FROM preferences WHERE chat IN (SELECT value FROM json_each(?))"
            rows = {
                row["chat"]: _preferences_of(row) for row in await self._database.rows(query, (json.dumps(unread),))
            }
            by_chat |= {chat: self._known.setdefault(chat, rows.get(chat, Preferences())) for chat in unread}
        return {chat: chosen for chat, chosen in by_chat.items() if chosen is not None}

    async def change(self, chat: str, **changes: Any) -> Preferences:  # as dataclasses.replace has it
        """Keep what a chat has chosen anew; the fields of Preferences by their names."""
        before = await self.get(chat)
        after = replace(before, **changes)
        if after != before:
            await self._database.write(_KEEP, (chat, *(getattr(after, name) for name in _NAMES)))
            self._known[chat] = after
        return after

    async def learn_languages(self, client_languages: Mapping[str, str]) -> None:
        """Keep what the programs of people in some chats are set to, by chat, in one write that goes first."""
        async with self._database.transaction(first=True) as connection:
            await connection.executemany(_LEARN_LANGUAGE, list(client_languages.items()))
        for chat, code in client_languages.items():
            if chat in self._known:
                self._known[chat] = replace(self._known[chat], client_language=code)

    def forget(self, *chats: str) -> None:
        """Read anew what these chats have chosen: another writer has changed it."""
        for chat in chats:
            self._known.pop(chat, None)

    async def language(self, chat: str) -> str:
        """What is spoken in a chat: what was asked for there, else what the person's program is set to."""
        preferences = await self.get(chat)
        return preferences.language or preferences.client_language or SOURCE


class Zones:
    """Tells on whose wall clock a chat lives: the one that was chosen there, else the installation's.

    What chats have chosen was read before (`PreferenceStore.load`). Where all have one memory, that has no chat.
    """

    def __init__(self, preferences: PreferenceStore, default: ZoneInfo) -> None:
        self._preferences = preferences
        self._default = default

    def has_chosen(self, owner: str) -> bool:
        return self._chosen(owner) is not None

    def _chosen(self, owner: str) -> str | None:
        return self._preferences.known(chat_of(owner)).zone

    def __call__(self, owner: str) -> ZoneInfo:
        """The zone of a chat, by its name or that of its session or owner."""
        preferences = self._chosen(owner)
        try:
            return ZoneInfo(preferences) if preferences is not None else self._default
        except (ZoneInfoNotFoundError, ValueError):  # this machine's tables no longer know it
            return self._default


class NoticeSettings:
    """Tells what a chat is told that it did not ask for: what was chosen there, else what the settings say."""

    def __init__(self, preferences: PreferenceStore, default: Notices) -> None:
        self._preferences = preferences
        self._default = default

    def __call__(self, owner: str) -> Notices:
        return self._preferences.known(chat_of(owner)).notices or self._default

    def tells(self, owner: str) -> bool:
        return self(owner) is not Notices.OFF


def chat_of(owner: str) -> str:
    """The chat of a session or an owner: `telegram:-100:7` is a topic of `telegram:-100`."""
    return ":".join(owner.split(":")[:2])


def _preferences_of(row: Row) -> Preferences:
    values = {name: row[name] for name in _NAMES}
    notices = Notices(values["notices"]) if values["notices"] else None
    voice = VoiceReplies(values["voice"] or VoiceReplies.AUTO)
    return Preferences(**values | {"notices": notices, "voice": voice, "rich": bool(values["rich"])})
