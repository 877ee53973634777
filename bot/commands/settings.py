"""/settings /language /timezone /notices /model: the settings of a chat."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar
from zoneinfo import ZoneInfo, available_timezones

from bot.commands.command import SETTINGS, Access, Answer, CommandCall, CommandResult, WrongArgument, command
from bot.services import MemoryServices
from config.texts import (
    LANGUAGES,
    N_,
    _,
    find_language,
    format_day_and_hour,
    format_dollars,
    format_number,
    get_language,
    name_setting,
    use_language,
)
from memory.buttons import Button, Keyboard, arrange_in_rows
from memory.clock import Clock
from memory.log.sessions import Session
from memory.runtime.preferences import Notices, Preferences
from memory.runtime.usage import PriceOf
from pipeline.models.model import ChatModel
from pipeline.models.routing import ModelChoice

BUTTONS_PER_ROW = 2
NOTICES = {Notices.ON: N_("On"), Notices.QUIET: N_("Quiet"), Notices.OFF: N_("Off")}

DEFAULT = "default"

AUTO = "auto"
"""Argument of /language to follow the user's app."""
LANGUAGES_PER_ROW = 3
_PRESENT_NOTICES = {
    Notices.ON: N_(
        "Notices are **on**: below my answers I tell you what I learned and make suggestions. Messages that you didn't"
        " ask for make a sound."
    ),
    Notices.QUIET: N_(
        "Notices are **quiet**: below my answers I tell you what I learned and make suggestions. Messages that you"
        " didn't ask for are silent, except for reminders."
    ),
    Notices.OFF: N_(
        "Notices are **off**: I don't tell you what I learned and make no suggestions. You still get what you asked"
        " for, such as reminders."
    ),
}

MAX_OFFERED_ZONES = 12
ZONES_PER_ROW = 2


def all_settings() -> Button:
    return Button(_("All settings"), "/settings", in_place=True)


@dataclass(frozen=True, slots=True)
class ChatSetting:
    """A line of `/settings`, with a button.

    Attributes:
        command: The command that shows and changes the setting.
        label: The label of the button, not translated yet.
        describe: Returns the present value as a sentence.
    """

    command: str
    label: str
    describe: Callable[[Preferences], str]


