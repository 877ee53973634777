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
    _import_without_rich()
    from bot.cli.declared import import_settings
    from config.loading import load_settings
    from config.logs import configure_logging

    import_settings()
    settings = load_settings()
    level = "error" if quiet and "log_level" not in settings.model_fields_set else settings.log_level
    configure_logging(level, settings.log_format)
    return settings


def _import_without_rich() -> None:
    """Import the libraries that would import rich for what Mneme doesn't use: coloured tracebacks and httpx's command.

    Rich takes 4 MB. Commands that draw tables import it later.
    """
    from config.process import hidden_modules

    with hidden_modules("rich", "pygments"):
        import httpx  # noqa: F401
        import structlog  # noqa: F401


def import_telegram() -> None:
    """Import Telegram's library without cryptography, which takes 7 MB and only decrypts passports."""
    from config.process import hidden_modules

    with hidden_modules("cryptography"):
        import telegram  # noqa: F401
