"""/voice: which answers come as voice messages too, where a model that speaks is set."""

from __future__ import annotations

from dataclasses import dataclass

from bot.commands.command import Access, Answer, CommandCall, CommandResult, WrongArgument, command
from bot.commands.settings import VOICE_NOW, all_settings, choice_button
from config.texts import N_, _
from memory.service.preferences import PreferenceStore, VoiceReplies

_LABELS = {VoiceReplies.AUTO: N_("When I speak"), VoiceReplies.ALWAYS: N_("Always"), VoiceReplies.NEVER: N_("Never")}


@dataclass(frozen=True, slots=True)
class VoiceCommands:
    """What the command does."""

    preferences: PreferenceStore

    @command("voice", N_("Which answers I speak"), "[auto|always|never]", repeatable=True, access=Access.MANAGERS)
    async def voice(self, call: CommandCall) -> CommandResult:
        chat, value = call.session.address.owner, call.argument.lower()
        if value and value not in set(VoiceReplies):
            raise WrongArgument(_("/voice takes auto, always or never."))
        if value:
            await self.preferences.change(chat, voice=VoiceReplies(value))
        present = self.preferences.known(chat).voice or VoiceReplies.AUTO
        choice = [choice_button(_(label), f"/voice {name}", chosen=name is present) for name, label in _LABELS.items()]
        return Answer(_(VOICE_NOW[present]), (tuple(choice), (all_settings(),)))
