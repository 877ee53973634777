"""Text to speech with any endpoint that has OpenAI's /audio/speech."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from pipeline.models.endpoint import Endpoint, create_client, describe_for_log, load_sdk

if TYPE_CHECKING:
    import openai

log = structlog.get_logger(__name__)

FORMATS = ("opus", "mp3")
"""Requested formats, best first. Telegram shows both as voice messages, and some servers don't support Opus."""
MAX_RETRIES = 1


class Speech:
    def __init__(self, model: str, voice: str, endpoint: Endpoint, seconds: float) -> None:
        self._model = model
        self._voice = voice
        self._endpoint = endpoint
        self._seconds = seconds
        self._formats = list(FORMATS)
        self._client: openai.AsyncOpenAI | None = None

    async def speak(self, text: str) -> bytes | None:
        """Return the text as Ogg Opus or MP3. Return None, and log the reason, if the endpoint fails."""
        await load_sdk()
        import openai

        if self._client is None:
            self._client = create_client(self._endpoint, seconds=self._seconds, retries=MAX_RETRIES)
        while True:
            try:
                answer = await self._client.audio.speech.create(
                    model=self._model,
                    voice=self._voice,
                    input=text,
                    response_format=self._formats[0],  # type: ignore[arg-type]  # The SDK's type is a Literal.
                )
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                if len(self._formats) > 1:
                    del self._formats[0]
                    continue
                log.warning("speech_failed", model=self._model, **describe_for_log(error))
                return None
            except openai.OpenAIError as error:
                log.warning("speech_failed", model=self._model, **describe_for_log(error))
                return None
            kind = answer.response.headers.get("content-type", "")
            # A proxy may answer with an error page.
            if kind.startswith(("text/", "application/json")) or not answer.content:
                log.warning("speech_failed", model=self._model, error="no audio came")
                return None
            return answer.content

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
