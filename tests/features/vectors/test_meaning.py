"""Tests of search by meaning with an embedding model at an endpoint.

The endpoint is the scripted model server. Each test defines what its vectors mean.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path

import pytest

from bot.features.vectors.embedders import EndpointEmbedder
from bot.features.vectors.feature import VectorsFeature
from bot.features.vectors.job import BackgroundEmbedding
from bot.features.vectors.search import BARE_QUESTIONS
from bot.features.vectors.settings import LOCAL_EMBEDDER
from bot.features.vectors.store import Embedding, Vectors
from bot.jobs.background import return_at_once
from bot.kernel import App
from bot.tasks import BackgroundTasks
from memory.errors import MnemeError
from memory.log.sessions import Address
from pipeline.models.endpoint import Endpoint
from tests.conftest import OpenApp
from tests.support.fakes import FakeClock, Person
from tests.support.features import find_embedding
from tests.support.figures import parse_figures
from tests.support.servers.embedder import Fault
from tests.support.servers.model import ModelServer
from tests.support.starter import run_mneme
from tests.support.talk import Store

ROOT = Path(__file__).parents[2]
SAID = "Some dachshund named Biscuit came by this morning"
QUESTION = "How is the household hound addressed?"
SAME = {"dachshund": "dog", "hound": "dog", "named": "name", "addressed": "name"}
BY_WORDS = "What about Biscuit?"
FAILED = "The embedding model at {} answers with error 500: it is asked again later."
OTHERS = [
    f"{subject} {happened}"
    for subject in ("The kettle", "A ladder", "The printer", "One curtain", "Some gravel")
    for happened in ("arrived today", "must be paid", "looks older")
]


async def hold_conversation(person: Person, said: str = SAID) -> None:
    """Hold a conversation with many unrelated messages and end it. Most are only logged, which is faster."""
    store = Store.create(person.app.database, FakeClock())
    session = await person.app.sessions.get_or_create(person.address)
    for text in OTHERS:
        await store.commit_exchange(session, text, f"You said: {text}")
    for text in (said, "Nothing else happened"):
        await person.says(text)
    await person.says("/new")


async def embed_all(app: App) -> BackgroundEmbedding:
    """Compute all missing vectors."""
    await find_embedding(app).run_pending()
    return find_embedding(app)


async def ask_and_read_memories(model: ModelServer, person: Person, question: str) -> str:
    """Ask a question in a new conversation and return the context added to its request."""
    await person.says(question)
    request = model.requests[-1].added
    await person.says("/new")
    return request


async def count_vectors(app: App) -> int:
    """Return the number of vectors."""
    return int(await app.database.value("SELECT count(*) FROM vectors WHERE length(vector) > 0"))


@pytest.fixture(autouse=True)
def _meanings(model: ModelServer) -> None:
    model.embedder.meanings = dict(SAME)


async def test_paraphrase_is_found_only_with_an_embedder(start: OpenApp, model: ModelServer) -> None:
    async with start() as app:
        ann, bob = Person(app), Person(app, Address("console", "bob"))
        await hold_conversation(ann)
        await hold_conversation(bob)
        assert SAID not in await ask_and_read_memories(model, ann, QUESTION)
        assert not any(isinstance(feature, VectorsFeature) for feature in app.features)
        assert "Search by meaning" not in await ann.says("/status")
    assert model.embedder.asked == []
    async with start(embedding_model="some-embedder") as app:
        await embed_all(app)
        assert SAID in await ask_and_read_memories(model, Person(app, Address("console", "bob")), QUESTION)
    assert set(model.embedder.models) == {"some-embedder"}


async def test_question_is_embedded_once_and_a_greeting_never(start: OpenApp, model: ModelServer) -> None:
    async with start(embedding_model="some-embedder") as app:
        person = Person(app)
        await hold_conversation(person)
        await embed_all(app)
        asked = len(model.embedder.asked)
        assert SAID in await ask_and_read_memories(model, person, QUESTION)
        await person.says("Thanks!")
        assert model.embedder.asked[asked:] == [QUESTION, *BARE_QUESTIONS]


async def test_embedder_at_another_address_does_not_get_the_model_key(start: OpenApp, model: ModelServer) -> None:
    async with start(
        openai_base_url="http://127.0.0.1:9/v1", llm_timeout=1, embedding_model="one", embedding_base_url=model.url
    ) as app:
        await Person(app).says("The boat is green")
        await find_embedding(app).run_pending()
        assert model.embedder.asked


async def test_unrelated_messages_add_no_near_memories(start: OpenApp, model: ModelServer) -> None:
    async with start(embedding_model="some-embedder") as app:
        person = Person(app)
        await hold_conversation(person)
        await embed_all(app)
        assert SAID not in await ask_and_read_memories(model, person, "Explain photosynthesis briefly")
        assert SAID not in await ask_and_read_memories(model, person, "Thanks, lovely hound weather!")


@pytest.mark.parametrize("fault", [Fault.ERROR, Fault.REFUSED, Fault.GARBLED, Fault.TOO_FEW])
async def test_failing_embedder_leaves_search_by_words(start: OpenApp, model: ModelServer, fault: Fault) -> None:
    async with start(embedding_model="some-embedder") as app:
        person = Person(app)
        await hold_conversation(person)
        await embed_all(app)
        model.embedder.fault = fault
        assert SAID in await ask_and_read_memories(model, person, BY_WORDS)
        asked = len(model.embedder.asked)
        assert SAID in await ask_and_read_memories(model, person, BY_WORDS)
        assert len(model.embedder.asked) == asked, "one that failed is left alone for a while"


async def test_hanging_embedder_delays_only_one_turn(start: OpenApp, model: ModelServer) -> None:
    async with start(embedding_model="some-embedder") as app:
        person = Person(app)
        await hold_conversation(person)
        await embed_all(app)
        model.embedder.fault = Fault.HANGS
        before = time.monotonic()
        assert SAID in await ask_and_read_memories(model, person, BY_WORDS)
        assert time.monotonic() - before >= 1
        asked = len(model.embedder.asked)
        assert SAID in await ask_and_read_memories(model, person, BY_WORDS)
        assert len(model.embedder.asked) == asked


async def test_unreachable_embedder_is_explained_in_status(start: OpenApp, model: ModelServer) -> None:
    nowhere = "http://127.0.0.1:9/v1"
    async with start(embedding_model="some-embedder", embedding_base_url=nowhere) as app:
        person = Person(app)
        await hold_conversation(person)
        with pytest.raises(MnemeError, match="can't be reached: check EMBEDDING_BASE_URL"):
            await find_embedding(app).run_pending()
        assert SAID in await ask_and_read_memories(model, person, BY_WORDS)
        shown_there = parse_figures(await person.says("/status"))["Search by meaning"]
        assert shown_there["texts"].startswith("0 of ")
        assert "can't be reached: check EMBEDDING_BASE_URL" in shown_there[""]


async def test_failed_background_embedding_is_repeated_later(start: OpenApp, model: ModelServer) -> None:
    async with start(embedding_model="some-embedder") as app:
        model.embedder.fault = Fault.ERROR
        person = Person(app)
        await hold_conversation(person)
        background = BackgroundEmbedding(
            Embedding(Vectors(app.database), EndpointEmbedder("some-embedder", Endpoint(model.url, "key"))),
            return_at_once,
            0.01,
        )
        tasks = BackgroundTasks()
        background.start(tasks)
        await model.wait_for(lambda: len(model.embedder.asked) > 0)
        model.embedder.fault = None
        messages = await app.database.value("SELECT count(*) FROM spoken")
        await model.wait_for(lambda: len(set(model.embedder.asked)) >= messages)
        await tasks.close()
        await embed_all(app)
        assert SAID in await ask_and_read_memories(model, person, QUESTION)
        assert parse_figures(await person.says("/status"))["Search by meaning"].keys() == {"model", "texts"}


async def test_refused_text_does_not_block_other_vectors(start: OpenApp, model: ModelServer) -> None:
    model.embedder.refuses = {"ladder"}
    async with start(embedding_model="some-embedder") as app:
        person = Person(app)
        await hold_conversation(person)
        await embed_all(app)
        messages = await app.database.value("SELECT count(*) FROM spoken")
        ladders = await app.database.value("SELECT count(*) FROM spoken WHERE content LIKE '%ladder%'")
        assert 0 < ladders < messages
        assert await count_vectors(app) == messages - ladders
        assert SAID in await ask_and_read_memories(model, person, QUESTION)


async def test_model_change_rebuilds_vectors_and_status_shows_progress(start: OpenApp, model: ModelServer) -> None:
    async with start(embedding_model="first") as app:
        person = Person(app)
        await hold_conversation(person)
        await embed_all(app)
        of = await count_vectors(app)
        done = {"model": "first", "texts": f"{of} of {of}"}
        assert parse_figures(await person.says("/status"))["Search by meaning"] == done
    model.embedder.length = 128
    async with start(embedding_model="second") as app:
        person = Person(app)
        begun = {"model": "second", "texts": f"0 of {of}"}
        assert parse_figures(await person.says("/status"))["Search by meaning"] == begun
        assert SAID in await ask_and_read_memories(model, person, BY_WORDS)
        await embed_all(app)
        assert await app.database.value("SELECT count(DISTINCT model_id) FROM vectors") == 1
        assert SAID in await ask_and_read_memories(model, person, QUESTION)


async def test_vectors_of_wrong_length_are_discarded(start: OpenApp, model: ModelServer) -> None:
    async with start(embedding_model="some-embedder") as app:
        person = Person(app)
        await hold_conversation(person)
        await embed_all(app)
        before = await count_vectors(app)
        model.embedder.length = 8
        assert SAID in await ask_and_read_memories(model, person, BY_WORDS)
        with pytest.raises(MnemeError, match="`mneme reindex`"):
            await find_embedding(app).run_pending()
        assert await count_vectors(app) == before


async def test_forgotten_text_loses_its_vectors(start: OpenApp, model: ModelServer, tmp_path: Path) -> None:
    async with start(embedding_model="some-embedder") as app:
        ann, bob = Person(app), Person(app, Address("console", "other"))
        await hold_conversation(ann)
        await hold_conversation(bob, "We named our parrot Rio")
        await bob.says("/remember The spare key hangs in the shed")
        await embed_all(app)
        assert SAID in await ask_and_read_memories(model, ann, QUESTION)
        whole = await count_vectors(app)
        await ann.says("/forget all confirm")
        left = await count_vectors(app)
        assert 0 < left < whole
        assert SAID not in await ask_and_read_memories(model, ann, QUESTION)
        await bob.says("/forget all confirm")
        rows = await app.database.rows(
            "SELECT c.owner_id FROM vectors v JOIN messages m ON m.id = v.row / 2"
            " JOIN conversations c ON c.id = m.conversation_id WHERE v.row % 2 = 1"
        )
        assert rows == []


async def test_changed_memory_gets_a_new_vector(start: OpenApp, model: ModelServer) -> None:
    of_entries = "SELECT count(*) FROM vectors WHERE row % 2 = 0 AND length(vector) > 0"
    async with start(embedding_model="some-embedder") as app:
        person = Person(app)
        named = (await person.says("/remember The spare key hangs in the shed")).split("**")[1]
        await embed_all(app)
        assert await app.database.value(of_entries) == 1
        async with app.database.transaction() as connection:
            await connection.execute("UPDATE entries SET content = 'The spare key is with Ann'")
        assert await app.database.value(of_entries) == 0
        await embed_all(app)
        assert await app.database.value(of_entries) == 1
        assert any("The spare key is with Ann" in text for text in model.embedder.asked)
        await person.says(f"/forget {named}")
        assert await app.database.value(of_entries) == 0


async def test_retried_answer_is_not_found_by_its_first_version(start: OpenApp, model: ModelServer) -> None:
    async with start(embedding_model="some-embedder") as app:
        person = Person(app)
        await person.says(SAID)
        await embed_all(app)
        before = await count_vectors(app)
        await person.says("/retry")
        assert await count_vectors(app) < before
        await embed_all(app)
        assert await count_vectors(app) == before


async def test_vectors_are_separate_for_each_owner(start: OpenApp, model: ModelServer) -> None:
    async with start(embedding_model="some-embedder") as app:
        people = [Person(app, Address("console", f"chat{number}")) for number in range(3)]
        for number, person in enumerate(people):
            await hold_conversation(person, f"Some dachshund named Biscuit{number} came by this morning")
        await embed_all(app)
        for number, person in enumerate(people):
            request = await ask_and_read_memories(model, person, QUESTION)
            assert f"Biscuit{number}" in request
            assert not any(f"Biscuit{other}" in request for other in range(3) if other != number)


async def test_dropped_vectors_are_rebuilt(start: OpenApp, model: ModelServer) -> None:
    async with start(embedding_model="some-embedder") as app:
        await hold_conversation(Person(app))
        await embed_all(app)
        assert SAID in await ask_and_read_memories(model, Person(app), BY_WORDS)
        async with app.database.transaction() as connection:
            await connection.execute("DELETE FROM vectors")
        assert SAID in await ask_and_read_memories(model, Person(app), BY_WORDS)
        await embed_all(app)
        assert await count_vectors(app) == await app.database.value("SELECT count(*) FROM spoken")
        assert SAID in await ask_and_read_memories(model, Person(app), QUESTION)


async def test_secret_is_not_sent_to_the_embedder(start: OpenApp, model: ModelServer) -> None:
    key = "sk-" + "a1B2c3D4e5F6g7H8" * 3
    async with start(embedding_model="some-embedder") as app:
        await Person(app).says(f"The key of the shop is {key}")
        await embed_all(app)
        assert any("The key of the shop is" in text for text in model.embedder.asked)
        assert not any(key in text for text in model.embedder.asked)


@pytest.mark.parametrize("name", [LOCAL_EMBEDDER, "bge-small-en-v1.5"])
async def test_local_embedder_without_packages_is_explained_and_nothing_sent(
    start: OpenApp, model: ModelServer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("bot.features.vectors.embedders._NEEDED", ("numpy", "no_such_package"))
    async with start(embedding_model=name) as app:
        person = Person(app)
        await hold_conversation(person)
        assert SAID in await ask_and_read_memories(model, person, BY_WORDS)
        assert "needs the packages no_such_package: run `make embeddings`" in await person.says("/status")
        assert model.embedder.asked == []


@pytest.mark.slow
async def test_shell_recall_finds_paraphrase_or_falls_back_to_words(start: OpenApp, model: ModelServer) -> None:
    async def recall(question: str, *options: str) -> tuple[str, str]:
        settings = {"OPENAI_BASE_URL": model.url, "LLM_MODEL": "scripted", "EMBEDDING_MODEL": "some-embedder"}
        environment = os.environ | settings
        _, out, err = await asyncio.to_thread(run_mneme, "recall", question, *options, environment=environment)
        return out, err

    async with start(embedding_model="some-embedder") as app:
        await hold_conversation(Person(app))
        await embed_all(app)
    found, said = await recall(QUESTION)
    assert (SAID in found.splitlines()[0], said) == (True, "")
    model.embedder.fault = Fault.ERROR
    assert await recall(QUESTION) == ("", f"Searching only by words: {FAILED.format(model.url)}\nNo results.\n")
    found, said = await recall(BY_WORDS, "--json")
    assert SAID in {hit["content"] for hit in json.loads(found)}
    assert said.startswith("Searching only by words: ")
    model.embedder.fault = None
    async with start(embedding_model="some-embedder") as app:
        await hold_conversation(Person(app, Address("console", "bob")))
    assert SAID not in (await recall(QUESTION))[0]  # Searches across several owners use words only.
    assert SAID in (await recall(QUESTION, "--owner", "console:local"))[0]
