"""The settings of the persona."""

from __future__ import annotations

from config.groups import FilePath, SettingsGroup


class PersonaSettings(SettingsGroup):
    persona: FilePath | None = None
