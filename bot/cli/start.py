"""The start of every command: settings and logging.

Slow imports happen when a command runs, so that `--help` is fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from config.settings import Settings


def load_settings_with_logging(*, quiet: bool = False) -> Settings:
    """Load the settings and configure logging. Raises ConfigurationError.

    Args:
        quiet: log only errors, unless LOG_LEVEL is set.
    """
    from bot.features.registry import installed_features
    from config.loading import load_settings
    from config.logs import configure_logging

    installed_features()  # Those of other packages declare settings too
    settings = load_settings()
    level = "error" if quiet and "log_level" not in settings.model_fields_set else settings.log_level
    configure_logging(level, settings.log_format)
    return settings
