"""The settings of LightRAG."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import HttpUrl, SecretStr

from config.groups import AnyCase, SettingsGroup


class LightRagSettings(SettingsGroup):
    lightrag_url: HttpUrl | None = None
    lightrag_api_key: SecretStr | None = None
    lightrag_mode: Annotated[Literal["local", "global", "hybrid", "naive", "mix", "bypass"], AnyCase] = "mix"
