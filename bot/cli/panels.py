"""The panels of `mneme --help`, and groups of commands to which several features add."""

from __future__ import annotations

import typer

TALK, MEMORY, PROGRAMS, UPKEEP = "Talk", "Memory", "Other programs", "Upkeep"


def find_or_add_group(cli: typer.Typer, name: str, panel: str) -> typer.Typer:
    """Return the group of commands with that name, added to `cli` if it has none yet."""
    for registered in cli.registered_groups:
        if registered.name == name and registered.typer_instance is not None:
            return registered.typer_instance
    group = typer.Typer()
    cli.add_typer(group, name=name, rich_help_panel=panel)
    return group
