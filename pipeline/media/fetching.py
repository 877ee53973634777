"""Where the bytes of media come from: the channel that they were sent over, which keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from config.texts import _
from memory.errors import MnemeError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from memory.media.media import Media

    Fetch = Callable[[Media], Awaitable[bytes]]
    """Gives the bytes. Raises MediaUnreadable."""


class MediaUnreadable(MnemeError):
    """Something that was sent can't be fetched, read, seen or heard: the sentence says why and what to do."""

    is_private = True


class MediaSources:
    """The channels that media are fetched from, by their names."""

    def __init__(self) -> None:
        self._sources: dict[str, Fetch] = {}

    def serve(self, channel: str, fetch: Fetch) -> None:
        """Fetch what was sent over a channel with `fetch` from now on."""
        self._sources[channel] = fetch

    async def fetch(self, media: Media) -> bytes:
        """The bytes. Raises MediaUnreadable."""
        fetch = self._sources.get(media.file.channel)
        if fetch is None:
            raise MediaUnreadable(
                _(
                    "{name} was sent over {channel}, which does not run here.",
                    name=media.name,
                    channel=media.file.channel,
                )
            )
        return await fetch(media)
