"""The real small models on this machine, in their own process; skipped where their packages are not installed."""

from __future__ import annotations

import asyncio
import os
import select
import signal
from typing import TYPE_CHECKING

import pytest

from memory.log.sessions import Address
from memory.search.vectors import EmbedderError
from pipeline.embedding.local_models import LocalEmbedder, LocalModels, check_packages
from tests.support.fakes import Person

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from tests.conftest import OpenApp
    from tests.support.servers.model import ModelServer

try:
    check_packages()
except EmbedderError as error:
    pytest.skip(str(error), allow_module_level=True)

DIARY = """
The train to Lviv left twenty minutes late
I bought new curtains for the kitchen
Our neighbour plays the trumpet on Sundays
The doctor says my knee needs six weeks of rest
We repainted the balcony in light grey
My sister starts at the university in autumn
The printer at work is broken again
I ran ten kilometres along the river
The bakery on the corner closes in May
Tom lent me his drill
We planted tomatoes behind the garage
The insurance paid for the window
I finished the novel about the lighthouse
The choir rehearses on Thursdays now
My phone fell into the soup
""".strip().splitlines()
SAID = "Our vet found that the cat cannot tolerate chicken"
QUESTION = "Which meat is our pet allergic to?"


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return float(dot / (sum(a * a for a in one) * sum(b * b for b in other)) ** 0.5)


@pytest.fixture
async def models() -> AsyncIterator[LocalModels]:
    opened = LocalModels()
    yield opened
    await opened.close()


async def test_vectors_of_the_like_are_near_and_do_not_depend_on_what_was_asked_before(models: LocalModels) -> None:
    embedder = LocalEmbedder(models)
    asked, answer, other = await embedder.embed([QUESTION, SAID, DIARY[0]])
    assert len(asked) == 384
    assert cosine(asked, answer) > cosine(asked, other) + 0.1
    assert [list(one) for one in await embedder.embed([DIARY[0], QUESTION])] == [list(other), list(asked)]


async def test_the_process_is_started_when_needed_and_ends_when_nobody_asks() -> None:
    assert LocalModels().pid is None
    models = LocalModels(idle=0)
    await LocalEmbedder(models).embed(["hello"])
    pid = models.pid
    assert pid is not None
    ended, _, _ = await asyncio.to_thread(select.select, [os.pidfd_open(pid)], [], [], 20)
    assert ended
    await LocalEmbedder(models).embed(["hello again"])
    await models.close()


async def test_a_killed_process_fails_one_request_at_most_and_is_started_again(models: LocalModels) -> None:
    embedder = LocalEmbedder(models)
    before = await embedder.embed(["hello"])
    assert models.pid is not None
    os.kill(models.pid, signal.SIGKILL)
    try:
        after = await embedder.embed(["hello"])
    except EmbedderError:
        after = await embedder.embed(["hello"])
    assert [*after[0]] == [*before[0]]


async def test_whoever_gives_up_gets_nobody_elses_answer(models: LocalModels) -> None:
    embedder = LocalEmbedder(models)
    wanted = await embedder.embed([QUESTION])
    given_up = asyncio.create_task(embedder.embed([DIARY[0]]))
    await asyncio.sleep(0)
    given_up.cancel()
    assert [*(await embedder.embed([QUESTION]))[0]] == [*wanted[0]]


async def test_files_that_are_not_the_known_ones_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = {"bge_small_en/model.onnx": "0" * 64, "bge_small_en/tokenizer.json": "0" * 64}
    monkeypatch.setattr("pipeline.embedding.local_models._DIGESTS", digests)
    models = LocalModels()
    with pytest.raises(EmbedderError, match="is not the file that it should be"):
        await LocalEmbedder(models).embed(["hello"])
    await models.close()


@pytest.mark.parametrize(
    ("question", "english"),
    [
        ("Which meat is our pet allergic to?", True),
        ("Biscuit?", True),
        ("Wo liegt der Ersatzschlüssel?", False),
        ("Где живёт бабушка?", False),
        ("咖啡在哪里？", False),
    ],
)
def test_only_english_questions_are_compared(question: str, english: bool) -> None:
    assert LocalEmbedder(LocalModels()).reads(question) is english


async def test_a_bot_with_the_local_model_finds_what_was_said_in_other_words(
    start: OpenApp, model: ModelServer
) -> None:
    async with start(embedding_model="bge-small-en-v1.5") as app:
        person = Person(app, Address("console", "local"))
        for text in (*DIARY, SAID):
            await person.says(text)
        await person.says("/new")
        assert app.jobs.embedding is not None
        await app.jobs.embedding.run_pending()
        await person.says(QUESTION)
        assert SAID in model.requests[-1].added
