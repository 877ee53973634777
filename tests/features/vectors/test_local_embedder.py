"""Tests of the real small embedding model in its process. Skipped if its package is not installed."""

from __future__ import annotations

import asyncio
import math
import os
import select
import signal
import sys
import unicodedata
from collections.abc import AsyncIterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.features.vectors.embedders import LocalEmbedder, check_packages
from bot.features.vectors.local_child import MAX_TEXT_BYTES, normalise
from bot.features.vectors.settings import LOCAL_EMBEDDER
from bot.features.vectors.store import EmbedderError
from memory.log.sessions import Address
from tests.conftest import OpenApp
from tests.support.fakes import Person
from tests.support.features import find_embedding
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


def compute_cosine(one: Sequence[float], other: Sequence[float]) -> float:
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return float(dot / (sum(a * a for a in one) * sum(b * b for b in other)) ** 0.5)


@pytest.fixture
async def models() -> AsyncIterator[LocalEmbedder]:
    opened = LocalEmbedder()
    yield opened
    await opened.close()


async def test_similar_texts_have_near_vectors_independent_of_earlier_calls(models: LocalEmbedder) -> None:
    asked = (await models.embed([QUESTION], are_queries=True))[0]
    answer, other = await models.embed([SAID, DIARY[0]])
    assert len(asked) == 384
    assert compute_cosine(asked, answer) > compute_cosine(asked, other) + 0.03
    assert [list(vector) for vector in await models.embed([DIARY[0], SAID])] == [list(other), list(answer)]


async def test_query_and_passage_have_different_vectors(models: LocalEmbedder) -> None:
    assert [*(await models.embed([SAID]))[0]] != [*(await models.embed([SAID], are_queries=True))[0]]


@pytest.mark.parametrize("question", ["Welches Fleisch verträgt unser Haustier nicht?", "哪种肉我们的宠物不能吃？"])
async def test_question_in_another_language_is_near_its_answer(models: LocalEmbedder, question: str) -> None:
    asked = (await models.embed([question], are_queries=True))[0]
    answer, *others = await models.embed([SAID, *DIARY])
    assert all(compute_cosine(asked, answer) > compute_cosine(asked, other) for other in others)


async def test_process_starts_on_demand_and_ends_when_idle() -> None:
    assert LocalEmbedder().pid is None
    models = LocalEmbedder(idle=0)
    await models.embed(["hello"])
    pid = models.pid
    assert pid is not None
    ended, _, _ = await asyncio.to_thread(select.select, [os.pidfd_open(pid)], [], [], 20)
    assert ended
    await models.embed(["hello again"])
    await models.close()


async def test_killed_process_fails_one_request_at_most(models: LocalEmbedder) -> None:
    before = await models.embed(["hello"])
    assert models.pid is not None
    os.kill(models.pid, signal.SIGKILL)
    try:
        after = await models.embed(["hello"])
    except EmbedderError:
        after = await models.embed(["hello"])
    assert [*after[0]] == [*before[0]]


async def test_cancelled_request_does_not_shift_later_answers(models: LocalEmbedder) -> None:
    wanted = await models.embed([QUESTION])
    given_up = asyncio.create_task(models.embed([DIARY[0]]))
    await asyncio.sleep(0)
    given_up.cancel()
    assert [*(await models.embed([QUESTION]))[0]] == [*wanted[0]]


async def test_files_with_a_wrong_hash_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.features.vectors.embedders._DIGEST", "0" * 64)
    models = LocalEmbedder()
    with pytest.raises(EmbedderError, match="is the wrong file"):
        await models.embed(["hello"])
    await models.close()


HOSTILE = ("\ufdfa" * 5_000, "\0", "", " ", "a\u0301" * 3_000, "\ud800", "\U0010ffff" * 900, "\u1d2c\u0130\ufb03" * 400)


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
async def test_any_text_gets_a_vector(models: LocalEmbedder, text: str) -> None:
    for are_queries in (True, False):
        (vector,) = await models.embed([text], are_queries=are_queries)
        assert len(vector) == 384
        assert all(map(math.isfinite, vector))


@given(st.text(st.characters(exclude_categories=()), max_size=2_000))
def test_text_for_the_engine_is_short_and_normalised(text: str) -> None:
    given_text = normalise(text)
    assert len(given_text) <= MAX_TEXT_BYTES
    assert 0 not in given_text
    assert "\ufdfa" not in given_text.decode()


def test_no_normalised_character_exceeds_the_engines_buffer() -> None:
    assert "\ufdfa" not in {
        character for code in range(sys.maxunicode + 1) for character in unicodedata.normalize("NFKC", chr(code))
    }


async def test_processor_without_required_instructions_is_named(models: LocalEmbedder) -> None:
    await models.embed(["hello"])
    assert models.pid is not None
    pid = models.pid
    # A paused process neither answers nor ends. A process that has ended would be replaced.
    os.kill(pid, signal.SIGSTOP)
    asking = asyncio.create_task(models.embed(["hello again"]))
    for _ in range(5):  # Wait until the liveness check has passed.
        await asyncio.sleep(0)
    os.kill(pid, signal.SIGILL)
    os.kill(pid, signal.SIGCONT)
    with pytest.raises(EmbedderError, match="needs a processor with AVX2"):
        await asking


async def test_bot_with_the_local_embedder_finds_a_paraphrase(start: OpenApp, model: ModelServer) -> None:
    async with start(embedding_model=LOCAL_EMBEDDER) as app:
        person = Person(app, Address("console", "local"))
        for text in (*DIARY, f"/remember {SAID}"):
            await person.says(text)
        await person.says("/new")
        await find_embedding(app).run_pending()
        await person.says(QUESTION)
        assert SAID in model.requests[-1].added
