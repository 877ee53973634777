"""The local embedder as the benchmarks use it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.search.embedding import Embedding
from memory.search.nearness import Nearness
from memory.search.vectors import Vectors

if TYPE_CHECKING:
    from memory.search.embedder import Embedder
    from memory.search.search import Search
    from memory.store.database import Database


async def embedded(database: Database, search: Search, embedder: Embedder) -> Nearness:
    """Make the vectors that are missing, as the bot does in the background."""
    vectors = Vectors(database)
    embedding = Embedding(vectors, embedder)
    while await embedding.some():
        pass
    return Nearness(search, vectors, embedder)
