"""The feature media."""

from __future__ import annotations

from bot.feature import Contributions, Feature
from bot.features.media.reader import MediaContentReader
from bot.features.media.store import MediaTexts
from bot.features.media.tools import media_tools
from bot.features.media.transcription import Transcriber
from bot.kernel import Kernel
from bot.models import create_audio_endpoint


class MediaFeature(Feature):
    name = "media"

    async def open(self, kernel: Kernel) -> Contributions:
        settings, memory = kernel.settings, kernel.memory
        url, key = settings.llm_transcription_base_url, settings.llm_transcription_api_key
        endpoint = create_audio_endpoint(settings, url, key)
        transcriber = Transcriber(settings.llm_transcription_model, endpoint, settings.llm_timeout)
        kernel.stack.push_async_callback(transcriber.close)
        texts = MediaTexts(memory.database)
        reader = MediaContentReader(texts, kernel.media, transcriber)
        return Contributions(tools=media_tools(memory.media, texts, reader), content_readers=[reader])
