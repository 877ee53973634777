"""Errors of the settings. They have their own module, since importing the settings is slow."""


class ConfigurationError(Exception):
    """Raised if settings are wrong. Each problem names the setting and says what is allowed, in one sentence."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems
