"""Tests of activation by meaning with an embedder."""

from __future__ import annotations

import pytest

from bot.features.vectors.search import VectorSearch
from bot.features.vectors.store import Embedding, Vectors
from memory.search.ranking import Ranker
from memory.search.search import Search
from memory.store.database import Database
from memory.store.entry import Kind, NewEntry
from memory.text.tokens import TokenCounter
from tests.support.activating import ActivationBench
from tests.support.fakes import FakeClock
from tests.support.servers.embedder import MeaningEmbedder
from tests.support.talk import Store

OWNER, OTHER = "telegram:12345", "telegram:2"
DOG = "The dachshund is called Biscuit"
QUESTION = "How is the household hound addressed?"
SAME = {"dachshund": "dog", "hound": "dog", "called": "name", "addressed": "name"}
OTHERS = [
    f"{subject} {happened}"
    for subject in ("The kettle", "A ladder", "The printer", "One curtain", "Some gravel", "A carpet", "This lamp")
    for happened in ("arrived in May", "must be paid", "looks older", "belongs to Ann", "stays in the cellar")
]


@pytest.fixture
async def activating(database: Database, clock: FakeClock) -> ActivationBench:
    """Add memories with vectors for two owners. All of them except the one about the dog are stronger."""
    store = Store.create(database, clock)
    for owner in (OWNER, OTHER):
        for text in (*OTHERS, DOG):
            await store.entries.add(owner, NewEntry(text, name=text, kind=Kind.FACT))
    async with database.transaction() as connection:
        await connection.execute("UPDATE entries SET reinforcement_count = 9 WHERE content <> ?", (DOG,))
    embedder, vectors = MeaningEmbedder(SAME), Vectors(database)
    embedding = Embedding(vectors, embedder)
    while await embedding.embed_batch():
        pass
    return ActivationBench.create(
        database, clock, ranker=Ranker(database, VectorSearch(Search(database), vectors, embedder))
    )


async def _activate(activating: ActivationBench, message: str) -> list[str]:
    found = await activating.select_contextual(OWNER, message, (), 10_000, TokenCounter().count)
    return [one.line.partition("] ")[2] for one in found if one.relevance]


async def test_paraphrased_memory_activates_alone(activating: ActivationBench) -> None:
    assert await _activate(activating, QUESTION) == [DOG]


@pytest.mark.usefixtures("activating")
async def test_paraphrased_memory_needs_vectors(database: Database, clock: FakeClock) -> None:
    by_words = ActivationBench.create(database, clock)
    assert await _activate(by_words, QUESTION) == []


async def test_untrusted_or_archived_memory_never_activates_by_meaning(
    activating: ActivationBench, database: Database
) -> None:
    await database.write("UPDATE entries SET trusted = 0 WHERE content = ?", (DOG,))
    assert await _activate(activating, QUESTION) == []
    await database.write("UPDATE entries SET trusted = 1, archived_at = created_at WHERE content = ?", (DOG,))
    assert await _activate(activating, QUESTION) == []
