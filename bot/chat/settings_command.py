"""/settings: what holds for a chat, and the way to each command that changes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.commands import Answer, Command, CommandCall
from config.texts import LANGUAGES, N_, _, spoken
from memory.buttons import Button, in_rows
from memory.reminders.wording import day_and_hour
from memory.service.preferences import Notices

if TYPE_CHECKING:
    from memory.clock import Clock, ZoneOf
    from memory.log.sessions import Session
    from memory.service.preferences import NoticesOf, PreferenceStore
    from pipeline.models.routing import ModelChoice

BUTTONS_PER_ROW = 2
NOTICES = {Notices.ON: N_("On"), Notices.QUIET: N_("Quiet"), Notices.OFF: N_("Off")}


def all_settings() -> Button:
    """The way back to /settings from what one of its buttons has shown."""
    return Button(_("All settings"), "/settings", in_place=True)


class SettingsCommand:
    """Shows what holds."""

    def __init__(
        self, preferences: PreferenceStore, models: ModelChoice, zone_of: ZoneOf, notices_of: NoticesOf, clock: Clock
    ) -> None:
        self._preferences = preferences
        self._models = models
        self._zone_of = zone_of
        self._notices_of = notices_of
        self._clock = clock

    def commands(self) -> list[Command]:
        """The command."""
        return [Command("settings", N_("What holds for this chat, and how to change it"), self.settings)]

    async def settings(self, call: CommandCall) -> Answer:
        """/settings"""
        lines = [f"- {text} /{name}" for name, text in (await self._present(call.session)).items()]
        ways = [Button(label, f"/{name}", in_place=True) for name, label in _labels(call.session).items()]
        return Answer("\n".join([_("What holds in this chat:"), *lines]), in_rows(ways, BUTTONS_PER_ROW))

    async def _present(self, session: Session) -> dict[str, str]:
        """What holds, by the command that changes it."""
        chosen, zone = self._preferences.known(session.address.owner), self._zone_of(session.id)
        hour, model = day_and_hour(self._clock(), zone), await self._models.of(session.address.owner)
        return {
            "language": _language(chosen=chosen.language is not None),
            "timezone": _("Time zone: **{zone}**, where it is {hour}.", zone=zone.key, hour=hour),
            "notices": _("Notices: **{notices}**.", notices=_(NOTICES[self._notices_of(session.id)])),
            "model": _("Model: **{model}**.", model=model.name),
            "private": _("This talk is private.") if session.private else _("This talk is kept."),
        }


def _language(*, chosen: bool) -> str:
    language = LANGUAGES[spoken()]
    if chosen:
        return _("Language: **{language}**.", language=language)
    return _("Language: **{language}**, as your app is set.", language=language)


def _labels(session: Session) -> dict[str, str]:
    labels = {
        "language": _("Language"),
        "timezone": _("Time zone"),
        "notices": _("Notices"),
        "model": _("Model"),
        "private": _("Begin a private talk"),
    }
    if session.private:  # /new ends it
        del labels["private"]
    return labels
