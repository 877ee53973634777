"""The local embedder for benchmarks, which need the feature vectors only if they use it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.search.search import Search
from memory.search.types import SimilaritySource
from memory.store.database import Database

if TYPE_CHECKING:
    from bot.features.vectors.embedders import LocalEmbedder
    from bot.features.vectors.store import Embedder


def create_local_embedder() -> LocalEmbedder:
    """Create the embedder of this machine, which the caller closes."""
    from bot.features.vectors.embedders import LocalEmbedder

    return LocalEmbedder()


async def embed_missing(database: Database, search: Search, embedder: Embedder) -> SimilaritySource:
    """Create all missing vectors, as the bot does in the background."""
    from bot.features.vectors.search import VectorSearch
    from bot.features.vectors.store import Embedding, Vectors

    vectors = Vectors(database)
    embedding = Embedding(vectors, embedder)
    while await embedding.embed_batch():
        pass
    return VectorSearch(search, vectors, embedder)
