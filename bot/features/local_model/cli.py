"""The commands `mneme model list` and `mneme model pull`."""

from __future__ import annotations

from typing import Annotated

import typer

from bot.cli.panels import UPKEEP
from bot.cli.start import load_settings_with_logging

model_cli = typer.Typer(help="Models that run on this machine.", no_args_is_help=True)


def add_to(cli: typer.Typer) -> None:
    cli.add_typer(model_cli, name="model", rich_help_panel=UPKEEP)


@model_cli.command("list")
def list_models() -> None:
    """List the local models, and which are downloaded."""
    from bot.features.local_model.pulling import show_models

    show_models(load_settings_with_logging(quiet=True))


@model_cli.command()
def pull(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A model from the list, or ORG/REPO/FILE.gguf on the Hugging Face hub. Default: the configured model, "
            "or else one that fits this machine's memory.",
        ),
    ] = None,
    if_needed: Annotated[bool, typer.Option("--if-needed", help="Do nothing if another model is configured.")] = False,
) -> None:
    """Download a local model and show the progress. An interrupted download continues where it stopped."""
    from bot.features.local_model.pulling import pull_model

    pull_model(load_settings_with_logging(quiet=True), name, if_needed=if_needed)
