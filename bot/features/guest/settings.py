"""The settings of guest mode."""

from __future__ import annotations

from config.groups import SettingsGroup


class GuestSettings(SettingsGroup):
    guest_memory: bool = False
