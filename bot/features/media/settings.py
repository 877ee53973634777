"""The settings of received files."""

from __future__ import annotations

from pydantic import HttpUrl, SecretStr

from config.groups import SettingsGroup


class MediaSettings(SettingsGroup):
    llm_transcription_model: str | None = None
    llm_transcription_base_url: HttpUrl | None = None
    llm_transcription_api_key: SecretStr | None = None
