"""What is said in a recording, by an OpenAI-compatible audio endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from config.texts import N_, _
from pipeline.media.files import MediaUnreadable
from pipeline.models.client import client_of, load_sdk, loggable

if TYPE_CHECKING:
    import openai

    from memory.media.media import Media
    from pipeline.models.endpoint import Endpoint

log = structlog.get_logger(__name__)

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
        """Whether there is a model for it."""
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
        """Close the connections."""
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
