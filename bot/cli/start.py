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
    """Import the library for logs without rich, which takes 4 MB and only colours tracebacks.

    Commands that draw tables import it later.
    """
    from config.process import hidden_modules

    with hidden_modules("rich", "pygments"):
        import structlog  # noqa: F401


def import_telegram() -> None:
    """Import Telegram's library without packages for what Mneme doesn't use.

    These are cryptography (7 MB), which decrypts passports, and rich, which httpx needs for its command.
    """
    from config.process import hidden_modules

    with hidden_modules("cryptography", "rich", "pygments"):
        import telegram  # noqa: F401
