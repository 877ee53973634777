"""The bytes of what was sent: the channels that keep them, and the pictures that models take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from config.texts import _
from memory.errors import MnemeError
from memory.messages import Image

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from memory.media.media import Media

    Fetch = Callable[[Media], Awaitable[bytes]]
    """Gives the bytes. Raises MediaUnreadable."""

LARGEST_IMAGE = 3_700_000
"""Bytes; Anthropic takes 5 MB as base64, which is a third longer, and others more."""
_BEGINNINGS = ((b"\xff\xd8\xff", "image/jpeg"), (b"\x89PNG\r\n\x1a\n", "image/png"), (b"GIF8", "image/gif"))
_OTHERS = (b"ftypheic", b"ftypheix", b"ftypmif1", b"ftypavif", b"BM", b"II*\x00", b"MM\x00*")


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


def image_type(content: bytes) -> str | None:
    """The type of a picture by how it begins, `image/jpeg` and so on; None where it is none that models take."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((mime_type for beginning, mime_type in _BEGINNINGS if content.startswith(beginning)), None)


def is_other_image(content: bytes) -> bool:
    """Whether it is a picture in a format that models don't take."""
    return content[4:12] in _OTHERS or any(content.startswith(other) for other in _OTHERS[4:])


def blind(model: str, name: str | None = None) -> str:
    """What is said where a model does not see. name: of the picture, where one is meant."""
    if name is None:
        return _(
            "The model {model} does not see pictures, so I could not look at the picture: say what is in it, or have"
            " LLM_MODEL set to a model that sees.",
            model=model,
        )
    return _(
        "The model {model} does not see pictures, so I could not look at {name}: say what is in it, or have LLM_MODEL"
        " set to a model that sees.",
        model=model,
        name=name,
    )


def image_of(media: Media, content: bytes) -> Image:
    """The picture for a model. Raises MediaUnreadable."""
    mime_type = image_type(content)
    if mime_type is None:
        raise MediaUnreadable(
            _("{name} is no picture that I can look at: send it as a photo, not as a file.", name=media.name)
        )
    if len(content) > LARGEST_IMAGE:
        raise MediaUnreadable(
            _(
                "{name} is a picture of {size} MB, and models take {most}: send it as a photo, which Telegram makes"
                " smaller.",
                name=media.name,
                size=f"{len(content) / 1e6:.1f}",
                most=f"{LARGEST_IMAGE / 1e6:.1f}",
            )
        )
    return Image(mime_type, content)
