"""The content of received files, which channels fetch."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from config.texts import N_, _, name_setting
from memory.errors import MnemeError
from memory.media.media import Media

_BEGINNINGS = ((b"\xff\xd8\xff", "image/jpeg"), (b"\x89PNG\r\n\x1a\n", "image/png"), (b"GIF8", "image/gif"))

Fetch = Callable[[Media], Awaitable[bytes]]


class MediaUnreadable(MnemeError):
    """Raised if media can't be used. The text tells the user why and what to do."""

    is_private = True

    def __init__(self, text: str, *, can_retry: bool = False) -> None:
        super().__init__(text)
        self.can_retry = can_retry


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


def detect_image_type(content: bytes) -> str | None:
    """Return the MIME type of an image by its first bytes, or None if it isn't an image that models accept."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((mime_type for beginning, mime_type in _BEGINNINGS if content.startswith(beginning)), None)


def explain_no_vision(model: str, name: str | None = None) -> str:
    if name is None:
        text = N_("The model {model} can't see pictures, so I couldn't look at the picture: say what is in it.")
        return name_setting(_(text, model=model), "LLM_MODEL")
    text = N_("The model {model} can't see pictures, so I couldn't look at {name}: say what is in it.")
    return name_setting(_(text, model=model, name=name), "LLM_MODEL")
