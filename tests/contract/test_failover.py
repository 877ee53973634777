"""A model that hangs leaves the next one its turn, within the time that all of them have together."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from config.models import ModelWindow
from memory.log.compaction import CompactionLimits, CompactionService
from memory.messages import Completion
from memory.runtime.usage import UsageLog
from memory.text.tokens import TokenCounter
from pipeline.models.endpoint import Endpoint
from pipeline.models.memory_prompts import ModelConsolidator, ModelSummarizer
from pipeline.models.model import Finish, ModelError, ModelRequest
from pipeline.models.openai_model import OpenAIModel
from pipeline.models.routing import ModelRouter, Models
from tests.support.consolidating import answered
from tests.support.fakes import Person
from tests.support.servers.model import Fails, Hangs, Holds, Says, Streams
from tests.support.talk import UTC_ZONE, Store, user

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from memory.store.database import Database
    from tests.conftest import OpenApp
    from tests.support.fakes import FakeClock
    from tests.support.servers.model import ChatRequest, ModelServer, Reply

PATIENCE = 2.0
"""Seconds that the models have together."""
THINKS = {"choices": [{"index": 0, "delta": {"reasoning_content": "hm"}}]}
BEGINS = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}
ENDS = {"choices": [{"index": 0, "delta": {"content": "Well."}, "finish_reason": "stop"}]}
STANDS_IN = Says("I stand in.")


def first(reply: Reply, spare: Reply = STANDS_IN) -> Callable[[ChatRequest], Reply]:
    """What the server answers: `reply` as the first model, `spare` as the fallback."""
    return lambda chat: spare if chat.body["model"] == "spare" else reply


def asked(model: ModelServer) -> list[str]:
    return [chat.body["model"] for chat in (*model.consolidations, *model.requests)]


@pytest.fixture
async def router(model: ModelServer, database: Database, clock: FakeClock) -> AsyncIterator[ModelRouter]:
    """A first model and its fallback, with PATIENCE seconds in all."""

    async def connect() -> Endpoint:
        return Endpoint(model.url, "key")

    talking, spare = (
        OpenAIModel(name, ModelWindow(8_000, 1_000), connect, timeout=PATIENCE) for name in ("scripted", "spare")
    )
    meter = UsageLog(database, clock, UTC_ZONE)
    yield ModelRouter(Models(talking, talking, (spare,)), meter, TokenCounter(), patience=PATIENCE)
    await talking.close()
    await spare.close()


def request() -> ModelRequest:
    return ModelRequest([user("Hello")])


@pytest.mark.parametrize(
    "hanging",
    [Hangs(), Holds(""), Streams((BEGINS,), hangs=True), Streams((THINKS,), hangs=True), Fails(503, retry_after=30)],
    ids=["no status", "no chunk", "only a role", "only a thought", "a long wait"],
)
async def test_the_fallback_answers_within_the_time_of_both_when_the_first_model_hangs(
    router: ModelRouter, model: ModelServer, hanging: Reply
) -> None:
    model.otherwise = first(hanging)
    began = time.monotonic()
    assert (await router.complete(request())).text == "I stand in."
    assert time.monotonic() - began < PATIENCE
    assert asked(model) == ["scripted", "spare"]


async def test_when_all_models_hang_that_is_said_after_the_time_of_one(router: ModelRouter, model: ModelServer) -> None:
    model.otherwise = lambda _: Hangs()
    began = time.monotonic()
    with pytest.raises(ModelError, match="The model scripted did not answer within 1 seconds"):
        await router.complete(request())
    assert time.monotonic() - began < PATIENCE * 1.5
    assert asked(model) == ["scripted", "spare"]


async def test_a_turn_gets_its_answer_from_the_fallback_within_the_timeout(start: OpenApp, model: ModelServer) -> None:
    model.otherwise = first(Hangs())
    async with start(llm_timeout=PATIENCE, llm_fallback_model="spare") as app:
        began = time.monotonic()
        assert await Person(app).says("Hello") == "I stand in."
        assert time.monotonic() - began < PATIENCE


async def test_a_fallback_after_a_quick_failure_has_all_the_rest_of_the_time(
    router: ModelRouter, model: ModelServer
) -> None:
    model.otherwise = first(Fails(404))
    model.thinking = PATIENCE * 0.7
    assert (await router.complete(request())).text == "I stand in."


async def test_a_model_that_goes_on_speaking_or_thinking_does_not_hang(router: ModelRouter, model: ModelServer) -> None:
    said = Says("word " * 5)
    model.pace = PATIENCE * 0.15
    model.otherwise = first(said)
    assert (await router.complete(request())).text == said.text
    model.otherwise = first(Streams((THINKS, THINKS, THINKS, THINKS, ENDS)))
    assert (await router.complete(request())).text == "Well."
    assert asked(model) == ["scripted", "scripted"]


@pytest.mark.parametrize("half", [Hangs(), Holds("They planned a"), Says("They planned a", None)])
async def test_a_summary_comes_from_the_fallback_within_its_time(
    router: ModelRouter, database: Database, clock: FakeClock, model: ModelServer, half: Reply
) -> None:
    store = Store.over(database, clock)
    session = await store.session()
    for number in range(3):
        await store.exchange(session, f"Message {number}", "I see.")
    limits = CompactionLimits(50_000, 20, 50, summary_timeout=PATIENCE)
    summarizer = ModelSummarizer(router, clock)
    compaction = CompactionService(store.sessions, store.entries, summarizer, limits, TokenCounter(), clock)
    model.otherwise = first(half, Says("They planned a garden."))
    done = await compaction.compact(session, keep=2)
    assert done is not None
    assert done.summarized
    assert (await store.sessions.transcript(session.id)).summary == "They planned a garden."


async def test_a_summary_that_would_take_too_long_leaves_the_fallback_its_part_of_the_time(
    router: ModelRouter, clock: FakeClock, model: ModelServer
) -> None:
    model.pace = 0.2  # fast enough not to hang, and too slow to come to an end
    model.otherwise = first(Says("word " * 40), Says("They."))
    summary = await ModelSummarizer(router, clock).summarize(None, "user: Hello", seconds=2)
    assert summary == Completion("They.")


@pytest.mark.parametrize("half", [Hangs(), Holds('{"history_entry": "They'), Says('{"history_entry": "They', None)])
async def test_work_in_the_background_goes_to_the_fallback_too(
    router: ModelRouter, clock: FakeClock, model: ModelServer, half: Reply
) -> None:
    model.consolidation = first(half, Says(answered("They talked.")))
    began = time.monotonic()
    prompt = "You are a memory consolidation agent."
    assert await ModelConsolidator(router, clock)(prompt, PATIENCE) == Completion(answered("They talked."))
    assert time.monotonic() - began < PATIENCE
    assert asked(model) == ["scripted", "spare"]


async def test_half_an_answer_for_memory_is_given_as_such_where_the_fallback_has_none(
    router: ModelRouter, clock: FakeClock, model: ModelServer
) -> None:
    model.consolidation = first(Says("half", None), Fails(404))
    prompt = "You are a memory consolidation agent."
    assert await ModelConsolidator(router, clock)(prompt, PATIENCE) == Completion("half", is_whole=False)


async def test_a_person_gets_the_half_of_an_answer_and_not_another_one(router: ModelRouter, model: ModelServer) -> None:
    model.otherwise = first(Holds("Once upon a"))
    answer = await router.complete(request())
    assert (answer.text, answer.finish) == ("Once upon a", Finish.CUT_OFF)
