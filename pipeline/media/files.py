"""The content of media: fetching it from channels, checking images for models, and transcribing recordings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import structlog

from config.texts import N_, _, for_owner, name_setting
from memory.errors import MnemeError
from memory.media.media import Media
from memory.messages import Image
from pipeline.models.client import create_client, describe_for_log, load_sdk
from pipeline.models.endpoint import Endpoint

if TYPE_CHECKING:
    import openai

Fetch = Callable[[Media], Awaitable[bytes]]

log = structlog.get_logger(__name__)

MAX_IMAGE_BYTES = 3_700_000
"""Anthropic accepts 5 MB of base64, which is a third longer than the bytes. Other providers accept more."""
_BEGINNINGS = ((b"\xff\xd8\xff", "image/jpeg"), (b"\x89PNG\r\n\x1a\n", "image/png"), (b"GIF8", "image/gif"))
_OTHERS = (b"ftypheic", b"ftypheix", b"ftypmif1", b"ftypavif", b"BM", b"II*\x00", b"MM\x00*")


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


def detect_image_type(content: bytes) -> str | None:
    """Return the MIME type of an image by its first bytes, or None if it isn't an image that models accept."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((mime_type for beginning, mime_type in _BEGINNINGS if content.startswith(beginning)), None)


def is_other_image(content: bytes) -> bool:
    # The brands of HEIF and AVIF follow a length of four bytes.
    return content[4:12] in _OTHERS or any(content.startswith(other) for other in _OTHERS[4:])


def explain_no_vision(model: str, name: str | None = None) -> str:
    if name is None:
        text = N_("The model {model} can't see pictures, so I couldn't look at the picture: say what is in it.")
        return name_setting(_(text, model=model), "LLM_MODEL")
    text = N_("The model {model} can't see pictures, so I couldn't look at {name}: say what is in it.")
    return name_setting(_(text, model=model, name=name), "LLM_MODEL")


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


MAX_RETRIES = 2
"""The SDK retries 429, 5xx and lost connections."""
# File extensions by MIME type. OpenAI's newer models and Groq refuse Telegram's own .oga.
_EXTENSIONS = {
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
    """Turns recordings into text. Without a model or an endpoint it is disabled."""

    def __init__(self, model: str | None, endpoint: Endpoint | None, seconds: float) -> None:
        self._model = model
        self._endpoint = endpoint
        self._seconds = seconds
        self._client: openai.AsyncOpenAI | None = None

    @property
    def is_enabled(self) -> bool:
        return self._model is not None and self._endpoint is not None

    async def transcribe(self, media: Media, content: bytes) -> str:
        """Return the words in a recording. Raises MediaUnreadable."""
        await load_sdk()
        import openai

        assert self._model is not None, "is_enabled tells"  # noqa: S101  # Callers check is_enabled first.
        extension = _EXTENSIONS.get(media.file.mime_type or "", "ogg")
        try:
            transcription = await self._open().audio.transcriptions.create(
                file=(f"recording.{extension}", content), model=self._model, response_format="json"
            )
        # The SDK raises ValueError if the response is not JSON.
        except (openai.OpenAIError, ValueError) as error:
            log.warning("transcription_failed", model=self._model, **describe_for_log(error))
            raise MediaUnreadable(_explain(error, media, self._model)) from None
        text = str(getattr(transcription, "text", None) or "").strip()  # The SDK doesn't validate responses.
        if not text:
            raise MediaUnreadable(_("I didn't hear any words in {name}: say it again, or write it.", name=media.name))
        return text

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    def _open(self) -> openai.AsyncOpenAI:
        if self._client is None:
            assert self._endpoint is not None, "is_enabled tells"  # noqa: S101  # Callers check is_enabled first.
            self._client = create_client(self._endpoint, seconds=self._seconds, retries=MAX_RETRIES)
        return self._client


def _explain(error: Exception, media: Media, model: str) -> str:
    import openai

    if isinstance(error, openai.APITimeoutError):
        text = N_("I couldn't listen to {name}: {model} took too long; send /retry, or write it.")
    elif isinstance(error, openai.APIConnectionError):
        text = N_("I couldn't listen to {name}: the speech recognition can't be reached; send /retry, or write it.")
    elif isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError | openai.NotFoundError):
        return for_owner(
            N_(
                "I couldn't listen to {name}: the server rejected {model}; check LLM_TRANSCRIPTION_MODEL,"
                " LLM_TRANSCRIPTION_BASE_URL and the key."
            ),
            N_("I couldn't listen to {name}, because my speech recognition isn't set up correctly: write it instead."),
            name=media.name,
            model=model,
        )
    else:
        text = N_("I couldn't listen to {name}: {model} didn't accept it; send /retry, or write it.")
    return _(text, name=media.name, model=model)
