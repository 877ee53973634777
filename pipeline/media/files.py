"""The content of received files, which channels fetch."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from config.texts import _
from memory.errors import MnemeError
from memory.media.media import Media

Fetch = Callable[[Media], Awaitable[bytes]]


class MediaUnreadable(MnemeError):
    """Raised if media can't be used. The text tells the user why and what to do."""

    is_private = True


class MediaSources:
    def __init__(self) -> None:
        self._sources: dict[str, Fetch] = {}

    def serve(self, channel: str, fetch: Fetch) -> None:
        self._sources[channel] = fetch

    async def fetch(self, media: Media) -> bytes:
        """Return the content of a file. Raises MediaUnreadable."""
        fetch = self._sources.get(media.file.channel)
        if fetch is None:
            raise MediaUnreadable(
                _(
                    "{name} was sent over {channel}, which isn't running here.",
                    name=media.name,
                    channel=media.file.channel,
                )
            )
        return await fetch(media)


def explain_no_vision(model: str, name: str | None = None) -> str:
    if name is None:
        return _(
            "The model {model} can't see pictures, so I couldn't look at the picture: say what is in it, or have"
            " LLM_MODEL set to a model that can.",
            model=model,
        )
    return _(
        "The model {model} can't see pictures, so I couldn't look at {name}: say what is in it, or have LLM_MODEL set"
        " to a model that can.",
        model=model,
        name=name,
    )
