"""Choice of the local model, with its prompt and tools."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from bot.features.local_model.gguf import read_trained_window
from bot.features.local_model.model_files import get_weights_path, is_present, set_real_size
from config.errors import ConfigurationError
from config.hub_files import HUB_FOLDER, HubFile, is_hub_name, parse_hub_file
from config.models import CatalogueError, EmbeddedModel, LocalModel, ModelCatalogue
from config.settings import Settings

PULLED_STYLE = "small"
PULLED_TOOLS = ("memory_recall", "note_add", "reminder_set", "reminder_list", "reminder_cancel")
"""Tools for hub models that are not in the catalogue. They are few, since the model may be small."""

OWN_WINDOW, OWN_ANSWER = 8192, 2048
"""Default limits, in tokens, for the prompt and the answer of a model outside the catalogue. More needs more memory."""


@dataclass(frozen=True, slots=True)
class LocalChoice:
    """A model on this machine.

    Args:
        style: The name of its prompt style.
        tools: The tools that it gets. None means all tools.
        second_look: Whether it can verify facts against their sources. None means that the self-test decides.
    """

    model: EmbeddedModel
    weights: Path
    style: str
    tools: tuple[str, ...] | None
    second_look: bool | None


def find_own_weights(settings: Settings) -> Path | None:
    """Return the path of the weights if LLM_MODEL names a file, or None if it names a model.

    ORG/REPO/FILE.gguf means a file downloaded from the hub, unless a file exists at that path.
    """
    if settings.has_endpoint or settings.llm_model is None or not settings.llm_model.endswith(".gguf"):
        return None
    path = Path(settings.llm_model)
    if not path.exists() and is_hub_name(settings.llm_model):
        return settings.models_dir / parse_hub_file(settings.llm_model).location
    return path.expanduser().absolute()


def choose_local(settings: Settings, catalogue: ModelCatalogue) -> LocalChoice:
    """Return the configured local model, or the default for this machine. Raises CatalogueError."""
    own = find_own_weights(settings)
    if own is None:
        return _choose_from_catalogue(settings, get_configured_local(settings, catalogue))
    file = find_pulled_file(settings)
    if file is None:
        return LocalChoice(read_own_model(own, settings.llm_context_tokens), own, "full", None, None)
    if (known := catalogue.find_by_hub_file(file)) is not None:
        return _choose_from_catalogue(settings, known)
    if not own.is_file():
        raise CatalogueError(f"LLM_MODEL is {file.name}, which isn't downloaded: run `mneme model pull {file.name}`.")
    return LocalChoice(read_own_model(own, settings.llm_context_tokens), own, PULLED_STYLE, PULLED_TOOLS, None)


def require_local(settings: Settings, catalogue: ModelCatalogue) -> LocalChoice:
    """Call `choose_local`. Raises ConfigurationError that also explains why a local model is needed."""
    try:
        return choose_local(settings, catalogue)
    except CatalogueError as error:
        if find_own_weights(settings) is not None:
            raise
        raise ConfigurationError(
            f"LLM_MODEL without OPENAI_BASE_URL or OPENAI_API_KEY names a local model. {error}"
        ) from error


def read_own_model(weights: Path, n_ctx: int | None = None) -> EmbeddedModel:
    """Return the parameters for a file outside the catalogue. Raises CatalogueError.

    The default window is the one in the file, up to OWN_WINDOW.
    """
    try:
        size = weights.stat().st_size
        window = n_ctx or min(OWN_WINDOW, read_trained_window(weights) or OWN_WINDOW)
    except OSError as error:
        raise CatalogueError(f"LLM_MODEL names {weights}, which can't be read ({error.strerror}).") from error
    return EmbeddedModel(weights.stem, size, size * 3 // 2, window, min(OWN_ANSWER, window // 4), chat_template=None)


def find_pulled_file(settings: Settings) -> HubFile | None:
    """Return the hub file that LLM_MODEL names, or None if it names another model."""
    own, folder = find_own_weights(settings), settings.models_dir / HUB_FOLDER
    if own is None or not own.is_relative_to(folder):
        return None
    return parse_hub_file(own.relative_to(folder).as_posix())


def get_configured_local(settings: Settings, catalogue: ModelCatalogue) -> LocalModel:
    """Return the catalogue's model that LLM_MODEL names, or the default for this machine.

    That is the catalogue's default if it was downloaded, else the first downloaded model, else the one to download.
    """
    if settings.llm_model is not None and not settings.has_endpoint:
        return catalogue.get_local(settings.llm_model)
    default = catalogue.get_local()
    in_order = (default, *(model for model in catalogue.local_models if model is not default))
    present = (model for model in in_order if is_present(model, settings.models_dir))
    return next(present, None) or catalogue.choose_last_resort(get_memory_bytes())


def get_memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _choose_from_catalogue(settings: Settings, model: LocalModel) -> LocalChoice:
    weights = get_weights_path(model, settings.models_dir)
    model = set_real_size(model, settings.models_dir)
    if not model.is_measured and settings.llm_context_tokens is not None:
        model = replace(model, n_ctx=settings.llm_context_tokens)
    return LocalChoice(model, weights, model.prompt, model.tools, model.second_look)
