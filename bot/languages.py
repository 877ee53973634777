"""In which language somebody is answered."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import structlog

from config.texts import SOURCE, known_language
from memory.errors import StoreError
from memory.service.preferences import Preferences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.service.preferences import PreferenceStore
    from pipeline.arrival import Arrival

log = structlog.get_logger(__name__)


class Languages:
    def __init__(self, preferences: PreferenceStore) -> None:
        self._preferences = preferences

    async def of(self, arrival: Arrival) -> str:
        """The language to answer an arrival in: what the chat asked for, else that of who writes.

        The latter is kept, so that the chat is spoken to like that unasked too; in a group that of who came first.
        """
        await self.expect([arrival])
        preferences = Preferences()
        with contextlib.suppress(StoreError):  # what is to be said is said all the same
            preferences = await self._preferences.get(arrival.address.owner)
        return preferences.language or known_language(arrival.language) or preferences.client_language or SOURCE

    async def expect(self, arrivals: Sequence[Arrival]) -> None:
        """Keep the language of those who are to be answered, in one write for all who come for the first time."""
        try:
            by_chat = await self._preferences.get_all([arrival.address.owner for arrival in arrivals])
            new = dict[str, str]()
            for arrival in arrivals:
                chat, client = arrival.address.owner, known_language(arrival.language)
                before = new.get(chat, by_chat[chat].client_language)
                # in a group the first one's stays, or it would change with each speaker
                if client is not None and client != before and (arrival.speaker is None or before is None):
                    new[chat] = client
            if new:
                # one write for all: one for each of a crowd would hold up everybody's first turn and /stop
                await self._preferences.learn_languages(new)
        except StoreError as error:  # such as a full disk
            log.warning("language_not_kept", reason=str(error))

    async def of_chat(self, chat: str) -> str:
        """The language to speak to a chat (`Address.owner`) unasked."""
        try:
            return await self._preferences.language(chat)
        except StoreError:
            return SOURCE
