"""What is wrong with the settings; apart from them, since reading them takes a moment that help need not wait for."""


class ConfigurationError(Exception):
    """A setting is wrong. The text names the setting and says what is allowed."""
