"""The settings of web tools."""

from __future__ import annotations

from config.groups import SettingsGroup


class WebToolsSettings(SettingsGroup):
    web_search: bool = False
