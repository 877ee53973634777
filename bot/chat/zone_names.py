"""Time zones as people call them: by city or country in the languages of the interface, or by where they are."""

from __future__ import annotations

import asyncio
import re
import sys
import unicodedata
from collections import defaultdict
from functools import lru_cache
from importlib.resources import files
from zoneinfo import available_timezones

from config.texts import LANGUAGES

_COORDINATES = re.compile(r"(?P<latitude>-?\d{1,2}(?:\.\d+)?)\s*,\s*(?P<longitude>-?\d{1,3}(?:\.\d+)?)")
_LOOKUP_SECONDS = 20
_LOOKUP = "import sys, tzfpy; print(tzfpy.get_tz(float(sys.argv[2]), float(sys.argv[1])))"
"""Run by itself: the borders of the zones take 40 MB of memory, and are asked for once in a while."""


async def zones_called(name: str) -> list[str]:
    """The zones that somebody may mean by `name`, sorted; the one that it is where it is one."""
    # some tables are read the first time
    return await asyncio.to_thread(_zones_called, name)


async def zone_at(place: str) -> str | None:
    """The zone at a place, as `50.45, 30.52`: degrees of latitude and longitude. None for what is no place."""
    found = _COORDINATES.fullmatch(place.strip())
    if found is None or abs(float(found["latitude"])) > 90 or abs(float(found["longitude"])) > 180:
        return None
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-I", "-c", _LOOKUP, *found.groups()),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={},
    )
    try:
        async with asyncio.timeout(_LOOKUP_SECONDS):
            said, _ = await child.communicate()
    finally:
        if child.returncode is None:
            child.kill()
    zone = said.decode().strip()
    return zone if zone in available_timezones() else None


def _zones_called(name: str) -> list[str]:
    wanted = _folded(name)
    if not wanted:
        return []
    places, countries = _names()
    found = places.get(wanted) or countries.get(wanted)
    return sorted(found or {zone for place in places if place.startswith(wanted) for zone in places[place]})


@lru_cache(maxsize=1)
def _names() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """The zones by all that they and their cities are called, and by what their countries are."""
    from babel import Locale

    country_of, links = _countries(), _links()
    locales = [Locale(language) for language in LANGUAGES]
    places: dict[str, set[str]] = defaultdict(set)
    countries: dict[str, set[str]] = defaultdict(set)

    def call(zone: str, *called: str) -> None:
        while zone not in country_of and zone in links:
            zone = links[zone]
        if zone in country_of:
            for one in called:
                places[_folded(one)].add(zone)

    for zone in available_timezones():
        if "/" in zone:  # EST and the like are no place's clock all year
            call(zone, zone, zone.rpartition("/")[2])
    for locale in locales:
        for zone, told in locale.time_zones.items():
            call(zone, *filter(None, [told.get("city")]))
        for zone, country in country_of.items():
            countries[_folded(locale.territories.get(country, country))].add(zone)
    places["utc"] = places["gmt"] = {"UTC"}
    return places, countries


def _countries() -> dict[str, str]:
    """The zones that are somewhere, each with its country, as the time zone database lists them."""
    rows = (line.split("\t") for line in _table("zone.tab") if not line.startswith("#"))
    return {zone: country for country, _, zone, *_ in rows}


def _links() -> dict[str, str]:
    """Other names of zones: `Europe/Kiev` is `Europe/Kyiv`."""
    rows = (line.split() for line in _table("tzdata.zi") if line.startswith("L "))
    return {link: zone for _, zone, link in rows}


def _table(name: str) -> list[str]:
    return (files("tzdata") / "zoneinfo" / name).read_text("utf-8").splitlines()


def _folded(name: str) -> str:
    """A name without what people leave out or write otherwise: case, accents, marks between words."""
    plain = "".join(mark for mark in unicodedata.normalize("NFKD", name.casefold()) if not unicodedata.combining(mark))
    return " ".join(re.split(r"[\s_-]+", plain)).strip()
