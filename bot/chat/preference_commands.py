"""Commands on how a chat wants to be spoken to: /language /notices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.commands import Answer, Command, CommandCall, CommandResult, WrongArgument
from bot.chat.languages import language_called
from bot.chat.settings_command import NOTICES, all_settings
from config.texts import LANGUAGES, N_, _, speaking, spoken
from memory.buttons import Button, in_rows
from memory.service.preferences import Notices

if TYPE_CHECKING:
    from memory.buttons import Keyboard
    from memory.service.preferences import NoticesOf, PreferenceStore

AUTO = "auto"
"""Has the language follow the program that the person writes with."""
LANGUAGES_PER_ROW = 3
_PRESENT_NOTICES = {
    Notices.ON: N_(
        "Notices are **on**: under my answers I say what I learned and what I offer, and what comes unasked has its "
        "sound."
    ),
    Notices.QUIET: N_(
        "Notices are **quiet**: under my answers I say what I learned and what I offer, and what comes unasked has no "
        "sound. Reminders keep theirs."
    ),
    Notices.OFF: N_(
        "Notices are **off**: I don't say what I learned, and offer nothing. What you ask for still comes, such as a "
        "reminder."
    ),
}
"""What /notices says, by what holds."""


class PreferenceCommands:
    """What the commands do: each parses its argument, keeps what was chosen and says what holds now."""

    def __init__(self, preferences: PreferenceStore, notices_of: NoticesOf) -> None:
        self._preferences = preferences
        self._notices_of = notices_of

    def commands(self) -> list[Command]:
        """The commands."""
        return [
            Command("language", N_("Which language I speak"), self.language, "[NAME]", repeatable=True),
            Command("notices", N_("What I tell unasked"), self.notices, "[on|quiet|off]", repeatable=True),
        ]

    async def language(self, call: CommandCall) -> CommandResult:
        """/language [NAME|auto]"""
        chat = call.session.address.owner
        if not call.argument:
            return Answer(_present_language(), await self._languages(chat))
        code = language_called(call.argument)
        if code is None and call.argument.lower() != AUTO:
            raise WrongArgument(
                _(
                    "I don't speak {name}: choose one of {languages}.",
                    name=call.argument[:40],
                    languages=_all_languages(),
                )
            )
        await self._preferences.change(chat, language=code)
        with speaking(await self._preferences.language(chat)):
            return Answer(_present_language(), await self._languages(chat))

    async def notices(self, call: CommandCall) -> CommandResult:
        """/notices [on|quiet|off]"""
        wanted = call.argument.lower()
        if wanted and wanted not in set(Notices):
            raise WrongArgument(_("/notices takes on, quiet or off."))
        if wanted:
            await self._preferences.change(call.session.address.owner, notices=Notices(wanted))
        present = self._notices_of(call.session.id)
        choice = [_choice(_(name), f"/notices {one}", chosen=one is present) for one, name in NOTICES.items()]
        return Answer(_(_PRESENT_NOTICES[present]), (tuple(choice), (all_settings(),)))

    async def _languages(self, chat: str) -> Keyboard:
        """A button for each language, by its own name, with the present one marked."""
        wanted = (await self._preferences.get(chat)).language
        named = [_choice(name, f"/language {code}", chosen=code == wanted) for code, name in LANGUAGES.items()]
        auto = _choice(_("As my app is set"), f"/language {AUTO}", chosen=wanted is None)
        return (*in_rows(named, LANGUAGES_PER_ROW), (auto,), (all_settings(),))


def _present_language() -> str:
    return _(
        "I speak {language} here. /language with a name changes that, such as /language Deutsch: I know {languages}. "
        "With /language auto it is what your app is set to.",
        language=f"**{LANGUAGES[spoken()]}**",
        languages=_all_languages(),
    )


def _all_languages() -> str:
    return ", ".join(LANGUAGES.values())


def _choice(label: str, text: str, *, chosen: bool) -> Button:
    """A button in place that chooses one of several, marked where it is chosen already."""
    return Button(f"✓ {label}" if chosen else label, text, in_place=True)
