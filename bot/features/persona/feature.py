"""The feature persona."""

from __future__ import annotations

from pathlib import Path

from bot.feature import Contributions, Feature
from bot.features.persona.commands import SETTING, PersonaCommands
from bot.features.persona.part import ORDER, PersonaPart
from bot.features.persona.settings import PersonaSettings
from bot.kernel import Kernel
from config.errors import ConfigurationError

MAX_FILE_CHARS = 8_000
"""Maximum length of the file PERSONA. It is a part of every request."""


class PersonaFeature(Feature):
    name = "persona"

    async def open(self, kernel: Kernel) -> Contributions:
        preferences, file = kernel.memory.preferences, kernel.settings.group(PersonaSettings).persona
        common = read_persona(file) if file is not None else ""
        return Contributions(
            commands=[PersonaCommands(preferences)],
            chat_settings=[SETTING],
            prompt=[(ORDER, PersonaPart(common, preferences))],
        )


def read_persona(file: Path) -> str:
    """Return the text of the file PERSONA. Raises ConfigurationError if it can't be used."""
    try:
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise ConfigurationError(f"PERSONA: {file} can't be read ({reason}): correct it or leave it out.") from error
    if len(text) > MAX_FILE_CHARS:
        raise ConfigurationError(f"PERSONA: {file} has more than {MAX_FILE_CHARS} characters: shorten it.")
    return text
