"""`mneme model`: the local models, listed and fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

from config.models import load_catalogue

if TYPE_CHECKING:
    from config.settings import Settings
    from pipeline.local.model_files import PullProgress


def show_models(settings: Settings) -> None:
    """Print the local models: name, size, whether they are here, what they can do."""
    from pipeline.local.model_files import is_present

    catalogue = load_catalogue()
    table = Table("model", "size", "here", "what it is", box=None, pad_edge=False)
    for model in catalogue.local_models:
        here = "yes" if is_present(model, settings.models_dir) else "no"
        name = f"{model.name} (default)" if model.name == catalogue.default_local else model.name
        table.add_row(name, f"{model.size_bytes / 1e9:.1f} GB", here, f"{model.description} {model.licence}")
    Console().print(table)


def pull_model(settings: Settings, name: str | None, *, if_needed: bool) -> None:
    """Fetch a local model and show how far it is. if_needed: only when the chat would use it and lacks it.

    Raises ModelFilesError or CatalogueError, in one sentence.
    """
    from pipeline.local.model_files import is_present, pull

    if if_needed and settings.has_endpoint:
        return
    model = load_catalogue().local(name or (None if settings.has_endpoint else settings.llm_model))
    if if_needed and is_present(model, settings.models_dir):
        return
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        task = progress.add_task(model.name, total=model.size_bytes)

        def report(state: PullProgress) -> None:
            progress.update(task, completed=state.done_bytes)
            if state.note:
                progress.console.print(state.note)

        path = pull(model, settings.models_dir, report)
        progress.update(task, completed=model.size_bytes)
    console.print(f"{model.name} is in {path}.")
