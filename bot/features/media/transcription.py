"""Recognition of speech in recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from config.texts import N_, _, for_owner
from memory.media.media import Media
from pipeline.media.files import MediaUnreadable
from pipeline.models.endpoint import Endpoint, create_client, describe_for_log, load_sdk

if TYPE_CHECKING:
    import openai

log = structlog.get_logger(__name__)

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
            raise MediaUnreadable(_explain(error, media, self._model), can_retry=True) from None
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
