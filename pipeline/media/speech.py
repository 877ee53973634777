"""Answers read aloud, by any endpoint that has OpenAI's /audio/speech."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from pipeline.models.client import client_of, load_sdk, loggable

if TYPE_CHECKING:
    import openai

    from pipeline.models.endpoint import Endpoint

log = structlog.get_logger(__name__)

FORMATS = ("opus", "mp3")
"""What is asked for, the best first: Telegram shows both as voice messages, and some servers make no Opus."""
RETRIES = 1


class Speech:
    """Turns text into a recording."""

    def __init__(self, model: str, voice: str, endpoint: Endpoint, seconds: float) -> None:
        self._model = model
        self._voice = voice
        self._endpoint = endpoint
        self._seconds = seconds
        self._formats = list(FORMATS)
        self._client: openai.AsyncOpenAI | None = None

    async def speak(self, text: str) -> bytes | None:
        """`text` as Ogg Opus or MP3; None where the endpoint does not give it, which the log explains."""
        await load_sdk()
        import openai

        if self._client is None:
            self._client = client_of(self._endpoint, seconds=self._seconds, retries=RETRIES)
        while True:
            try:
                answer = await self._client.audio.speech.create(
                    model=self._model,
                    voice=self._voice,
                    input=text,
                    response_format=self._formats[0],  # type: ignore[arg-type]  # the SDK lists them as literals
                )
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                if len(self._formats) > 1:
                    del self._formats[0]
                    continue
                log.warning("speech_failed", model=self._model, **loggable(error))
                return None
            except openai.OpenAIError as error:
                log.warning("speech_failed", model=self._model, **loggable(error))
                return None
            kind = answer.response.headers.get("content-type", "")
            if kind.startswith(("text/", "application/json")) or not answer.content:  # such as a page of a proxy
                log.warning("speech_failed", model=self._model, error="no audio came")
                return None
            return answer.content

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