@dataclass(frozen=True, slots=True)
class SettingsCommands:
    heading: ClassVar = SETTINGS

    services: MemoryServices
    models: ModelChoice
    price_of: PriceOf
    clock: Clock
    added: Sequence[ChatSetting]  # Those of features

    @command("settings", N_("Show and change the settings of this chat"), access=Access.MANAGERS)
    async def settings(self, call: CommandCall) -> Answer:
        settings = await self._settings(call.session)
        lines = [f"- {present} /{name}" for name, _label, present in settings]
        # A private talk ends with /new, so it has no button here
        offered = [setting for setting in settings if not (setting[0] == "private" and call.session.private)]
        buttons = [Button(label, f"/{name}", in_place=True) for name, label, _present in offered]
        return Answer("\n".join([_("Settings of this chat:"), *lines]), arrange_in_rows(buttons, BUTTONS_PER_ROW))

    async def _settings(self, session: Session) -> list[tuple[str, str, str]]:
        zone, model = self.services.zone_of(session.id), await self.models.get(session.address.owner)
        chosen = self.services.preferences.get_cached(session.address.owner)
        hour, notices = format_day_and_hour(self.clock(), zone), _(NOTICES[self.services.notices_of(session.id)])
        language = LANGUAGES[get_language()]
        if chosen.language is not None:
            speaks = _("Language: **{language}**.", language=language)
        else:
            speaks = _("Language: **{language}**, the same as in your app.", language=language)
        privacy = _("This conversation is private.") if session.private else _("This conversation is saved.")
        return [
            ("language", _("Language"), speaks),
            ("timezone", _("Time zone"), _("Time zone: **{zone}**, where it is {hour}.", zone=zone.key, hour=hour)),
            ("notices", _("Notices"), _("Notices: **{notices}**.", notices=notices)),
            *((each.command, _(each.label), each.describe(chosen)) for each in self.added),
            ("model", _("Model"), _("Model: **{model}**.", model=model.name)),
            ("private", _("Start a private conversation"), privacy),
        ]

    @command("language", N_("Language of this chat"), "[NAME]", repeatable=True, access=Access.MANAGERS)
    async def language(self, call: CommandCall) -> CommandResult:
        chat = call.session.address.owner
        if not call.argument:
            return Answer(_present_language(), await self._language_buttons(chat))
        code = find_language_code(call.argument)
        if code is None and call.argument.lower() != AUTO:
            raise WrongArgument(
                _(
                    "I don't speak {name}: choose one of {languages}.",
                    name=call.argument[:40],
                    languages=_all_languages(),
                )
            )
        await self.services.preferences.change(chat, language=code)
        with use_language(await self.services.preferences.get_language(chat)):
            return Answer(_present_language(), await self._language_buttons(chat))

    async def _language_buttons(self, chat: str) -> Keyboard:
        current = (await self.services.preferences.get(chat)).language
        named = [choice_button(name, f"/language {code}", chosen=code == current) for code, name in LANGUAGES.items()]
        auto = choice_button(_("Same as my app"), f"/language {AUTO}", chosen=current is None)
        return (*arrange_in_rows(named, LANGUAGES_PER_ROW), (auto,), (all_settings(),))

    @command("timezone", N_("Time zone of this chat"), "[CITY]", repeatable=True, access=Access.MANAGERS)
    async def timezone(self, call: CommandCall) -> CommandResult:
        if not call.argument:
            text = _(
                "It is {hour} here ({zone}). To change the time zone, send a city or a country: /timezone Kyiv.",
                **self._now(self.services.zone_of(call.session.id)),
            )
            return Answer(text, ((all_settings(),),))
        zones = await asyncio.to_thread(find_zones, call.argument)  # The first call loads large tables
        if len(zones) == 1:
            return Answer(await self._set_zone(call, zones[0]), ((all_settings(),),))
        if not zones or len(zones) > MAX_OFFERED_ZONES:
            raise WrongArgument(_no_single_zone(call.argument[:40], len(zones)))
        choice = [Button(zone, f"/timezone {zone}", in_place=True) for zone in zones]
        return Answer(
            _("Which one: {zones}?", zones=", ".join(zones)),
            (*arrange_in_rows(choice, ZONES_PER_ROW), (all_settings(),)),
        )

    async def _set_zone(self, call: CommandCall, zone: str) -> str:
        await self.services.preferences.change(call.session.address.owner, zone=zone)
        return _(
            "Times here are now in {zone}, where it is {hour}. Existing reminders keep their time zone.",
            **self._now(ZoneInfo(zone)),
        )

    def _now(self, zone: ZoneInfo) -> dict[str, str]:
        return {"zone": f"**{zone.key}**", "hour": format_day_and_hour(self.clock(), zone)}

    @command(
        "notices",
        N_("Choose what I tell you without being asked"),
        "[on|quiet|off]",
        repeatable=True,
        access=Access.MANAGERS,
    )
    async def notices(self, call: CommandCall) -> CommandResult:
        notices = call.argument.lower()
        if notices and notices not in set(Notices):
            raise WrongArgument(_("Send /notices on, /notices quiet or /notices off."))
        if notices:
            await self.services.preferences.change(call.session.address.owner, notices=Notices(notices))
        present = self.services.notices_of(call.session.id)
        choice = [
            choice_button(_(name), f"/notices {value}", chosen=value is present) for value, name in NOTICES.items()
        ]
        return Answer(_(_PRESENT_NOTICES[present]), (tuple(choice), (all_settings(),)))

    @command(
        "model",
        N_("Show the models and choose one for this chat"),
        "[NAME|default]",
        repeatable=True,
        access=Access.MANAGERS,
    )
    async def model(self, call: CommandCall) -> CommandResult:
        chat = call.session.address.owner
        if call.argument:
            await self.models.choose(chat, self._find_model(call.argument))
        present = await self.models.get(chat)
        # Asks the endpoint for the context window of its models, which the lines below include
        await asyncio.gather(*(model.learn_facts() for model in self.models.models.values()))
        lines = [_("This chat uses **{model}**.", model=present.name), ""]
        lines += [self._model_line(model, chosen=model is present) for model in self.models.models.values()]
        lines += ["", self._other_models()]
        others = (model for model in self.models.models.values() if model is not present)
        rows = [(Button(model.name, f"/model {model.name}", in_place=True),) for model in others]
        return Answer("\n".join(lines), (*rows, (all_settings(),)))

    def _find_model(self, target: str) -> str | None:
        """Find a model by its name or an unambiguous part of it. Return None for the default. Raises WrongArgument."""
        if target.casefold() == DEFAULT:
            return None
        names = list(self.models.models)
        exact = [name for name in names if name.casefold() == target.casefold()]
        fitting = exact or [name for name in names if target.casefold() in name.casefold()]
        if len(fitting) != 1:
            listed = ", ".join(f"`{name}`" for name in names)
            raise WrongArgument(_("I don't know which model you mean: choose one of {models}.", models=listed))
        return fitting[0]

    def _model_line(self, model: ChatModel, *, chosen: bool) -> str:
        price = self.price_of(model.name)
        window = format_number(model.window.max_input_tokens)
        if price is None:
            text = _("**{model}** reads {window} tokens; I don't know its price.", model=model.name, window=window)
        elif not price.usual.input and not price.usual.output:
            text = _("**{model}** reads {window} tokens and is free.", model=model.name, window=window)
        else:
            text = _(
                "**{model}** reads {window} tokens; a million tokens cost {input} to read and {output} to write.",
                model=model.name,
                window=window,
                input=format_dollars(price.usual.input),
                output=format_dollars(price.usual.output),
            )
        return f"- ✓ {text}" if chosen else f"- {text}"

    def _other_models(self) -> str:
        if len(self.models.models) == 1:
            return name_setting(_("There is no other model to choose."), "LLM_MODELS")
        return _(
            "`/model NAME` chooses another one for this chat, and `/model default` goes back to {usual}.",
            usual=self.models.usual.name,
        )


