"""The bytes of what was sent: where channels keep them, the pictures that models take, what recordings say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from config.texts import N_, _
from memory.errors import MnemeError
from memory.messages import Image
from pipeline.models.client import client_of, load_sdk, loggable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import openai

    from memory.media.media import Media
    from pipeline.models.endpoint import Endpoint

    Fetch = Callable[[Media], Awaitable[bytes]]

    """Gives the bytes. Raises MediaUnreadable."""

log = structlog.get_logger(__name__)

LARGEST_IMAGE = 3_700_000
"""Bytes; Anthropic takes 5 MB as base64, which is a third longer, and others more."""
_BEGINNINGS = ((b"\xff\xd8\xff", "image/jpeg"), (b"\x89PNG\r\n\x1a\n", "image/png"), (b"GIF8", "image/gif"))
_OTHERS = (b"ftypheic", b"ftypheix", b"ftypmif1", b"ftypavif", b"BM", b"II*\x00", b"MM\x00*")


class MediaUnreadable(MnemeError):
    """Something that was sent can't be fetched, read, seen or heard: the sentence says why and what to do."""

    is_private = True


class MediaSources:
    def __init__(self) -> None:
        self._sources: dict[str, Fetch] = {}

    def serve(self, channel: str, fetch: Fetch) -> None:
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
    # the brands of HEIF and AVIF stand behind a length of four bytes
    return content[4:12] in _OTHERS or any(content.startswith(other) for other in _OTHERS[4:])


def blind(model: str, name: str | None = None) -> str:
    """The text for a model that takes no pictures. name: of the picture, where one is meant."""
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


RETRIES = 2
"""Retries of the SDK for 429, 5xx and lost connections."""
# the endings that servers know recordings by; OpenAI's newer models and Groq refuse Telegram's own .oga
_TYPES = {
    "audio/ogg": "ogg",
    "audio/opus": "ogg",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/mp4": "m4a",
    "audio/x-m4a": "m4a",
    "audio/m4a": "m4a",
    "audio/aac": "m4a",
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/flac": "flac",
    "audio/x-flac": "flac",
    "audio/webm": "webm",
    "video/mp4": "mp4",
    "video/webm": "webm",
}


class Transcriber:
    """Turns recordings into text. model None: there is nothing that could."""

    def __init__(self, model: str | None, endpoint: Endpoint | None, seconds: float) -> None:
        self._model = model
        self._endpoint = endpoint
        self._seconds = seconds
        self._client: openai.AsyncOpenAI | None = None

    @property
    def hears(self) -> bool:
        return self._model is not None and self._endpoint is not None

    async def transcribe(self, media: Media, content: bytes) -> str:
        """The words in a recording. Raises MediaUnreadable."""
        await load_sdk()
        import openai

        assert self._model is not None, "hears tells"  # noqa: S101  # callers ask first
        ending = _TYPES.get(media.file.mime_type or "", "ogg")
        try:
            transcription = await self._open().audio.transcriptions.create(
                file=(f"recording.{ending}", content), model=self._model, response_format="json"
            )
        # ValueError: what came is not JSON
        except (openai.OpenAIError, ValueError) as error:
            log.warning("transcription_failed", model=self._model, **loggable(error))
            raise MediaUnreadable(_explained(error, media, self._model)) from None
        text = str(getattr(transcription, "text", None) or "").strip()  # nothing checks what arrives
        if not text:
            raise MediaUnreadable(_("I heard no words in {name}: say it again, or write it.", name=media.name))
        return text

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    def _open(self) -> openai.AsyncOpenAI:
        if self._client is None:
            assert self._endpoint is not None, "hears tells"  # noqa: S101  # callers ask first
            self._client = client_of(self._endpoint, seconds=self._seconds, retries=RETRIES)
        return self._client


def _explained(error: Exception, media: Media, model: str) -> str:
    import openai

    if isinstance(error, openai.APITimeoutError):
        text = N_("I could not listen to {name}: {model} took too long; send /retry, or write it.")
    elif isinstance(error, openai.APIConnectionError):
        text = N_("I could not listen to {name}: what hears for me can't be reached; send /retry, or write it.")
    elif isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError | openai.NotFoundError):
        text = N_(
            "I could not listen to {name}: {model} is refused there; check LLM_TRANSCRIPTION_MODEL,"
            " LLM_TRANSCRIPTION_BASE_URL and the key."
        )
    else:
        text = N_("I could not listen to {name}: {model} did not take it; send /retry, or write it.")
    return _(text, name=media.name, model=model)
