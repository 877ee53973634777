"""`mneme model`: the local models, listed and fetched, and the model servers that run near by, offered."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

from bot.setup.questions import write_settings
from config.models import load_catalogue, own_model
from config.settings import settings_file
from pipeline.local.local_servers import NO_KEY, USUAL_PORTS, find_local_servers

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from config.models import LocalModel
    from config.settings import Settings
    from pipeline.local.local_servers import LocalServer
    from pipeline.local.model_files import PullProgress


def show_models(settings: Settings) -> None:
    from pipeline.local.model_files import is_present

    catalogue = load_catalogue()
    table = Table("model", "size", "memory", "here", "quality", "licence", "what it is", box=None, pad_edge=False)
    for model in catalogue.local_models:
        table.add_row(
            f"{model.name} (default)" if model.name == catalogue.default_local else model.name,
            f"{model.size_bytes / 1e9:.1f} GB",
            f"{model.resident_bytes / 1e9:.1f} GB",
            "yes" if is_present(model, settings.models_dir) else "no",
            model.quality,
            model.licence,
            model.description,
        )
    Console().print(table)


def pull_model(
    settings: Settings,
    name: str | None,
    *,
    if_needed: bool,
    env_file: Path | None = None,
    ports: Mapping[str, int] = USUAL_PORTS,
) -> None:
    """Fetch a local model and show how far it is. if_needed: only when the chat would use it and lacks it.

    Before anything is fetched, the engine that is to run it is tried, and with if_needed a model server of this
    machine is offered instead. Raises EmbeddedModelError, ModelFilesError or CatalogueError, in one sentence.
    """
    from pipeline.local.engine import check_engine
    from pipeline.local.model_files import is_present

    if if_needed and settings.has_endpoint:
        return
    if name is None and settings.own_weights is not None:
        own_model(settings.own_weights)
        check_engine()
        return
    model = load_catalogue().local(name or (None if settings.has_endpoint else settings.llm_model))
    if if_needed and takes_one_near_by(settings, env_file, ports):
        return
    check_engine()
    if not (if_needed and is_present(model, settings.models_dir)):
        _fetch(model, settings.models_dir)


def takes_one_near_by(settings: Settings, env_file: Path | None = None, ports: Mapping[str, int] = USUAL_PORTS) -> bool:
    """Where nothing could answer yet, offer the first model server here that has a model; whether it was taken."""
    from pipeline.local.model_files import is_present

    if settings.has_endpoint or settings.own_weights is not None:
        return False
    model = load_catalogue().local(settings.llm_model)
    if is_present(model, settings.models_dir):
        return False
    servers = [server for server in asyncio.run(find_local_servers(ports)) if server.models]
    if not servers:
        return False
    server = servers[0]
    address = f"{server.name} runs on this machine and has {server.listed(6)}."
    # nothing is written that nobody has agreed to
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        typer.echo(f"{address} `mneme setup` connects it; for now the embedded model is used.", err=True)
        return False
    typer.echo(address, err=True)
    if not typer.confirm(f"Use it instead of fetching {model.size_bytes / 1e9:.1f} GB?", default=True, err=True):
        return False
    name = server.models[0]
    if len(server.models) > 1:
        name = typer.prompt("Which model?", default=name, err=True, value_proc=lambda address: _one_of(server, address))
    env_file = env_file or settings_file()
    write_settings(env_file, OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY=NO_KEY, LLM_MODEL=name)
    typer.echo(f"{name} at {server.base_url} it is; that stands in {env_file}.", err=True)
    return True


def _fetch(model: LocalModel, models_dir: Path) -> None:
    from pipeline.local.model_files import pull

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        task = progress.add_task(model.name, total=model.size_bytes)

        def report(state: PullProgress) -> None:
            progress.update(task, completed=state.done_bytes)
            if state.note:
                progress.console.print(state.note)

        path = pull(model, models_dir, report)
        progress.update(task, completed=model.size_bytes)
    console.print(f"{model.name} is in {path}.")


def _one_of(server: LocalServer, text: str) -> str:
    if text.strip() not in server.models:
        raise typer.BadParameter(f"choose one of {', '.join(server.models)}")
    return text.strip()