def find_language_code(name: str) -> str | None:
    """Return the code of an interface language by its name in any of them, or None."""
    if (code := find_language(name.strip())) is not None:
        return code
    from babel import Locale  # Slow to import: a tenth of a second

    folded = name.strip().casefold()
    for code in LANGUAGES:
        if folded in {str(Locale(language).languages.get(code)).casefold() for language in LANGUAGES}:
            return code
    return None


def _present_language() -> str:
    return _(
        "This chat is in {language}. To change it, choose one of {languages}, such as /language Deutsch, or send"
        " /language auto to use your app's language.",
        language=f"**{LANGUAGES[get_language()]}**",
        languages=_all_languages(),
    )


def _all_languages() -> str:
    return ", ".join(LANGUAGES.values())


def choice_button(label: str, text: str, *, chosen: bool) -> Button:
    """Return a button that chooses a value of a setting."""
    return Button(f"✓ {label}" if chosen else label, text, in_place=True)


def _no_single_zone(name: str, count: int) -> str:
    if count:
        return _("Several time zones have that name: send a city, such as /timezone Kyiv.")
    return _(
        "I don't know a place called {name}: try a larger city nearby, such as /timezone Kyiv, or a country.", name=name
    )


def find_zones(name: str) -> list[str]:
    """Return the time zones that a name may mean, sorted. Exact names take precedence over prefixes."""
    folded = _normalize(name)
    if not folded:
        return []
    cities, countries = _zone_names()
    zones = cities.get(folded) or countries.get(folded)
    return sorted(zones or {zone for city in cities if city.startswith(folded) for zone in cities[city]})


@lru_cache(maxsize=1)
def _zone_names() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return time zones by the names of cities and of countries, in all interface languages, from CLDR."""
    from babel import Locale
    from babel.core import get_global

    available = available_timezones()
    # Skip zones without a place, such as Etc/GMT-3
    country_of = {
        zone: country
        for zone, country in get_global("zone_territories").items()
        if zone in available and not zone.startswith("Etc/")
    }
    zone_called = {**get_global("zone_aliases"), **{zone: zone for zone in country_of}}
    cities: dict[str, set[str]] = defaultdict(set, utc={"UTC"}, gmt={"UTC"})
    countries: dict[str, set[str]] = defaultdict(set)
    named = [(zone, zone) for zone in zone_called] + [(zone, zone.rpartition("/")[2]) for zone in zone_called]
    for locale in map(Locale, LANGUAGES):
        named += [(zone, names["city"]) for zone, names in locale.time_zones.items() if "city" in names]
        for zone, country in country_of.items():
            countries[_normalize(locale.territories.get(country, country))].add(zone)
    for zone, name in named:
        if "/" in zone and zone_called.get(zone) in country_of:
            cities[_normalize(name)].add(zone_called[zone])
    return cities, countries


def _normalize(name: str) -> str:
    """Normalize a name: ignore case, accents and the separators of words."""
    plain = "".join(mark for mark in unicodedata.normalize("NFKD", name.casefold()) if not unicodedata.combining(mark))
    return " ".join(re.split(r"[\s_-]+", plain)).strip()
