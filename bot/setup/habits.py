"""Questions of `mneme setup` about the people who use the bot: their time zone, and whether they are a family."""

from __future__ import annotations

from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones

import typer

from bot.setup.questions import ask_number, say, write_settings
from config.loading import load_settings
from config.settings import MemoryScope, find_system_zone
from memory.clock import system_clock

MAX_NAMED_ZONES = 8


def set_up_time_zone(env_file: Path) -> None:
    """Ask for the time zone of reminders and dates. The default is the machine's."""
    if "timezone" in load_settings(env_file).model_fields_set:
        return
    machine = find_system_zone() or "UTC"
    while True:
        answer = str(typer.prompt("Your time zone, or a city or country", default=machine)).strip()
        zones = [machine] if answer == machine else _find_zones(answer)
        if len(zones) == 1:
            break
        if zones:
            more = " and more" if len(zones) > MAX_NAMED_ZONES else ""
            say(f"Which one: {', '.join(zones[:MAX_NAMED_ZONES])}{more}?")
        else:
            say("That isn't a place with a time zone: enter a larger city, such as Kyiv, or Europe/Kyiv.")
    write_settings(env_file, TIMEZONE=zones[0])
    say(f"It is {system_clock().astimezone(ZoneInfo(zones[0])):%H:%M} in {zones[0]}.")


def _find_zones(name: str) -> list[str]:
    from bot.commands.settings import find_zones

    return [name] if name in available_timezones() else find_zones(name)


def set_up_people(env_file: Path) -> None:
    """Ask whether one person or a family uses the bot."""
    if "memory_scope" in load_settings(env_file).model_fields_set:
        return
    say("Who will use the bot?")
    say("  1  Only me.")
    say("  2  My family or a group of friends: everyone has their own memory, and can share single memories.")
    scopes = (MemoryScope.CHAT, MemoryScope.FAMILY)
    scope = scopes[ask_number("Number", len(scopes)) - 1]
    write_settings(env_file, MEMORY_SCOPE=scope.value)
    if scope is MemoryScope.FAMILY:
        say("Claim the bot first. When the others write to it, it asks you whether to let them in.")
