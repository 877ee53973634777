"""Imports the settings that features declare, without the features themselves."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from importlib.util import find_spec

import bot.features
from config.groups import find_entry_points


def import_settings() -> None:
    """Import the module `settings` of each feature. Features of other packages are imported as a whole.

    Raises ConfigurationError if one can't be imported.
    """
    for module in pkgutil.iter_modules(bot.features.__path__):
        name = f"bot.features.{module.name}.settings"
        if module.ispkg and find_spec(name) is not None:
            import_module(name)
    if find_entry_points():
        from bot.features.registry import installed_features

        installed_features()
