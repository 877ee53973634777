"""Errors of the settings. They have their own module, since importing the settings is slow."""


class ConfigurationError(Exception):
    """Raised if a setting is wrong. The text names the setting and says what is allowed."""
