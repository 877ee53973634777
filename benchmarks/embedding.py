"""The local embedder for benchmarks."""

from __future__ import annotations

from memory.search.search import Search
from memory.search.vector_search import VectorSearch
from memory.search.vectors import Embedder, Embedding, Vectors
from memory.store.database import Database


async def embed_missing(database: Database, search: Search, embedder: Embedder) -> VectorSearch:
    """Create all missing vectors, as the bot does in the background."""
    vectors = Vectors(database)
    embedding = Embedding(vectors, embedder)
    while await embedding.embed_batch():
        pass
    return VectorSearch(search, vectors, embedder)
