"""/voice: which answers of a chat are voice messages too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bot.commands.command import SETTINGS, Access, Answer, CommandCall, CommandResult, WrongArgument, command
from bot.commands.settings import ChatSetting, all_settings, choice_button
from config.texts import N_, _
from memory.runtime.preferences import Preferences, PreferenceStore, VoiceReplies

_PRESENT = {
    VoiceReplies.AUTO: N_("Voice messages: **when you send one**, I answer with one too."),
    VoiceReplies.ALWAYS: N_("Voice messages: **every answer** is also sent as one."),
    VoiceReplies.NEVER: N_("Voice messages: I **never** send any."),
}
_CHOICES = {VoiceReplies.AUTO: N_("When I speak"), VoiceReplies.ALWAYS: N_("Always"), VoiceReplies.NEVER: N_("Never")}


@dataclass(frozen=True, slots=True)
class VoiceCommands:
    heading: ClassVar = SETTINGS

    preferences: PreferenceStore

    @command(
        "voice",
        N_("Choose which answers I send as voice messages"),
        "[auto|always|never]",
        repeatable=True,
        access=Access.MANAGERS,
    )
    async def voice(self, call: CommandCall) -> CommandResult:
        chat, value = call.session.address.owner, call.argument.lower()
        if value and value not in set(VoiceReplies):
            raise WrongArgument(_("Send /voice auto, /voice always or /voice never."))
        if value:
            await self.preferences.change(chat, voice=VoiceReplies(value))
        present = self.preferences.get_cached(chat).voice
        choice = [choice_button(_(label), f"/voice {name}", chosen=name is present) for name, label in _CHOICES.items()]
        return Answer(_(_PRESENT[present]), (tuple(choice), (all_settings(),)))


def _describe(chosen: Preferences) -> str:
    return _(_PRESENT[chosen.voice])


SETTING = ChatSetting("voice", N_("Voice"), _describe)
