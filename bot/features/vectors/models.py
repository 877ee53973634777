"""Creates the embedding model."""

from __future__ import annotations

import contextlib
import importlib.util
from dataclasses import dataclass

import structlog

from bot.features.vectors.embedders import EndpointEmbedder, LocalEmbedder, check_packages
from bot.features.vectors.settings import VectorsSettings
from bot.features.vectors.store import Embedder, EmbedderError
from bot.models import create_endpoint, get_default_endpoint
from config.settings import Settings

log = structlog.get_logger(__name__)

NO_NUMPY = "Comparing meanings needs the package numpy: run `pip install 'mneme-bot[vectors]'`."


@dataclass(frozen=True, slots=True)
class MeaningModels:
    """The embedding model, if any. `trouble` explains why a configured model is missing."""

    embedder: Embedder | None = None
    trouble: str | None = None


NO_MODELS = MeaningModels()


def create_meaning_models(settings: Settings, stack: contextlib.AsyncExitStack) -> MeaningModels:
    """Create the configured embedder, which `stack` closes. If its packages are missing, the bot runs without it."""
    own = settings.group(VectorsSettings)
    if own.embedding_model is None or not settings.memory_enabled:
        return NO_MODELS
    try:
        if own.is_local:
            check_packages()
            local = LocalEmbedder()
            stack.push_async_callback(local.close)
            return MeaningModels(local)
        if importlib.util.find_spec("numpy") is None:
            raise EmbedderError(NO_NUMPY)
        # Never send the key of one address to another.
        endpoint = (
            create_endpoint(own.embedding_base_url, own.embedding_api_key)
            if own.has_endpoint
            else get_default_endpoint(settings)
        )
        embedder = EndpointEmbedder(own.embedding_model, endpoint)
        stack.push_async_callback(embedder.close)
        return MeaningModels(embedder)
    except EmbedderError as error:
        log.warning("embedder_absent", reason=str(error))
        return MeaningModels(trouble=str(error))


async def check_embedder(models: MeaningModels) -> MeaningModels:
    """Wait until the embedder answers. If it fails, return no embedder and the reason."""
    if models.embedder is None:
        return models
    try:
        # A local embedder takes longer to start than a search waits.
        await models.embedder.embed(["Hello."])
    except EmbedderError as error:
        return MeaningModels(trouble=str(error))
    return models
