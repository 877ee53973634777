"""How each chat wants to be spoken to: language, time zone, notices, model."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from config.texts import SOURCE

if TYPE_CHECKING:
    from memory.store.database import Database


class Notices(StrEnum):
    """What is told beside answers: with a sound, without one, or not at all."""

    ON = "on"
    QUIET = "quiet"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Preferences:
    """What a chat has chosen; None and ON: nothing yet.

    language: the code of the language that was asked for; client_language: of the one that the person's program is set
    to. zone: an IANA name. model: the name of a configured one.
    """

    language: str | None = None
    client_language: str | None = None
    zone: str | None = None
    notices: Notices = Notices.ON
    model: str | None = None


_NAMES = [field.name for field in fields(Preferences)]
_KEEP = (
    f"INSERT INTO preferences (chat, {', '.join(_NAMES)}) VALUES (?{', ?' * len(_NAMES)}) ON CONFLICT (chat)"
    f" DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _NAMES)}"
)


class PreferenceStore:
    """Preferences by chat (`Address.owner`), whatever its topic. Read once, since nothing else writes them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, Preferences] = {}

    async def get(self, chat: str) -> Preferences:
        """What a chat has chosen."""
        if chat not in self._known:
            row = await self._database.row("SELECT * FROM preferences WHERE chat = ?", (chat,))
            kept = {} if row is None else {name: row[name] for name in _NAMES}
            if "notices" in kept:
                kept["notices"] = Notices(kept["notices"])
            self._known.setdefault(chat, Preferences(**kept))
        return self._known[chat]

    async def change(self, chat: str, **changes: Any) -> Preferences:  # as dataclasses.replace has it
        """Keep what a chat has chosen anew; the fields of Preferences by their names."""
        before = await self.get(chat)
        after = replace(before, **changes)
        if after != before:
            await self._database.write(_KEEP, (chat, *(getattr(after, name) for name in _NAMES)))
            self._known[chat] = after
        return after

    def forget(self, *chats: str) -> None:
        """Read anew what these chats have chosen: it was written by others."""
        for chat in chats:
            self._known.pop(chat, None)

    async def language(self, chat: str) -> str:
        """What is spoken in a chat: what was asked for there, else what the person's program is set to."""
        wanted = await self.get(chat)
        return wanted.language or wanted.client_language or SOURCE
