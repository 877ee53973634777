"""`mneme model`: the local models, listed and fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from config.models import load_catalogue

if TYPE_CHECKING:
    from config.settings import Settings


def show_models(settings: Settings) -> None:
    """Print the local models: name, size, whether they are here, what they can do."""
    from pipeline.model_files import is_present

    catalogue = load_catalogue()
    table = Table("model", "size", "here", "what it is", box=None, pad_edge=False)
    for model in catalogue.local_models:
        here = "yes" if is_present(model, settings.models_dir) else "no"
        name = f"{model.name} (default)" if model.name == catalogue.default_local else model.name
        table.add_row(name, f"{model.size_bytes / 1e9:.1f} GB", here, f"{model.description} {model.licence}")
    Console().print(table)
