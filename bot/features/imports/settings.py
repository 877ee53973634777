"""The settings of imports."""

from __future__ import annotations

from pydantic import Field

from config.groups import SettingsGroup


class ImportsSettings(SettingsGroup):
    import_daily_tokens: int = Field(default=100_000, ge=1)
