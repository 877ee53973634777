"""/rich: how tables and headings of a chat look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bot.commands.command import SETTINGS, Access, Answer, CommandCall, CommandResult, WrongArgument, command
from bot.commands.settings import ChatSetting, all_settings, choice_button
from config.texts import N_, _
from memory.runtime.preferences import Preferences, PreferenceStore

_SHORT = {True: N_("formatted by Telegram"), False: N_("as plain text")}
_PRESENT = {
    True: N_(
        "Tables, headings, quotes and nested lists are **formatted by Telegram**, in one message. Older apps may not"
        " show them well."
    ),
    False: N_("Tables, headings, quotes and nested lists are sent **as plain text**, which every app can show."),
}


@dataclass(frozen=True, slots=True)
class RichCommands:
    heading: ClassVar = SETTINGS

    preferences: PreferenceStore

    @command("rich", N_("Choose how tables and headings look"), "[on|off]", repeatable=True, access=Access.MANAGERS)
    async def rich(self, call: CommandCall) -> CommandResult:
        chosen = call.argument.lower()
        if chosen not in ("", "on", "off"):
            raise WrongArgument(_("Send /rich on or /rich off."))
        chat = call.session.address.owner
        if chosen:
            await self.preferences.change(chat, rich=chosen == "on")
        present = (await self.preferences.get(chat)).rich
        choices = [(_("By Telegram"), "/rich on", True), (_("As text"), "/rich off", False)]
        choice = [choice_button(label, text, chosen=value is present) for label, text, value in choices]
        return Answer(_(_PRESENT[present]), (tuple(choice), (all_settings(),)))


def _describe(chosen: Preferences) -> str:
    return _("Tables and headings: **{present}**.", present=_(_SHORT[chosen.rich]))


SETTING = ChatSetting("rich", N_("Layout"), _describe)
