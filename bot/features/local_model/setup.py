"""The local models in `mneme setup`."""

from __future__ import annotations

from pathlib import Path

from bot.features.local_model.choice import get_memory_bytes
from bot.setup.offers import ModelOffer, ModelOffers
from bot.setup.program import find_program
from bot.setup.questions import say, write_settings
from config.models import LocalModel, load_catalogue
from config.settings import Settings

MAX_UNMEASURED_MODELS = 3


def offer_local_models() -> ModelOffers:
    """Return the models that fit into this machine's memory."""
    fitting = load_catalogue().list_fitting(get_memory_bytes())
    embedded = [model for model in fitting if model.is_measured]
    embedded += [model for model in fitting if not model.is_measured][:MAX_UNMEASURED_MODELS]
    if not embedded:
        gigabytes = get_memory_bytes() / 1e9
        return ModelOffers(note=f"This machine has {gigabytes:.1f} GB of memory: too little for an embedded model.")
    return ModelOffers([_create_offer(local) for local in embedded])


def _create_offer(local: LocalModel) -> ModelOffer:
    def choose(env_file: Path, settings: Settings) -> None:
        default = load_catalogue().default_local
        if settings.has_endpoint or local.name != (settings.llm_model or default):
            name = "" if local.name == default else local.name
            write_settings(env_file, OPENAI_BASE_URL="", OPENAI_API_KEY="", LLM_MODEL=name)
        program = find_program(env_file)
        say(f"{local.name} was chosen: download it with `{program} model pull {local.name}`.")

    description = (
        f"The embedded model {local.name}, {_describe_quality(local)}, free and private;"
        f" {local.size_bytes / 1e9:.1f} GB to download, {local.resident_bytes / 1e9:.1f} GB of memory."
    )
    return ModelOffer(description, choose)


def _describe_quality(local: LocalModel) -> str:
    return f"to try it out: {local.quality} answers" if local.is_measured else f"{local.quality}, from the hub"
