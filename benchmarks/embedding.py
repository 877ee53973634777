"""Embedders for benchmarks, which need the feature vectors only if they use one."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory.search.search import Search
from memory.search.types import SimilaritySource
from memory.store.database import Database
from pipeline.models.endpoint import Endpoint

if TYPE_CHECKING:
    from bot.features.vectors.embedders import EndpointEmbedder, LocalEmbedder
    from bot.features.vectors.store import Embedder


def create_local_embedder() -> LocalEmbedder:
    """Create the embedder of this machine, which the caller closes."""
    from bot.features.vectors.embedders import LocalEmbedder

    return LocalEmbedder()


def create_endpoint_embedder(name: str, base_url: str) -> EndpointEmbedder:
    """Create an embedder at an endpoint, with the key in OPENAI_API_KEY. The caller closes it."""
    from bot.features.vectors.embedders import EndpointEmbedder

    return EndpointEmbedder(name, Endpoint(base_url, os.environ.get("OPENAI_API_KEY", "none")))


async def measure_embedder(embedder: Embedder, texts: Sequence[str]) -> float:
    """Return the seconds for one text, on average, after a first text that loads the model."""
    await embedder.embed(texts[:1])
    started = time.monotonic()
    for text in texts:
        await embedder.embed([text])
    return (time.monotonic() - started) / len(texts)


async def embed_missing(database: Database, search: Search, embedder: Embedder) -> SimilaritySource:
    """Create all missing vectors, as the bot does in the background."""
    from bot.features.vectors.search import VectorSearch
    from bot.features.vectors.store import Embedding, Vectors

    vectors = Vectors(database)
    embedding = Embedding(vectors, embedder)
    while await embedding.embed_batch():
        pass
    return VectorSearch(search, vectors, embedder)
