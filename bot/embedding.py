"""Which models compare meanings, by the settings."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from bot.endpoints import endpoint_at
from memory.search.vectors import EmbedderError
from pipeline.embedding.endpoint_embedder import EndpointEmbedder
from pipeline.embedding.local_models import LocalEmbedder, LocalModels, check_packages

if TYPE_CHECKING:
    import contextlib

    from config.settings import Settings
    from memory.search.vectors import Embedder
    from pipeline.models.endpoint import Endpoint

log = structlog.get_logger(__name__)

NO_NUMPY = "Comparing meanings needs the package numpy: run `pip install 'mneme[vectors]'`."


@dataclass(frozen=True, slots=True)
class MeaningModels:
    """What compares meanings; None: nothing does. trouble: why not, although it was asked for, in one sentence."""

    embedder: Embedder | None = None
    trouble: str | None = None


NO_MODELS = MeaningModels()


def meaning_models(settings: Settings, stack: contextlib.AsyncExitStack) -> MeaningModels:
    """The models that the settings name, closed with `stack`. Without their packages the bot runs as without them."""
    if settings.embedding_model is None or not settings.memory_enabled:
        return NO_MODELS
    try:
        return _models(settings, settings.embedding_model, stack)
    except EmbedderError as error:
        log.warning("embedder_absent", reason=str(error))
        return MeaningModels(trouble=str(error))


async def awake(models: MeaningModels) -> MeaningModels:
    """`models`, once the embedder has answered: a small one on this machine takes longer to start than a search waits.

    One that does not answer is left out, with its trouble.
    """
    if models.embedder is None:
        return models
    try:
        await models.embedder.embed(["Hello."])
    except EmbedderError as error:
        return MeaningModels(trouble=str(error))
    return models


def _models(settings: Settings, name: str, stack: contextlib.AsyncExitStack) -> MeaningModels:
    if settings.embeds_locally:
        check_packages()
    elif importlib.util.find_spec("numpy") is None:
        raise EmbedderError(NO_NUMPY)
    if settings.embeds_locally:
        local = LocalModels()
        stack.push_async_callback(local.close)
        return MeaningModels(LocalEmbedder(local))
    embedder = EndpointEmbedder(name, embedding_endpoint(settings))
    stack.push_async_callback(embedder.close)
    return MeaningModels(embedder)


def embedding_endpoint(settings: Settings) -> Endpoint:
    """Where the embedding model is: at its own address, or else where the model is that talks."""
    if settings.embedding_base_url or settings.embedding_api_key:
        return endpoint_at(settings.embedding_base_url, settings.embedding_api_key)
    return endpoint_at(settings.openai_base_url, settings.openai_api_key)
