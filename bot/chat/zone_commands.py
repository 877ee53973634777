"""/timezone: on which clock the hours of a chat are, by the name of a city or by where the person is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from bot.chat.commands import Answer, Command, CommandCall, CommandResult, WrongArgument
from bot.chat.settings_command import all_settings
from bot.chat.zone_names import zone_at, zones_called
from config.texts import N_, _
from memory.buttons import PLACE, Button, in_rows
from memory.reminders.wording import day_and_hour

if TYPE_CHECKING:
    from memory.clock import Clock, ZoneOf
    from memory.service.preferences import PreferenceStore

MOST_OFFERED = 12
"""Zones at most among which one is to choose."""
ZONES_PER_ROW = 2
PLACE_MINUTES = 10
"""How long what somebody says of where they are is taken for the answer."""
_PLACE = re.compile(r"[-\d., ]+")


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
                "It is {hour} here, on the clock of {zone}. If yours is another one, share your location, or name a "
                "city: /timezone Kyiv.",
                **self._now(self._zone_of(call.session.id)),
            )
            share = Button(_("Share my location"), f"/timezone {PLACE}", minutes=PLACE_MINUTES)
            return Answer(text, ((share,), (all_settings(),)))
        if _PLACE.fullmatch(call.argument):
            zone = await zone_at(call.argument)
            if zone is None:
                raise WrongArgument(_("I don't know which zone that is: name a city, such as /timezone Kyiv."))
            return await self._set(call, zone)  # without buttons, so that the one for the location goes
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
