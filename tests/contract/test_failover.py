"""Tests of failover: a hanging model leaves time for the next within the shared timeout."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable

import pytest

from config.models import ModelWindow
from memory.log.compaction import CompactionLimits, CompactionService
from memory.messages import Completion
from memory.runtime.usage import UsageLog
from memory.store.database import Database
from memory.text.tokens import TokenCounter
from pipeline.models.endpoint import Endpoint
from pipeline.models.memory_prompts import ModelConsolidator, ModelSummarizer
from pipeline.models.model import Finish, ModelError, ModelRequest
from pipeline.models.openai_model import OpenAIModel
from pipeline.models.routing import ModelRouter, Models
from tests.conftest import OpenApp
from tests.support.consolidating import create_answer
from tests.support.fakes import FakeClock, Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import ChatRequest, Fails, Hangs, Holds, Reply, Says, Streams
from tests.support.talk import UTC_ZONE, Store, user

TIMEOUT_SECONDS = 2.0
"""Seconds that the models have together."""
THINKS = {"choices": [{"index": 0, "delta": {"reasoning_content": "hm"}}]}
BEGINS = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}
ENDS = {"choices": [{"index": 0, "delta": {"content": "Well."}, "finish_reason": "stop"}]}
STANDS_IN = Says("I stand in.")


def answer_as(reply: Reply, spare: Reply = STANDS_IN) -> Callable[[ChatRequest], Reply]:
    """Return a script that answers the first model with `reply` and the fallback with `spare`."""
    return lambda chat: spare if chat.body["model"] == "spare" else reply


def list_asked_models(model: ModelServer) -> list[str]:
    return [chat.body["model"] for chat in (*model.consolidations, *model.requests)]


@pytest.fixture
async def router(model: ModelServer, database: Database, clock: FakeClock) -> AsyncIterator[ModelRouter]:
    """Return a router with a first model, its fallback and a shared timeout."""

    async def connect() -> Endpoint:
        return Endpoint(model.url, "key")

    talking, spare = (
        OpenAIModel(name, ModelWindow(8_000, 1_000), connect, timeout=TIMEOUT_SECONDS) for name in ("scripted", "spare")
    )
    meter = UsageLog(database, clock, UTC_ZONE)
    yield ModelRouter(Models(talking, talking, (spare,)), meter, TokenCounter(), patience=TIMEOUT_SECONDS)
    await talking.close()
    await spare.close()


def request() -> ModelRequest:
    return ModelRequest([user("Hello")])


@pytest.mark.parametrize(
    "hanging",
    [Hangs(), Holds(""), Streams((BEGINS,), hangs=True), Streams((THINKS,), hangs=True), Fails(503, retry_after=30)],
    ids=["no status", "no chunk", "only a role", "only a thought", "a long wait"],
)
async def test_hanging_first_model_leaves_time_for_the_fallback(
    router: ModelRouter, model: ModelServer, hanging: Reply
) -> None:
    model.otherwise = answer_as(hanging)
    began = time.monotonic()
    assert (await router.complete(request())).text == "I stand in."
    assert time.monotonic() - began < TIMEOUT_SECONDS
    assert list_asked_models(model) == ["scripted", "spare"]


async def test_hanging_models_are_reported_after_the_timeout_of_one(router: ModelRouter, model: ModelServer) -> None:
    model.otherwise = lambda _: Hangs()
    began = time.monotonic()
    with pytest.raises(ModelError, match="The model scripted didn't answer within 1 seconds"):
        await router.complete(request())
    assert time.monotonic() - began < TIMEOUT_SECONDS * 1.5
    assert list_asked_models(model) == ["scripted", "spare"]


async def test_turn_is_answered_by_the_fallback_within_the_timeout(start: OpenApp, model: ModelServer) -> None:
    model.otherwise = answer_as(Hangs())
    async with start(llm_timeout=TIMEOUT_SECONDS, llm_fallback_model="spare") as app:
        began = time.monotonic()
        assert await Person(app).says("Hello") == "I stand in."
        assert time.monotonic() - began < TIMEOUT_SECONDS


async def test_fallback_after_a_quick_failure_has_all_remaining_time(router: ModelRouter, model: ModelServer) -> None:
    model.otherwise = answer_as(Fails(404))
    model.thinking = TIMEOUT_SECONDS * 0.7
    assert (await router.complete(request())).text == "I stand in."


async def test_model_that_streams_slowly_does_not_count_as_hanging(router: ModelRouter, model: ModelServer) -> None:
    said = Says("word " * 5)
    model.pace = TIMEOUT_SECONDS * 0.15
    model.otherwise = answer_as(said)
    assert (await router.complete(request())).text == said.text
    model.otherwise = answer_as(Streams((THINKS, THINKS, THINKS, THINKS, ENDS)))
    assert (await router.complete(request())).text == "Well."
    assert list_asked_models(model) == ["scripted", "scripted"]


@pytest.mark.parametrize("half", [Hangs(), Holds("They planned a"), Says("They planned a", None)])
async def test_summary_comes_from_the_fallback_within_its_timeout(
    router: ModelRouter, database: Database, clock: FakeClock, model: ModelServer, half: Reply
) -> None:
    store = Store.create(database, clock)
    session = await store.session()
    for number in range(3):
        await store.commit_exchange(session, f"Message {number}", "I see.")
    limits = CompactionLimits(50_000, 20, 50, summary_timeout=TIMEOUT_SECONDS)
    summarizer = ModelSummarizer(router, clock)
    compaction = CompactionService(store.sessions, store.entries, summarizer, limits, TokenCounter(), clock)
    model.otherwise = answer_as(half, Says("They planned a garden."))
    done = await compaction.compact(session, keep=2)
    assert done is not None
    assert done.summarized
    assert (await store.sessions.read_transcript(session.id)).summary == "They planned a garden."


async def test_slow_summary_leaves_the_fallback_its_share_of_time(
    router: ModelRouter, clock: FakeClock, model: ModelServer
) -> None:
    model.pace = 0.2  # Fast enough not to hang, and too slow to finish.
    model.otherwise = answer_as(Says("word " * 40), Says("They."))
    summary = await ModelSummarizer(router, clock).summarize(None, "user: Hello", seconds=2)
    assert summary == Completion("They.")


@pytest.mark.parametrize("half", [Hangs(), Holds('{"history_entry": "They'), Says('{"history_entry": "They', None)])
async def test_background_work_uses_the_fallback_too(
    router: ModelRouter, clock: FakeClock, model: ModelServer, half: Reply
) -> None:
    model.consolidation = answer_as(half, Says(create_answer("They talked.")))
    began = time.monotonic()
    prompt = "You are a memory consolidation agent."
    assert await ModelConsolidator(router, clock)(prompt, TIMEOUT_SECONDS) == Completion(create_answer("They talked."))
    assert time.monotonic() - began < TIMEOUT_SECONDS
    assert list_asked_models(model) == ["scripted", "spare"]


async def test_partial_answer_for_memory_is_returned_without_a_fallback(
    router: ModelRouter, clock: FakeClock, model: ModelServer
) -> None:
    model.consolidation = answer_as(Says("half", None), Fails(404))
    prompt = "You are a memory consolidation agent."
    assert await ModelConsolidator(router, clock)(prompt, TIMEOUT_SECONDS) == Completion("half", is_whole=False)


async def test_user_gets_the_partial_answer_instead_of_another(router: ModelRouter, model: ModelServer) -> None:
    model.otherwise = answer_as(Holds("Once upon a"))
    answer = await router.complete(request())
    assert (answer.text, answer.finish) == ("Once upon a", Finish.CUT_OFF)
