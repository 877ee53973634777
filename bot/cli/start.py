"""What every command of the command line begins with: the settings and the logging that they ask for.

What takes time to import is imported when a command runs: `--help` needs none of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from config.settings import Settings

DATABASE_NAME = "mneme.db"
# The file with the settings of a bot that deploy/install.sh has installed, by the bot's name.
_SERVER = re.compile(r"/etc/mneme/([a-z][a-z0-9-]*)\.env")


def how_to_start() -> str:
    """The command that starts the bot here: at a checkout, or on a server."""
    from config.settings import settings_file

    server = _SERVER.fullmatch(str(settings_file()))
    if server is None:
        return "mneme run"
    return f"sudo systemctl restart {'mneme' if server[1] == 'mneme' else f'mneme@{server[1]}'}"


def how_to_chat() -> str:
    """The command that talks at the terminal here."""
    from config.settings import settings_file

    server = _SERVER.fullmatch(str(settings_file()))
    if server is None:
        return "mneme chat"
    return f"sudo mneme {'' if server[1] == 'mneme' else f'@{server[1]} '}chat"


def settings_with_logging(*, quiet: bool = False) -> Settings:
    """The settings, with logging as they say. Raises ConfigurationError.

    quiet: the screen is left to the person: errors only, unless they ask for more.
    """
    from config.logs import configure_logging
    from config.settings import load_settings

    settings = load_settings()
    level = "error" if quiet and "log_level" not in settings.model_fields_set else settings.log_level
    configure_logging(level, settings.log_format)
    return settings
