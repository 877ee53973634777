"""Checks of the machine: free disk, time zone, versions."""

from __future__ import annotations

import os
import platform
import shutil
from importlib.metadata import version
from typing import TYPE_CHECKING
from zoneinfo import available_timezones

from bot.doctor.finding import Finding, failed, ok, warning
from bot.doctor.installation import nearest
from config.settings import system_zone
from memory.backup.inspection import sqlite_version

if TYPE_CHECKING:
    from bot.doctor.finding import Patient

FULL_MB, SCARCE_MB = 20, 300
"""Below the first nothing can be relied on to be saved; below the second a backup or an upgrade may not fit."""
MAKE_ROOM = "Free some space there; nothing that was saved is lost."
NAME_THE_ZONE = "Set TIMEZONE, such as TIMEZONE=Europe/Kyiv."
LIBRARIES = ("python-telegram-bot", "openai", "aiosqlite", "httpx", "pydantic")
"""Those whose versions are asked for when something is reported."""


async def disk(patient: Patient) -> list[Finding]:
    """How much room the data directory has."""
    place = nearest(patient.settings.mneme_data_dir)
    free = shutil.disk_usage(place).free / 1e6
    found = f"{free:,.0f} MB are free in {place}"
    if free < FULL_MB:
        return [failed("disk", found, MAKE_ROOM)]
    if free < SCARCE_MB:
        return [warning("disk", found, MAKE_ROOM)]
    return [ok("disk", found)]


async def time_zone(patient: Patient) -> list[Finding]:
    """In which zone days and clock times are told."""
    settings = patient.settings
    wanted = os.environ.get("TZ", "").removeprefix(":")
    if "timezone" not in settings.model_fields_set:
        if system_zone() is None:
            unknown = "This machine's zone is not known, so days and times are those of UTC"
            return [warning("time zone", unknown, NAME_THE_ZONE)]
        if wanted and not wanted.startswith("/") and wanted not in available_timezones():
            unknown = f"TZ={wanted} names no zone that is known here, so days and times are those of"
            return [warning("time zone", f"{unknown} {settings.timezone}", NAME_THE_ZONE)]
    now = patient.clock().astimezone(settings.zone)
    return [ok("time zone", f"{settings.timezone}, where it is {now:%H:%M on %A}")]


def versions() -> Finding:
    """What runs here."""
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    found = f"mneme {version('mneme')}, Python {platform.python_version()}, SQLite {sqlite_version()}, {libraries}"
    return ok("versions", found)
