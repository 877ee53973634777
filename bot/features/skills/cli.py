"""`mneme skills`: list and remove skills."""

from __future__ import annotations

from typing import Annotated

import typer

from bot.cli.panels import UPKEEP
from bot.cli.start import load_settings_with_logging

cli = typer.Typer(help="The skills of the bot: list, remove.", no_args_is_help=True)


def add_to(parent: typer.Typer) -> None:
    parent.add_typer(cli, name="skills", rich_help_panel=UPKEEP)


@cli.command("list")
def list_skills() -> None:
    """List the skills in the data directory with their descriptions."""
    from bot.features.skills.folder import FOLDER, Skill, Skills

    folder = load_settings_with_logging(quiet=True).mneme_data_dir
    found = Skills(folder).scan()
    if not found:
        typer.echo(f"There are no skills in {folder / FOLDER}.", err=True)
    for name, skill in found.items():
        typer.echo(f"{name}  {skill.description if isinstance(skill, Skill) else f'(not used: {skill})'}")


@cli.command("remove")
def remove_skill(name: Annotated[str, typer.Argument(metavar="NAME", help="Its name in `mneme skills list`.")]) -> None:
    """Delete the folder of a skill."""
    from bot.features.skills.folder import Skills

    Skills(load_settings_with_logging(quiet=True).mneme_data_dir).remove(name)
    typer.echo(f"{name} was removed.")
