"""`mneme features`, which also runs if the bot can't start because of a feature."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from bot.cli.start import load_settings_with_logging

if TYPE_CHECKING:
    from bot.feature import Feature


def features() -> None:
    """List the features, and why some are off or broken."""
    from bot.feature import find_clashes, list_enabled
    from bot.features.registry import load_features

    settings = load_settings_with_logging(quiet=True)
    loaded, broken = load_features()
    for feature in loaded:
        reason = feature.why_off(settings)
        typer.echo(f"{feature.name:12} {'on' if reason is None else f'off: {reason}'}")
    for unusable in broken:
        typer.echo(f"{unusable.name:12} broken: {unusable.package} can't be loaded ({unusable.reason})")
    enabled = list_enabled(loaded, settings)
    for clash in find_clashes((feature, command) for feature in enabled for command in _find_commands(feature)):
        typer.echo(clash)


def _find_commands(feature: Feature) -> set[str]:
    """Return the names of the commands in the loaded modules of a feature from another package.

    Only the start of the bot creates the commands of all features.
    """
    from bot.commands.command import find_declared

    package = type(feature).__module__.partition(".")[0]
    if package == __name__.partition(".")[0]:
        return set()
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == package]
    classes = {value for module in modules for value in vars(module).values() if isinstance(value, type)}
    own = [each for each in classes if each.__module__.partition(".")[0] == package]
    return {command.name for each in own for command in find_declared(each).values()}
