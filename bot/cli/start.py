"""What every command of the command line begins with: the settings and the logging that they ask for.

What takes time to import is imported when a command runs: `--help` needs none of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from config.settings import Settings


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
