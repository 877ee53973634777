"""The feature media."""

from __future__ import annotations

from bot.feature import Contributions, Feature
from bot.features.media.reader import MediaContentReader
from bot.features.media.settings import MediaSettings
from bot.features.media.store import MediaTexts
from bot.features.media.tools import media_tools
from bot.features.media.transcription import Transcriber
from bot.kernel import Kernel
from bot.models import check_audio_endpoint, create_audio_endpoint
from config.settings import Settings


class MediaFeature(Feature):
    name = "media"

    def check_settings(self, settings: Settings) -> None:
        own = settings.group(MediaSettings)
        url, key = own.llm_transcription_base_url, own.llm_transcription_api_key
        check_audio_endpoint(settings, "LLM_TRANSCRIPTION", own.llm_transcription_model, url, key)

    async def open(self, kernel: Kernel) -> Contributions:
        settings, memory = kernel.settings, kernel.memory
        own = settings.group(MediaSettings)
        endpoint = create_audio_endpoint(settings, own.llm_transcription_base_url, own.llm_transcription_api_key)
        transcriber = Transcriber(own.llm_transcription_model, endpoint, settings.llm_timeout)
        kernel.stack.push_async_callback(transcriber.close)
        texts = MediaTexts(memory.database)
        reader = MediaContentReader(texts, kernel.media, transcriber)
        return Contributions(tools=media_tools(memory.media, texts, reader), content_readers=[reader])
