"""The language of answers."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import structlog

from config.texts import SOURCE, find_language
from memory.errors import StoreError
from memory.runtime.preferences import Preferences, PreferenceStore
from pipeline.arrival import Arrival

log = structlog.get_logger(__name__)


class Languages:
    def __init__(self, preferences: PreferenceStore) -> None:
        self._preferences = preferences

    async def choose(self, arrival: Arrival) -> str:
        """Return the language to answer an arrival in: the chat's choice, or the language of the sender's app.

        The latter is stored for later messages to the chat. In a group the first sender decides.
        """
        await self.store([arrival])
        preferences = Preferences()
        with contextlib.suppress(StoreError):
            preferences = await self._preferences.get(arrival.address.owner)
        return preferences.language or find_language(arrival.language) or preferences.client_language or SOURCE

    async def store(self, arrivals: Sequence[Arrival]) -> None:
        """Store the app language of each sender that is new or whose app language changed, in one write."""
        try:
            by_chat = await self._preferences.get_all([arrival.address.owner for arrival in arrivals])
            new = dict[str, str]()
            for arrival in arrivals:
                chat, client = arrival.address.owner, find_language(arrival.language)
                before = new.get(chat, by_chat[chat].client_language)
                # In a group the language of the first sender stays, so that it doesn't change with each speaker
                if client is not None and client != before and (arrival.speaker is None or before is None):
                    new[chat] = client
            if new:
                # One write for all, since separate ones would delay everyone's first turn and /stop
                await self._preferences.learn_languages(new)
        except StoreError as error:  # For example, the disk is full
            log.warning("language_not_kept", reason=str(error))

    async def get_for_chat(self, chat: str) -> str:
        """Return the language for unprompted messages to a chat (`Address.owner`)."""
        try:
            return await self._preferences.get_language(chat)
        except StoreError:
            return SOURCE
