"""The settings of voice replies."""

from __future__ import annotations

from pydantic import HttpUrl, SecretStr

from config.groups import SettingsGroup


class VoiceSettings(SettingsGroup):
    llm_speech_model: str | None = None
    llm_speech_voice: str = "alloy"
    llm_speech_base_url: HttpUrl | None = None
    llm_speech_api_key: SecretStr | None = None
