"""/persona: the character of the bot in a chat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bot.commands.command import SETTINGS, Access, Answer, CommandCall, CommandResult, WrongArgument, command
from bot.commands.settings import ChatSetting, all_settings
from config.texts import N_, _, shorten_to_line
from memory.buttons import Button
from memory.messages import make_storable
from memory.runtime.preferences import Preferences, PreferenceStore

DEFAULT = "default"
MAX_CHARS = 1_000
_SHOWN_CHARS = 80


@dataclass(frozen=True, slots=True)
class PersonaCommands:
    heading: ClassVar = SETTINGS

    preferences: PreferenceStore

    @command("persona", N_("Choose my name and character"), "[TEXT|default]", repeatable=True, access=Access.MANAGERS)
    async def persona(self, call: CommandCall) -> CommandResult:
        chat, text = call.session.address.owner, make_storable(call.argument).strip()
        if len(text) > MAX_CHARS:
            raise WrongArgument(_("That is too long: describe my character in {n} characters or less.", n=MAX_CHARS))
        if text:
            await self.preferences.change(chat, persona=None if text.lower() == DEFAULT else text)
        chosen = self.preferences.get_cached(chat)
        hint = _("Change it with words such as: /persona You are Ada, and you answer like a patient teacher.")
        reset = (Button(_("Default"), f"/persona {DEFAULT}"),) if chosen.persona else ()
        return Answer(f"{_describe(chosen)}\n{hint}", tuple(row for row in (reset, (all_settings(),)) if row))


def _describe(chosen: Preferences) -> str:
    if chosen.persona is None:
        return _("My character: the **default**.")
    return _("My character: **{text}**", text=shorten_to_line(chosen.persona, _SHOWN_CHARS))


SETTING = ChatSetting("persona", N_("Character"), _describe)
