"""Images in the form that models accept."""

from __future__ import annotations

from config.texts import _
from memory.media.media import Media
from memory.messages import Image
from pipeline.media.files import MediaUnreadable, detect_image_type

MAX_IMAGE_BYTES = 3_700_000
"""Anthropic accepts 5 MB of base64, which is a third longer than the bytes. Other providers accept more."""


def to_model_image(media: Media, content: bytes) -> Image:
    """Return an image in the form that models accept. Raises MediaUnreadable."""
    mime_type = detect_image_type(content)
    if mime_type is None:
        raise MediaUnreadable(
            _("{name} isn't a picture that I can open: send it as a photo, not as a file.", name=media.name)
        )
    if len(content) > MAX_IMAGE_BYTES:
        raise MediaUnreadable(
            _(
                "{name} is a picture of {size} MB, and models accept at most {most} MB: send it as a photo, which"
                " Telegram makes smaller.",
                name=media.name,
                size=f"{len(content) / 1e6:.1f}",
                most=f"{MAX_IMAGE_BYTES / 1e6:.1f}",
            )
        )
    return Image(mime_type, content)
