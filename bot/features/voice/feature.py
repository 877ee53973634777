"""The feature voice replies."""

from __future__ import annotations

from bot.feature import Contributions, Feature
from bot.features.voice.settings import VoiceSettings
from bot.kernel import Kernel
from bot.models import check_audio_endpoint, create_audio_endpoint
from bot.telegram.part import Connection, TelegramPart
from config.settings import Settings


class VoiceFeature(Feature):
    name = "voice"

    def check_settings(self, settings: Settings) -> None:
        own = settings.group(VoiceSettings)
        url, key = own.llm_speech_base_url, own.llm_speech_api_key
        check_audio_endpoint(settings, "LLM_SPEECH", own.llm_speech_model, url, key)

    def why_off(self, settings: Settings) -> str | None:
        return None if settings.group(VoiceSettings).llm_speech_model is not None else "LLM_SPEECH_MODEL is not set"

    async def open(self, kernel: Kernel) -> Contributions:
        from bot.features.voice.commands import SETTING, VoiceCommands
        from bot.features.voice.speech import Speech

        settings, preferences = kernel.settings, kernel.memory.preferences
        own = settings.group(VoiceSettings)
        endpoint = create_audio_endpoint(settings, own.llm_speech_base_url, own.llm_speech_api_key)
        assert own.llm_speech_model is not None, "otherwise it is off"  # noqa: S101
        assert endpoint is not None, "the settings check it"  # noqa: S101
        speech = Speech(own.llm_speech_model, own.llm_speech_voice, endpoint, settings.llm_timeout)
        kernel.stack.push_async_callback(speech.close)

        def create_part(_connection: Connection) -> TelegramPart:
            from bot.features.voice.answers import SpokenAnswers  # Needs Telegram's library

            return TelegramPart(attachments=[SpokenAnswers(speech, preferences)])

        commands = VoiceCommands(preferences)
        return Contributions(commands=[commands], chat_settings=[SETTING], telegram=[create_part])
