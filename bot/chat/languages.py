"""In which language somebody is answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from config.texts import LANGUAGES, SOURCE, known_language
from memory.errors import StoreError
from memory.service.preferences import Preferences

if TYPE_CHECKING:
    from memory.service.preferences import PreferenceStore
    from pipeline.arrival import Arrival

log = structlog.get_logger(__name__)


class Languages:
    """What each chat is spoken to in."""

    def __init__(self, preferences: PreferenceStore) -> None:
        self._preferences = preferences

    async def of(self, arrival: Arrival) -> str:
        """The language to answer an arrival in: what the chat asked for, else that of who writes.

        The latter is kept, so that the chat is spoken to like that unasked too; in a group that of who came first.
        """
        chat = arrival.address.owner
        client = known_language(arrival.language)
        wanted = Preferences()
        try:
            wanted = await self._preferences.get(chat)
            is_theirs = arrival.speaker is None or wanted.client_language is None
            if client is not None and client != wanted.client_language and is_theirs:
                await self._preferences.change(chat, client_language=client)
        except StoreError as error:  # such as a full disk: what is to be said is said all the same
            log.warning("language_not_kept", reason=str(error))
        return wanted.language or client or wanted.client_language or SOURCE

    async def of_chat(self, chat: str) -> str:
        """The language to speak to a chat (`Address.owner`) unasked."""
        try:
            return await self._preferences.language(chat)
        except StoreError:
            return SOURCE


def language_called(name: str) -> str | None:
    """The code of the language of the interface that somebody calls `name`, in any of them; None for no such one."""
    if (code := known_language(name.strip())) is not None:
        return code
    from babel import Locale  # late: it needs a tenth of a second

    wanted = name.strip().casefold()
    for code in LANGUAGES:
        if wanted in {str(Locale(spoken).languages.get(code)).casefold() for spoken in LANGUAGES}:
            return code
    return None
