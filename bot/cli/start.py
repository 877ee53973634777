"""What every command of the command line begins with: the settings and the logging that they ask for."""

from __future__ import annotations

from config.logs import configure_logging
from config.settings import Settings, load_settings

DATABASE_NAME = "mneme.db"


def settings_with_logging() -> Settings:
    """The settings, with logging as they say. Raises ConfigurationError."""
    settings = load_settings()
    configure_logging(settings.log_level, settings.log_format)
    return settings


def quiet_settings() -> Settings:
    """The settings, with logging that leaves the screen to the person: errors only, unless they ask for more."""
    settings = load_settings()
    level = settings.log_level if "log_level" in settings.model_fields_set else "error"
    configure_logging(level, settings.log_format)
    return settings
