"""/timezone: on which clock the hours of a chat are, by the name of a city, a zone or a country."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, available_timezones

from bot.chat.commands import Answer, Command, CommandCall, CommandResult, WrongArgument
from bot.chat.settings_command import all_settings
from config.texts import LANGUAGES, N_, _
from memory.buttons import Button, in_rows
from memory.reminders.wording import day_and_hour

if TYPE_CHECKING:
    from memory.clock import Clock, ZoneOf
    from memory.service.preferences import PreferenceStore

MOST_OFFERED = 12
"""Zones at most among which one is to choose."""
ZONES_PER_ROW = 2


class ZoneCommands:
    """What /timezone does: it finds the zone that is meant, keeps it and says the hour there."""

    def __init__(self, preferences: PreferenceStore, zone_of: ZoneOf, clock: Clock) -> None:
        self._preferences = preferences
        self._zone_of = zone_of
        self._clock = clock

    def commands(self) -> list[Command]:
        """The command."""
        return [Command("timezone", N_("On which clock I tell hours"), self.timezone, "[CITY]", repeatable=True)]

    async def timezone(self, call: CommandCall) -> CommandResult:
        """/timezone [CITY]"""
        if not call.argument:
            text = _(
                "It is {hour} here, on the clock of {zone}. If yours is another one, name a city or a country: "
                "/timezone Kyiv.",
                **self._now(self._zone_of(call.session.id)),
            )
            return Answer(text, ((all_settings(),),))
        zones = await zones_called(call.argument)
        if len(zones) == 1:
            return Answer(await self._set(call, zones[0]), ((all_settings(),),))
        if not zones or len(zones) > MOST_OFFERED:
            raise WrongArgument(_not_one(call.argument[:40], len(zones)))
        choice = [Button(zone, f"/timezone {zone}", in_place=True) for zone in zones]
        return Answer(
            _("Which one: {zones}?", zones=", ".join(zones)), (*in_rows(choice, ZONES_PER_ROW), (all_settings(),))
        )

    async def _set(self, call: CommandCall, zone: str) -> str:
        await self._preferences.change(call.session.address.owner, zone=zone)
        return _(
            "Hours are those of {zone} here from now on: it is {hour}. Reminders that are set already keep their zone.",
            **self._now(ZoneInfo(zone)),
        )

    def _now(self, zone: ZoneInfo) -> dict[str, str]:
        return {"zone": f"**{zone.key}**", "hour": day_and_hour(self._clock(), zone)}


def _not_one(name: str, count: int) -> str:
    if count:
        return _("There are many zones of that name: name a city, such as /timezone Kyiv.")
    return _("I know no zone called {name}: name a large city in it, such as /timezone Kyiv, or a country.", name=name)


async def zones_called(name: str) -> list[str]:
    """The zones that somebody may mean by `name`, sorted; what is called exactly so goes before what begins so."""
    return await asyncio.to_thread(_zones_called, name)  # CLDR's tables are read the first time


def _zones_called(name: str) -> list[str]:
    wanted = _folded(name)
    if not wanted:
        return []
    cities, countries = _zone_names()
    found = cities.get(wanted) or countries.get(wanted)
    return sorted(found or {zone for city in cities if city.startswith(wanted) for zone in cities[city]})


@lru_cache(maxsize=1)
def _zone_names() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """The zones by their cities' names and by their countries', in the languages of the interface, out of CLDR."""
    from babel import Locale
    from babel.core import get_global

    known = available_timezones()
    # Etc/GMT-3 and the like are no place's clock
    country_of = {
        zone: country
        for zone, country in get_global("zone_territories").items()
        if zone in known and not zone.startswith("Etc/")
    }
    zone_called = {**get_global("zone_aliases"), **{zone: zone for zone in country_of}}
    cities: dict[str, set[str]] = defaultdict(set, utc={"UTC"}, gmt={"UTC"})
    countries: dict[str, set[str]] = defaultdict(set)
    named = [(zone, zone) for zone in zone_called] + [(zone, zone.rpartition("/")[2]) for zone in zone_called]
    for locale in map(Locale, LANGUAGES):
        named += [(zone, names["city"]) for zone, names in locale.time_zones.items() if "city" in names]
        for zone, country in country_of.items():
            countries[_folded(locale.territories.get(country, country))].add(zone)
    for zone, name in named:
        if "/" in zone and zone_called.get(zone) in country_of:
            cities[_folded(name)].add(zone_called[zone])
    return cities, countries


def _folded(name: str) -> str:
    """A name without what people leave out or write otherwise: case, accents, marks between words."""
    plain = "".join(mark for mark in unicodedata.normalize("NFKD", name.casefold()) if not unicodedata.combining(mark))
    return " ".join(re.split(r"[\s_-]+", plain)).strip()
