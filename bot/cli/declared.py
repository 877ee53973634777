"""Imports the settings that features declare, without the features themselves."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from importlib.util import find_spec

import bot.features
from config.groups import find_entry_points


def import_settings() -> bool:
    """Import the module `settings` of each feature. Features of other packages are imported as a whole.

    Return False if one of those can't be imported, so that its settings are unknown.
    """
    for module in pkgutil.iter_modules(bot.features.__path__):
        name = f"bot.features.{module.name}.settings"
        if module.ispkg and find_spec(name) is not None:
            import_module(name)
    if find_entry_points():
        from bot.features.registry import load_features

        return not load_features()[1]
    return True
